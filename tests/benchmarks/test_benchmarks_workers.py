"""Workers share the units, each once, with the threads they are given."""

from __future__ import annotations

import multiprocessing
import time

import numpy as np
import pytest

from benchmarks.workers import seconds_over


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_unit_is_done_once(workers: int) -> None:
    done = multiprocessing.get_context("fork").Array("i", 7)

    def work(unit: int) -> None:
        with done.get_lock():
            done[unit] += 1

    seconds_over(workers, 7, work)
    assert done[:] == [1] * 7


def test_seconds_are_those_of_the_work_shared() -> None:
    assert seconds_over(1, 4, lambda unit: time.sleep(0.05))[0] >= 0.2
    together = multiprocessing.get_context("fork").Barrier(4)

    def meet(unit: int) -> None:
        together.wait(timeout=300)  # ends only if four are at work at the same time

    assert seconds_over(4, 4, meet)[0] > 0


def test_threads_are_those_asked_for() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))  # a BLAS is loaded
    assert seconds_over(1, 1, lambda unit: None, 1)[1] == 1
    assert seconds_over(1, 1, lambda unit: None, 2)[1] == 2


def test_a_worker_that_fails_is_no_measurement(capfd: pytest.CaptureFixture[str]) -> None:
    def work(unit: int) -> None:
        raise ValueError("not today")

    with pytest.raises(RuntimeError):
        seconds_over(1, 1, work)
    assert "not today" in capfd.readouterr().err
