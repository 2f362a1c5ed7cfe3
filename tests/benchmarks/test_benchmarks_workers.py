"""Workers share the units, each once, with the threads they are given; the SVM's work is counted right."""

from __future__ import annotations

import multiprocessing
import time

import numpy as np
import pytest

from benchmarks.counted_svm import _path, updates
from benchmarks.workers import seconds_over
from shortloop.eeg.decoding.solvers.svm import choose_and_fit


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


def test_updates_of_orthogonal_trials() -> None:
    """Each is solved by one step, up to C, and needs no second."""
    gram, y, orders = 2.0 * np.eye(6), np.tile([1.0, -1.0], 3), np.arange(6)[np.newaxis]
    assert _path(gram, y, np.array([10.0]), 1e-6, orders) == 6
    assert _path(gram, y, np.array([0.1, 10.0]), 1e-6, orders) == 12  # from 0 to 0.1, from there to 0.5
    assert _path(gram, y, np.array([0.1, 0.1]), 1e-6, orders) == 6


def test_updates_grow_with_what_is_asked() -> None:
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((30, 50)), np.tile([0, 1, 2], 10)
    gram = x @ x.T + 1.0
    few = updates(gram, labels, [1e-3], 2, 1e-2)
    assert 0 < few < updates(gram, labels, [1e-3, 1e-1], 2, 1e-2)
    assert updates(gram, labels, [1e-1], 2, 1e-2) < updates(gram, labels, [1e-1], 2, 1e-6)
    assert few >= (choose_and_fit(gram, labels, [1e-3], 2, 1e-2)[1] != 0).sum()  # each moved at least once
