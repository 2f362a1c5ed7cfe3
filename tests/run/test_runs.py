"""Records of runs, true of runs that never ended; and what a run says that cannot go on."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from jobs_project import ROOT, empty_project, fresh_python
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.plan.pipeline import Built
from shortloop.plan.settings_files import SettingsFile
from shortloop.run.runs import CUT_OFF, RUNNING, JobOfRun, read_run, read_runs, recorded, run_numbers
from shortloop.run.termination import check_disk_space, explain_errors, signals_raise

project = pytest.fixture(autouse=True)(empty_project)
FOLDER = Path("workdirs/.runs")
WAITS = """\
import sys
from shortloop.run.runs import recorded
with recorded("waits", None, "--until train"):
    print("began", flush=True)
    sys.stdin.read()
"""


def settings(file: Path, content: bytes) -> SettingsFile:
    file.write_bytes(content)
    return SettingsFile("small", file, "study", file)


def test_a_run_that_ended(tmp_path: Path) -> None:
    content = b'name = "small"\r\n\n# \xff \xc3\xa9\n'
    with recorded("build_toy small", settings(tmp_path / "s.toml", content), "") as recorder:
        (tmp_path / "s.toml").write_bytes(b"edited while it ran")
        jobs = [Built("main-1", "first", "A", fresh=True, reason="new"), Built("main-0", "last", None)]
        recorder.jobs = jobs
    record, end = read_run(1)
    assert (end, record.exit, record.error, record.part) == ("0", 0, "", "")
    assert record.script == record.pipeline == "build_toy small"
    assert record.settings == "small"
    assert record.text.encode("utf-8", "surrogateescape") == content
    assert record.jobs == [
        JobOfRun("first", "A", "main-1", True, "new"),
        JobOfRun("last", None, "main-0", False, ""),
    ]
    assert record.built == 1
    assert 0 <= record.seconds < 60


@pytest.mark.parametrize(
    ("error", "end", "words"),
    [
        (InputError("no", file="x.npy"), "1", "no\n  file:         x.npy"),
        (KeyboardInterrupt(), "130", "interrupted"),
        (SystemExit(143), "143", "ended with 143"),
        (ZeroDivisionError("by zero"), "1", "ZeroDivisionError: by zero"),
    ],
)
def test_how_a_run_ended(error: BaseException, end: str, words: str) -> None:
    def run() -> None:
        with recorded("toy", None, "") as recorder:
            recorder.jobs = [Built("main-1", "first", "A", fresh=True)]
            raise error

    with pytest.raises(type(error)):
        run()
    record, said = read_run(1)
    assert (said, record.error, record.built) == (end, words, 1)


def test_a_run_that_still_runs_and_one_that_was_killed() -> None:
    with recorded("toy", None, ""):
        running = subprocess.Popen(
            [sys.executable, "-c", WAITS],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert running.stdout is not None
        assert running.stdout.readline() == b"began\n"
        assert [end for _, _, end in read_runs(run_numbers())] == [RUNNING, RUNNING]
        running.send_signal(signal.SIGKILL)
        running.communicate()
        assert [end for _, _, end in read_runs(run_numbers())] == [RUNNING, CUT_OFF]
    ((_, first, _), (_, second, end)) = read_runs([1, 2])
    assert (first.exit, second.exit, end) == (0, None, CUT_OFF)
    assert second.part == "--until train"


def test_numbers_are_never_given_twice() -> None:
    with ProcessPoolExecutor(8, multiprocessing.get_context("fork")) as pool:
        list(pool.map(_run, range(40)))
    assert run_numbers() == list(range(1, 41))
    assert {record.pipeline for _, record, _ in read_runs(run_numbers())} == {f"toy {n}" for n in range(40)}
    assert sorted(os.listdir(FOLDER)) == [f"{number:05d}.json" for number in range(1, 41)]
    (FOLDER / "00040.json").unlink()
    (FOLDER / "99999.json").write_text("{}", encoding="utf-8")
    _run(0)
    assert run_numbers()[-1] == 100_000


def _run(number: int) -> None:
    with recorded(f"toy {number}", None, ""):
        pass


def test_a_run_may_not_be_able_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    FOLDER.parent.mkdir()
    FOLDER.write_text("in the way", encoding="utf-8")
    with recorded("toy", None, "") as recorder:
        recorder.jobs = []
    assert run_numbers() == []
    FOLDER.unlink()
    with recorded("toy", None, ""):  # as on a disk that is full when it ends
        for file in FOLDER.iterdir():
            file.unlink()
        FOLDER.rmdir()
    assert run_numbers() == []


def test_what_cannot_be_read() -> None:
    with refusal("no runs yet"):
        read_run(1)
    with recorded("toy", None, ""):
        pass
    with refusal("from 1 to 1"):
        read_run(7)
    whole = (FOLDER / "00001.json").read_text(encoding="utf-8")
    damages = ("", "[]", "{}", whole[:-9], whole.replace('"format": 1', '"format": 2'))
    for number, text in enumerate(damages, 2):
        (FOLDER / f"{number:05d}.json").write_text(text, encoding="utf-8")
        with refusal("the record of a run cannot be read"):
            read_run(number)
    assert len(read_runs(run_numbers())) == 1


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
    with refusal("", "make room", file=folder.parent) as caught, explain_errors():
        fail()
    assert caught.value.problem == "the disk is full"


@pytest.mark.parametrize("error", [ValueError("one"), InputError("two"), OSError(18, "three")])
def test_other_errors_on_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """exax does not say why a job failed whose notes it could not write."""
    with pytest.raises(type(error)) as caught, explain_errors():
        raise error
    assert caught.value is error
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9 - 4096, 4096))
    with refusal(r"the disk is full(.|\n)*0.0 MB are left"), explain_errors():
        raise error


def lose(*folders: Path) -> None:
    for folder in folders:
        folder.rmdir()
    os.getcwd()


def test_a_folder_that_is_deleted_under_a_run(folder: Path) -> None:
    """It is made again, as exax goes back to it; a workdir is not."""
    with explain_errors():
        folder.rmdir()  # as the run needs it no more
    assert folder.is_dir()
    os.chdir(folder)
    with refusal("the folder of this run was deleted while it ran"), explain_errors():
        lose(folder)
    assert folder.is_dir()
    assert Path.cwd() == folder
    with refusal("was deleted"), explain_errors():
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
@pytest.mark.parametrize(("inodes_left", "inodes"), [(0, 0), (0, 100), (10, 100)])
def test_a_run_needs_any_room_to_begin(
    folder: Path, monkeypatch: pytest.MonkeyPatch, bytes_left: int, inodes_left: int, inodes: int
) -> None:
    Disk = namedtuple("Disk", "f_bavail f_favail f_files f_frsize f_blocks f_bfree")
    monkeypatch.setattr(os, "statvfs", lambda path: Disk(bytes_left, inodes_left, inodes, 1, 1, 1))
    if bytes_left and (inodes_left or not inodes):  # some disks do not count inodes
        check_disk_space()
        return
    with refusal("the disk is full", "finished jobs are kept") as caught:
        check_disk_space()
    assert ("no inodes" in caught.value.problem) == bool(inodes and not inodes_left)
