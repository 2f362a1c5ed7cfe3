"""What a run says that cannot go on, as its disk is full or its folder was deleted."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections import namedtuple
from pathlib import Path

import pytest
from jobs_project import empty_project, fresh_python

from shortloop.base.errors import InputError
from shortloop.run.termination import check_disk_space, explain_errors, signals_raise

project = pytest.fixture(empty_project)
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the job of a build script, in which it runs."""
    made = project / "workdirs/main/main-3"
    made.mkdir(parents=True)
    monkeypatch.chdir(made)
    return made


def full_index() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("pragma max_page_count = 1")
    connection.execute("create table t (x)")


def full_file() -> None:
    with open("/dev/full", "w", encoding="ascii") as stream:
        stream.write("x")


def in_turn() -> None:
    try:
        full_file()
    except OSError as error:
        raise RuntimeError("something failed") from error


def while_handling() -> None:
    try:
        full_file()
    finally:
        raise RuntimeError("so did cleaning up")


@pytest.mark.parametrize("fail", [full_file, full_index, in_turn, while_handling])
def test_an_error_that_a_full_disk_leads_to(folder: Path, fail: object) -> None:
    assert callable(fail)
    with pytest.raises(InputError) as caught, explain_errors():
        fail()
    assert caught.value.problem == "the disk is full"
    assert caught.value.file == str(folder.parent)
    assert "make room" in str(caught.value.hint)


def test_any_error_while_the_disk_is_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """exax does not say why a job failed whose notes it could not write."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9 - 4096, 4096))
    with pytest.raises(InputError, match=r"the disk is full(.|\n)*0.0 MB are left"), explain_errors():
        raise ValueError("anything")


@pytest.mark.parametrize("error", [ValueError("one"), InputError("two"), OSError(18, "three")])
def test_other_errors_stay_as_they_are(folder: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as caught, explain_errors():
        raise error
    assert caught.value is error


def lose(*folders: Path) -> None:
    for folder in folders:
        folder.rmdir()
    os.getcwd()


def test_a_folder_that_is_deleted_under_a_run(folder: Path) -> None:
    with pytest.raises(InputError, match="the folder of this run was deleted while it ran"), explain_errors():
        lose(folder)
    assert folder.is_dir()  # exax goes back to it
    assert Path.cwd() == folder


def test_a_folder_that_is_deleted_under_a_run_that_needs_it_no_more(folder: Path) -> None:
    with explain_errors():
        folder.rmdir()
    assert folder.is_dir()


def test_a_workdir_that_is_deleted_is_not_made_again(folder: Path) -> None:
    with pytest.raises(InputError, match="was deleted"), explain_errors():
        lose(folder, folder.parent)
    assert not folder.parent.exists()


SAY = """
import os
from shortloop.run.termination import explain_errors, print_error
from shortloop.base.errors import InputError
reader, writer = os.pipe()
os.dup2(writer, 2)  # as exax does
print_error(InputError("one"))
try:
    with explain_errors():
        os.mkdir("gone"), os.chdir("gone")
        with explain_errors():
            os.rmdir(os.getcwd())
            os.getcwd()
except InputError as error:
    print_error(error)
os.close(writer), os.close(2)
print(os.read(reader, 1000).decode())
"""


def test_what_exax_cannot_print_goes_past_it(project: Path) -> None:
    assert fresh_python(SAY, project) == "shortloop: one\n\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_become_exceptions_for_a_while(number: int) -> None:
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as caught, signals_raise():
        signal.raise_signal(number)
    assert caught.value.code == 128 + number
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("bytes_left", [0, 10])
@pytest.mark.parametrize("inodes_left", [0, 10])
@pytest.mark.parametrize("inodes", [0, 100])
def test_a_run_needs_any_room_to_begin(
    folder: Path, monkeypatch: pytest.MonkeyPatch, bytes_left: int, inodes_left: int, inodes: int
) -> None:
    Disk = namedtuple("Disk", "f_bavail f_favail f_files f_frsize f_blocks f_bfree")
    monkeypatch.setattr(os, "statvfs", lambda path: Disk(bytes_left, inodes_left, inodes, 1, 1, 1))
    if bytes_left and (inodes_left or not inodes):  # some disks do not count inodes
        check_disk_space()
        return
    with pytest.raises(InputError, match="the disk is full") as caught:
        check_disk_space()
    assert ("no inodes" in caught.value.problem) == bool(inodes and not inodes_left)
    assert "finished jobs are kept" in str(caught.value.hint)
