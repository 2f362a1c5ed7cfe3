"""A file of the index that cannot be used: held by another program, no file, of another kind."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project
from without_root import commands, shortloop

from shortloop.project.system_errors import system_error
from shortloop.store import database
from shortloop.store.index import Index

LOOKING = [("jobs",), ("show", "main-0"), ("why", "main-0"), ("verify",), ("gc",)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one job."""
    made = toy_project(tmp_path / "project")
    monkeypatch.chdir(made)
    jobs = ToyJobs(made)
    jobs.make("A")
    jobs.ended()
    return made


def index_of(folder: Path) -> Path:
    return folder / "workdirs/main/.shortloop/main.sqlite"


def as_folder(file: Path) -> None:
    file.mkdir()
    (file / "mine").touch()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [as_folder, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file(folder: Path, make: Callable[[Path], object]) -> None:
    index_of(folder).unlink()
    make(index_of(folder))
    for done in commands(folder, *LOOKING):
        assert done.status == 1
        assert "Traceback" not in done.err
        assert "not a file" in done.err
        assert str(index_of(folder)) in done.err
    assert index_of(folder).exists()  # it is somebody's


@pytest.fixture
def holder(folder: Path) -> Iterator[sqlite3.Connection]:
    """Another program, which holds the index for itself."""
    connection = sqlite3.connect(index_of(folder), isolation_level=None, check_same_thread=False)
    connection.execute("pragma locking_mode = exclusive")
    connection.execute("begin exclusive")
    connection.execute("update jobs set seconds = 1")
    yield connection
    connection.close()


def test_one_that_is_held(folder: Path, holder: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    workdirs = {"main": folder / "workdirs" / "main"}
    with monkeypatch.context() as patch:
        patch.setattr(database, "PATIENCE", 0.2)
        with pytest.raises(sqlite3.OperationalError) as caught:
            Index(workdirs, lambda name: [])
    found = system_error(caught.value)
    assert found is not None
    assert "held by another program" in found.problem
    code = (
        "import sys; from shortloop.store import database; from shortloop.cli.entry import main;"
        "database.PATIENCE = 0.2; sys.argv = ['shortloop', 'jobs']; main()"
    )
    done = shortloop(folder, "-c", code)
    assert done.returncode == 1
    assert done.stderr.startswith("shortloop: the index of jobs is held by another program")
    assert "Traceback" not in done.stderr
    timer = threading.Timer(0.5, holder.close)  # one that writes for a moment is waited for
    timer.start()
    index = Index(workdirs, lambda name: [])
    index.forget("main-0")
    assert index.sizes() == {}
    index.close()
    timer.join()


def test_links(folder: Path) -> None:
    file = index_of(folder)
    file.rename(folder / "elsewhere.sqlite")
    file.symlink_to(folder / "elsewhere.sqlite")
    for done in commands(folder, *LOOKING):
        assert done.status == 0, done
    file.unlink()
    file.symlink_to(folder / "nowhere" / "x")
    nowhere = commands(folder, *LOOKING)
    file.unlink()
    file.symlink_to(file.name)
    for done in (*nowhere, *commands(folder, *LOOKING)):
        assert done.status == 0 or "shortloop: " in done.err, done
        assert "Traceback" not in done.err
