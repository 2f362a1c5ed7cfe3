"""Memory that is taken is seen, in this process's children and in theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.memory import Watch, measured_alone

MB = 2**20
GRANDCHILD = "x = bytearray(b'1') * (64 * 2**20); import time; time.sleep(0.6)"
CHILD = (
    f"import subprocess, sys; subprocess.run([sys.executable, '-c', {GRANDCHILD!r}], start_new_session=True)"
)


def test_peak_of_work_in_a_process_of_its_own() -> None:
    def work() -> int:
        np.ones(80 * MB // 8)  # given back at once, but seen
        return int(np.ones(30 * MB // 8).sum())

    result, peak = measured_alone(work)
    assert result == 30 * MB // 8
    assert 78 < peak < 100


def test_a_peak_of_before_does_not_count() -> None:
    np.ones(100 * MB // 8)
    assert measured_alone(lambda: None)[1] < 10


def test_memory_that_was_free_already_counts() -> None:
    kept = [bytearray(1000) for _ in range(40_000)]  # too small for mappings of their own
    last = kept.pop()  # in the way of giving back what is below it
    kept.clear()
    _, peak = measured_alone(lambda: len([bytearray(1000) for _ in range(40_000)]))
    assert len(last) == 1000
    assert peak > 30


def test_work_that_fails_is_no_measurement(capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        raise ValueError("not today")

    with pytest.raises(RuntimeError):
        measured_alone(work)
    assert "not today" in capfd.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's smaps_rollup")
def test_all_that_a_process_has_started_is_watched() -> None:
    process = subprocess.Popen([sys.executable, "-c", CHILD])
    with Watch(process.pid, interval=0.02) as watched:
        process.wait()
    assert watched.peak["processes"] == 2
    assert 64 < watched.peak["private_mb"] < 110
    assert watched.peak["pss_mb"] >= watched.peak["private_mb"]
    assert watched.peak["samples"] > 5
