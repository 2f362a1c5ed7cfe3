"""Where numbers come from, in rows; settings laid flat."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project

from shortloop.base.plain import Plain
from shortloop.report.page import (
    ProvenanceRow,
    Source,
    flat,
    last_job,
    provenance_rows,
    shown,
    source_of,
    thread_note,
)
from shortloop.stages.results import upstream
from shortloop.store.lookup import load

BASE = Source("main-1", "fit", "a", "left", {"partition": "a", "folds": 10}, {"numpy": "2.0"})


def test_partitions_of_one_stage_share_a_row() -> None:
    sources = [
        replace(BASE, job=f"main-{10 * step + index}", stage=stage, partition=name, options={"folds": 10})
        for step, stage in enumerate(("make", "fit"))
        for index, name in enumerate(("a", "b"))
    ]
    rows = provenance_rows([*sources, replace(BASE, job="main-99", stage="left")])
    assert [row.stage for row in rows] == ["make, left", "fit, left", "left"]
    assert rows[0].jobs == [("a", "main-0"), ("b", "main-1")]
    assert rows[0].options == [("folds", "10")]


def test_jobs_with_other_options_or_versions_have_their_own_row() -> None:
    others = [
        replace(BASE, job="main-2", partition="b", options={"partition": "b", "folds": 10}),
        replace(BASE, job="main-3", partition="c", options={"partition": "c", "folds": 5}),
        replace(BASE, job="main-4", partition="d", versions={"numpy": "2.1"}, options={"folds": 10}),
    ]
    rows = provenance_rows([BASE, *others])
    assert [[job for _, job in row.jobs] for row in rows] == [["main-1", "main-2"], ["main-3"], ["main-4"]]


def test_a_job_and_all_that_it_was_made_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy_project(tmp_path))
    jobs = ToyJobs(tmp_path)
    first = jobs.make("A", options={"C": 1})
    two = [jobs.make(name, method="fit", above={"made": first}) for name in "AB"]
    jobs.make(None, method="all", above={"fits": two, "made": first})
    found = list(upstream(load("main-3")))
    assert [each.job for each in found] == ["main-3", "main-1", "main-2", "main-0"]
    assert source_of(found[0]) == Source("main-3", "all", "", "", {}, {"numpy": "2.0"})
    assert source_of(found[3], "left").options == {"C": 1}
    assert "used 1 thread for linear algebra" in thread_note(found)


def test_settings_are_laid_flat() -> None:
    settings: dict[str, Plain] = {
        "a": {"b": {"c": 1.0}, "d": None},
        "e": True,
        "f": [1, 2.5, "x"],
        "g": {},
        "h": [],
    }
    assert flat(settings) == [
        ("a.b.c", "1"), ("a.d", "none"), ("e", "yes"), ("f", "1, 2.5, x"), ("g", "none"), ("h", "none")
    ]  # fmt: skip
    assert shown(False) == "no"


def row(*jobs: tuple[str, str]) -> ProvenanceRow:
    return ProvenanceRow("stage", list(jobs), [], [])


def test_it_is_the_last_that_is_for_all_of_the_data() -> None:
    train, group = row(("a", "main-1"), ("b", "main-2")), row(("", "main-3"))
    assert last_job([train, group]) == ("", "main-3")
    assert last_job([train, group, row(("a", "main-4"))]) == ("", "main-3")
    assert last_job([train, row(("a", "main-4"))]) == ("a", "main-4")
    assert last_job([]) == ("", "")
