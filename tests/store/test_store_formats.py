"""Jobs that another version of Shortloop kept in another format: never misread, never called damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project
from jobs_recorded import finished_job, parts_with, recorded_job
from toy_jobs import make_outdated

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.keys.hashing import digest
from shortloop.project.project import FINISHED
from shortloop.stages.records import FORMAT, RECORD
from shortloop.stages.results import Result
from shortloop.store.loaded import load
from shortloop.store.manifest import MANIFEST, OTHER_FORMAT, is_outdated, manifest_problem, read_manifest
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
ONE = parts_with(options={"number": 1})
SAID = "kept in another format, by another version of Shortloop, and not used: what is needed is built again"


@pytest.fixture
def folder(project: Path) -> Path:
    """A recorded job that no index knows yet."""
    recorded_job(project, "main-1", ONE)
    return project / "workdirs/main/main-1"


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("how", ["manifest", "record"])
def test_a_job_of_another_format_is_not_used(folder: Path, how: str, known: bool) -> None:
    """Nor if the index knew it by that name: another version shares the workdir, say."""
    if known:
        with Store() as store:
            assert store.find(ONE.key()) is not None
    make_outdated(folder, how)
    assert is_outdated(folder)
    assert (read_manifest(folder) is None) == (how != "record")
    for _ in range(2):
        with Store() as store:
            assert store.find(ONE.key()) is None
            assert store.whole(folder) is None
            assert store.damaged == {}
            assert store.index.by_key(ONE.key()) == []
        assert (folder / FINISHED).is_file()
    with Store() as store:
        assert store.tidy() == [f"1 job is {SAID}"]


def test_a_run_says_so_once(project: Path) -> None:
    for number in range(4):
        recorded_job(project, f"main-{number}", ONE)
        make_outdated(project / f"workdirs/main/main-{number}", "manifest")
    (project / "workdirs/main/main-3" / FINISHED).unlink()  # unfinished or unrecorded jobs are not counted
    finished_job(project, "main-4")
    recorded_job(project, "main-7", ONE)
    Store().close()  # whoever asked first, the run is told
    with Store() as store:
        assert store.tidy()[1:] == [f"3 jobs are {SAID}"]  # after one that did not finish
        assert store.tidy() == []
        found = store.find(ONE.key())
        assert found is not None
        assert found.job == "main-7"
    with Store() as store:
        assert store.tidy() == []
    shutil.rmtree(project / "workdirs/main/.shortloop")
    with Store() as store:
        assert len(store.tidy()) == 1


@pytest.mark.parametrize("number", [0, FORMAT - 1, FORMAT + 1, -1, 10**6])
def test_any_other_number_is_another_format_whatever_else_it_says(folder: Path, number: int) -> None:
    """Even if nothing else of it is as it is here."""
    plain: dict[str, Plain] = {"format": number, "nothing": "is as it was"}
    (folder / MANIFEST).write_text(json.dumps({**plain, "hash": digest(plain)}), encoding="utf-8")
    assert manifest_problem(folder) == OTHER_FORMAT
    assert is_outdated(folder)


@pytest.mark.parametrize("number", [None, "1", 1.5, [1]])
def test_what_is_no_number_is_damage(folder: Path, number: object) -> None:
    plain = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**plain, "format": number}), encoding="utf-8")
    assert manifest_problem(folder) == f"{MANIFEST} is damaged"
    assert not is_outdated(folder)
    del plain["format"], plain["hash"]  # nor is a manifest without one
    (folder / MANIFEST).write_text(json.dumps({**plain, "hash": digest(plain)}), encoding="utf-8")
    assert manifest_problem(folder) == f"{MANIFEST} is damaged"


def test_its_record_is_not_read(folder: Path) -> None:
    make_outdated(folder, "record")
    with pytest.raises(InputError, match="format of another version") as caught:
        load("main-1")
    assert caught.value.file == str(folder / RECORD)
    assert caught.value.found == f"format {FORMAT + 1}"
    assert caught.value.expected == f"format {FORMAT}"
    record: Any = {}
    ancestor = Result("main-2", folder.with_name("main-2"), record).ancestor(folder.name)  # as exax knows it
    assert ancestor is not None
    assert (ancestor.stage, dict(ancestor.arrays)) == ("toy", {})
