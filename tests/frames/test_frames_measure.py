"""A process that measures: what it tells, how it fails, and that nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from frames_tiny import tiny
from packaging.requirements import Requirement
from source_tree import PROJECT

from shortloop.frames.measure import (
    Measured,
    busy_seconds,
    cpu_seconds,
    environment,
    family,
    measure,
    memory,
    time_repeats,
)
from shortloop.frames.transformations import COLUMN

TOY = "frames_tiny:toy"


def is_gone(pid: int) -> bool:
    """Whether a process has ended, also if nobody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def left(folder: Path) -> list[int]:
    return [int(each) for each in (folder / "left").read_text().split()]


def wait_until_gone(pids: list[int]) -> None:
    until = time.monotonic() + 20
    while not all(map(is_gone, pids)):
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("name", "limit", "words"),
    [
        ("raises", 60, "ValueError: no such thing as a column"),
        ("waits", 3, "took longer than 3 s"),
        ("killed", 60, "was killed"),
        ("exits", 60, "ended with status 0"),
    ],
)
def test_a_failure_is_a_reason(tmp_path: Path, name: str, limit: float, words: str) -> None:
    measured = measure(tiny(tmp_path, name), TOY, COLUMN, 1, limit)
    assert words in measured.failed
    assert measured.result is None
    assert measured.seconds == []


def test_nothing_outlives_a_measurement(tmp_path: Path) -> None:
    """Not even a process that has left the group."""
    assert measure(tiny(tmp_path, "leaves"), TOY, COLUMN, 1, 60).failed == ""
    assert len(left(tmp_path)) > 2
    wait_until_gone(left(tmp_path))


def test_memory_and_processor_time_are_those_of_the_work(tmp_path: Path) -> None:
    """What a library prints is no answer."""
    small, large = (measure(tiny(tmp_path, name), TOY, COLUMN, 2, 60) for name in ("prints", "large"))
    assert (small.failed, large.failed) == ("", "")
    assert len(small.seconds) >= 2
    np.testing.assert_array_equal(small.result, np.zeros(3))
    assert small.peak is not None
    assert large.peak is not None
    assert 190e6 < large.peak - small.peak < 230e6
    timed = measure(tiny(tmp_path, "busy"), TOY, COLUMN, 2, 60)
    assert timed.busy is not None
    assert 0.1 < timed.busy < 1.2  # of one process beside the one that waits for it; others may be running
    assert timed.others is not None


def test_it_ends_with_the_one_that_asked(tmp_path: Path) -> None:
    tiny(tmp_path, "waits")
    code = f"""
from pathlib import Path
from frames_tiny import tiny
from source_tree import ROOT
from shortloop.frames.measure import measure
measure(tiny(Path({str(tmp_path)!r}), "waits"), {TOY!r}, {COLUMN!r}, 1, 600)
"""
    path = os.pathsep.join(each for each in sys.path if each)
    asking = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    until = time.monotonic() + 60
    while not (tmp_path / "left").exists() or not left(tmp_path):
        assert time.monotonic() < until
        time.sleep(0.05)
    child = family(asking.pid)[1].pid
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    wait_until_gone([child])
    for each in left(tmp_path):  # it had left the group, and nobody is there to end it
        os.kill(each, signal.SIGKILL)


def test_quick_work_is_repeated_more_often_than_slow_work() -> None:
    quick, slow = Measured(), Measured()
    time_repeats(quick, lambda: time.sleep(0.001), 3)
    time_repeats(slow, lambda: time.sleep(0.3), 2)
    assert len(quick.seconds) > 10
    assert len(slow.seconds) == 2
    assert min(slow.seconds) >= 0.3


def test_memory_that_processes_share_counts_once() -> None:
    before = memory(os.getpid())
    block = np.ones(12_500_000)  # 100 MB
    forked = []
    for _ in range(3):
        pid = os.fork()
        if not pid:
            time.sleep(600)
        forked.append(pid)
    try:
        after = memory(os.getpid())
    finally:
        for pid in forked:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert before is not None
    assert after is not None
    assert 90e6 < after - before < 140e6
    assert block[0] == 1


def test_processor_time_counts_processes_that_have_ended() -> None:
    own, every = cpu_seconds(os.getpid()), busy_seconds()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
    assert cpu_seconds(os.getpid()) - own >= 0.28
    assert every is not None
    after = busy_seconds()
    assert after is not None
    assert after - every >= 0.25


def test_the_environment_of_libraries_is_what_was_asked_for(tmp_path: Path) -> None:
    """One with Modin has none of the libraries that this package requires, but numpy."""
    found = environment(3)
    assert found["POLARS_MAX_THREADS"] == found["NUMBA_NUM_THREADS"] == "3"
    assert found["OMP_NUM_THREADS"] == "1"
    assert "PYTHONDONTWRITEBYTECODE" not in found
    alone = environment(3, tmp_path)
    assert [each.name for each in Path(alone["PYTHONPATH"]).iterdir()] == ["shortloop"]
    required = [Requirement(line).name for line in PROJECT["dependencies"]]
    blocked = "; ".join(f"sys.modules[{name!r}] = None" for name in required if name != "numpy")
    code = f"import sys; {blocked}; import shortloop.frames.measure, shortloop.frames.runners"
    subprocess.run([sys.executable, "-c", code], env=environment(1), check=True)
