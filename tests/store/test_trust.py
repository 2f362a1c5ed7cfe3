"""What is done with a job that is not as the index knows it: the table in `shortloop.store.store`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from jobs_project import empty_project
from jobs_recorded import finished_job, manifest_for, parts_with, recorded_job
from toy_jobs import make_outdated

from shortloop.plan.explain.reasons import reason_to_build
from shortloop.project.project import DELETED, FINISHED, SET_ASIDE
from shortloop.store.manifest import MANIFEST, read_manifest, write_manifest
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
ONE, TWO = parts_with(options={"number": 1}), parts_with(options={"number": 2})


class Done(NamedTuple):
    """What is done with a job: whether it is used, what marks its folder, whether its key still finds it in
    the index, and whether exax is made to build it again."""

    used: bool = False
    mark: str = FINISHED
    indexed: bool = False
    forced: bool = False


USED = Done(used=True, indexed=True)
ASIDE = Done(mark=SET_ASIDE, forced=True)
FORGOTTEN = Done()


@pytest.fixture
def folder(project: Path) -> Path:
    """A job that was found before, so that the index knows the states of its files."""
    recorded_job(project, "main-1", ONE)
    with Store() as store:
        assert store.find(ONE.key()) is not None
    return project / "workdirs/main/main-1"


def touch(folder: Path) -> None:
    (folder / "x.npy").touch()


def copy(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("copy"))
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)


def alter(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-1] + b"?")

    return change


def remove(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink()

    return change


def add_a_result(folder: Path) -> None:
    (folder / "y.npy").write_bytes(b"more")
    touch(folder)  # else nobody looks


def manifest_of_another_job(folder: Path) -> None:
    recorded_job(folder.parents[2], "main-5", ONE, left=b"another")
    shutil.copy(folder.with_name("main-5") / MANIFEST, folder / MANIFEST)
    (folder.with_name("main-5") / FINISHED).unlink()


def manifest_that_is_not_true(folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest is not None
    write_manifest(folder, replace(manifest, content="0" * 64))


def fill_again(folder: Path) -> None:
    shutil.rmtree(folder)
    finished_job(folder.parents[2], folder.name, b"another")
    os.utime(folder / "setup.json", (0, 0))  # its clock may be coarse


def fill_again_and_record(folder: Path) -> None:
    shutil.rmtree(folder)
    recorded_job(folder.parents[2], folder.name, TWO, left=b"another")


def outdate(how: str) -> Callable[[Path], None]:
    return lambda folder: make_outdated(folder, how)


def delete(folder: Path) -> None:
    (folder / FINISHED).rename(folder / DELETED)
    (folder / "x.npy").unlink()


@pytest.mark.parametrize(
    ("change", "done"),
    [
        (lambda folder: None, USED),
        (touch, USED),
        (copy, USED),
        (lambda folder: shutil.rmtree(folder.with_name(".shortloop")), USED),
        *[(alter(name), ASIDE) for name in ("x.npy", "record.json", "setup.json")],
        (lambda folder: os.truncate(folder / "x.npy", 3), ASIDE),
        (lambda folder: (folder / "x.npy").write_bytes(b"a result and more"), ASIDE),
        (remove("x.npy"), ASIDE),
        (remove("setup.json"), ASIDE),
        (add_a_result, ASIDE),
        (remove(FINISHED), ASIDE._replace(mark="")),
        (lambda folder: os.truncate(folder / MANIFEST, 100), ASIDE),
        (remove(MANIFEST), ASIDE),
        (manifest_of_another_job, ASIDE),
        (manifest_that_is_not_true, ASIDE),
        (fill_again, FORGOTTEN),
        (fill_again_and_record, FORGOTTEN),
        (outdate("manifest"), FORGOTTEN),
        (outdate("record"), FORGOTTEN),
        (shutil.rmtree, FORGOTTEN._replace(mark="", forced=True)),
        (delete, FORGOTTEN._replace(mark=DELETED)),
    ],
)
def test_the_table(folder: Path, change: Callable[[Path], object], done: Done) -> None:
    change(folder)
    with Store() as store:
        used = store.find(ONE.key()) is not None
        marks = [name for name in (FINISHED, SET_ASIDE, DELETED) if (folder / name).exists()]
        indexed = bool(store.index.by_key(ONE.key()))
        assert Done(used, "".join(marks), indexed, ONE.key() in store.damaged) == done
        if change is fill_again_and_record:  # it is noted by its own key, and read before it is used
            assert [row.states for row in store.index.by_key(TWO.key())] == [[]]
            assert store.find(TWO.key()) is not None
    with Store() as store:
        assert (store.find(ONE.key()) is not None) == done.used


def test_a_job_of_another_number_of_slices_waits_for_it(project: Path) -> None:
    folder = finished_job(project, "main-1")
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    (folder / "setup.json").write_text(json.dumps({**setup, "slices": 2}), encoding="utf-8")
    for slice_ in range(2):
        (folder / f"part.{slice_}").write_bytes(b"x")
    with Store() as store:
        store.add(folder, manifest_for(folder, ONE))
    for number in (3, 2, 3):
        with Store(partial(int, number)) as store:
            assert (store.find(ONE.key()) is not None) == (number == 2)
            assert len(store.index.by_key(ONE.key())) == 1
            assert store.damaged == {}
            if number == 3:
                said = reason_to_build(store, ONE, None, {})
                assert said == "main-1 holds data of 2 slices, jobs have 3 now"
    assert (folder / FINISHED).is_file()


def test_what_is_set_aside_stays_so_and_says_why(folder: Path) -> None:
    content = (folder / "x.npy").read_bytes()
    alter("x.npy")(folder)
    with Store() as store:
        assert store.find(ONE.key()) is None
        assert store.damaged == {ONE.key(): ("main-1", "x.npy was altered")}
        assert reason_to_build(store, ONE, None, {}) == "main-1 was damaged: x.npy was altered"
        assert store.find_alike("") == []
    (folder / "x.npy").write_bytes(content)  # whoever puts it right again has to say so
    with Store() as store:
        assert store.find(ONE.key()) is None


def test_what_may_not_be_written_is_not_used_and_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    alter("x.npy")(folder)
    monkeypatch.setattr(Path, "replace", refuse)
    with Store() as store:
        assert store.find(ONE.key()) is None
    assert (folder / FINISHED).is_file()
