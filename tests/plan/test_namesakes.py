"""Messages of jobs name the files of this run, where another had the same content under another name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project

from shortloop.plan.pipeline import Built
from shortloop.plan.request import problem_of
from shortloop.stages.records import FORMAT
from shortloop.store.inputs import last_place, locate, name_of, note_locations, register

project = pytest.fixture(empty_project)


def job(folder: Path, name: str, **record: Any) -> Built:
    (folder / name).mkdir()
    whole = {"format": FORMAT, "stage": "s", "partition": None, "arrays": {}, "facts": {}, "problem": None}
    whole |= {"threads": [], "versions": {}, **record}
    (folder / name / "record.json").write_text(json.dumps(whole), encoding="utf-8")
    (folder / name / "setup.json").write_text("{}", encoding="utf-8")
    return Built(name, "s", None, folder / name)


@pytest.mark.parametrize(
    ("said", "now"),
    [
        ("bad\n  file: /old/S1.npz", "bad\n  file: /new/person.npz"),
        ("bad in S1.npz: no y", "bad in person.npz: no y"),
        ("/old/S1.npz.bak, S1.npz and AS1.npz.", "/old/S1.npz.bak, person.npz and AS1.npz."),
        ("/old/S2.npz", "/old/S2.npz"),
        ("/old/S1.npz, /old/S3.npz", "/new/person.npz, /old/S1.npz"),  # names that were exchanged
    ],
)
def test_old_names_become_those_of_now(project: Path, said: str, now: str) -> None:
    located = {"1": "/old/S1.npz", "2": "/old/S2.npz", "3": "/old/S3.npz"}
    rejected = job(project, "main-1", problem=said, located=located)
    files = {"1": Path("/new/person.npz"), "3": Path("/old/S1.npz")}
    assert problem_of(rejected, [], files) == now


def test_names_are_also_those_of_the_jobs_above(project: Path) -> None:
    above = job(project, "main-1", facts={"files": {"study": [{"name": "S1.npz", "content": "1"}]}})
    others = job(project, "main-2", facts={"files": "of another kind"})
    foreign = Built("main-4", "csvimport", None, project / "main-4")  # a method of others leaves no record
    (project / "main-4").mkdir()
    (project / "main-4/setup.json").write_text('{"method": "csvimport", "options": {}}', encoding="utf-8")
    rejected = job(project, "main-3", problem="other channels\n  file: S1.npz")
    said = problem_of(rejected, [foreign, above, others], {"1": Path("/new/person.npz")})
    assert said == "other channels\n  file: person.npz"


def test_a_content_is_where_it_was_pointed_to(project: Path) -> None:
    for name in ("a", "b"):
        (project / name).write_text("the same")
    content, same = register([project / "a", project / "b"])
    assert content == same
    assert last_place(content) == project / "b"
    note_locations([(content, project / "a")])
    assert locate(content) == last_place(content) == project / "a"
    assert name_of(content) == "a"
    assert last_place("0" * 64) is None
