"""The places of pipelines: whatever their names hold, none is taken for another."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from jobs_project import empty_project
from jobs_recorded import finished_job, manifest_for

from shortloop.store.index import Place, Purpose
from shortloop.store.store import Store

project = pytest.fixture(empty_project)

NAMES = ("", "a", "a|b", "b", "a b", "a%", "a'", "ä\n", "None", "null")


def test_a_pipeline_that_ends_keeps_the_places_it_still_has(project: Path) -> None:
    first, second, other = (Place(name, "toy", None, n) for name, n in [("p", "1"), ("p", "2"), ("q", "1")])
    with Store() as store:
        index = store.index
        assert index.in_place(first) == ""
        index.put_in_places({first: "main-1", second: "main-2", other: "main-3"})
        index.put_in_places({second: "main-4"})
        index.finish_pipeline("p", [second])
        assert index.places() == {second: "main-4", other: "main-3"}
        assert index.in_place(first) == ""
        assert index.ended_pipelines() == {Purpose("p")}


def test_no_name_makes_two_places_one(project: Path) -> None:
    places = [Place(*each) for each in product(NAMES[:5], NAMES[:5], (None, *NAMES), NAMES[:3])]
    jobs = {place: f"main-{number}" for number, place in enumerate(places)}
    with Store() as store:
        for _ in range(2):  # put again, each is still there once
            store.index.put_in_places(jobs)
            assert store.index.places() == jobs
        assert len(store.index.all_places()) == len(jobs)
        assert all(store.index.in_place(place) == job for place, job in list(jobs.items())[::37])


@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_that_ends_drops_no_place_of_another(project: Path, name: str) -> None:
    jobs = {Place(each, "toy", "A", "1"): f"main-{number}" for number, each in enumerate(NAMES)}
    with Store() as store:
        store.index.put_in_places(jobs)
        store.index.finish_pipeline(name, [])
        assert store.index.places() == {place: job for place, job in jobs.items() if place.pipeline != name}
        assert store.index.ended_pipelines() == {Purpose(name)}


def test_the_study_of_a_pipeline_is_noted_beside_it(project: Path) -> None:
    with Store() as store:
        store.index.start_pipeline("build my small study", "my small study")
        store.index.start_pipeline("chain", "")
        assert store.index.settings_names() == {Purpose("build my small study"): "my small study"}
        store.index.finish_pipeline("build my small study", [])
        store.index.start_pipeline("build my small study", "my small study")
        assert store.index.ended_pipelines() == {Purpose("build my small study")}
        assert store.index.settings_names() == {Purpose("build my small study"): "my small study"}


def test_a_lost_index_knows_the_studies_again_from_the_manifests(project: Path) -> None:
    folder = finished_job(project, "main-1")
    with Store() as store:
        store.index.start_pipeline("build s", "s")
        store.add(folder, replace(manifest_for(folder), pipeline="build s"))
    for file in project.rglob("*.sqlite*"):
        file.unlink()
    with Store() as store:
        assert store.index.settings_names() == {Purpose("build s"): "s"}
        assert store.index.ended_pipelines() == set()
