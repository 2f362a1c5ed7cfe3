"""Records of runs: written as a run begins and ends, numbered, and true of runs that never ended."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from jobs_project import ROOT, empty_project

from shortloop.base.errors import InputError
from shortloop.plan.pipeline import Built
from shortloop.plan.settings_files import SettingsFile
from shortloop.run.runs import CUT_OFF, RUNNING, JobOfRun, read_run, read_runs, recorded, run_numbers

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
    given = settings(tmp_path / "s.toml", content)
    with recorded("build_toy small", given, "") as recorder:
        (tmp_path / "s.toml").write_bytes(b"edited while it ran")
        jobs = [Built("main-1", "first", "A", fresh=True, reason="new"), Built("main-0", "last", None)]
        recorder.jobs = jobs
    record, end = read_run(1)
    assert (end, record.exit, record.error, record.part) == ("0", 0, "", "")
    assert (record.script, record.pipeline, record.settings) == (
        "build_toy small",
        "build_toy small",
        "small",
    )
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
    with pytest.raises(InputError, match="no runs yet"):
        read_run(1)
    with recorded("toy", None, ""):
        pass
    with pytest.raises(InputError, match="from 1 to 1"):
        read_run(7)
    whole = (FOLDER / "00001.json").read_text(encoding="utf-8")
    for number, text in enumerate(
        ("", "[]", "{}", whole[:-9], whole.replace('"format": 1', '"format": 2')), 2
    ):
        (FOLDER / f"{number:05d}.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="the record of a run cannot be read"):
            read_run(number)
    assert len(read_runs(run_numbers())) == 1
