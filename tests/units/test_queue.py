"""Units of work are each drawn once, by however many processes, the largest first."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from itertools import pairwise
from multiprocessing.queues import Queue
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortloop.units.queue import MOMENT, PROGRESS, Units

FORK = multiprocessing.get_context("fork")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1e9), max_size=60))
def test_one_process_draws_all_largest_first(costs: list[float]) -> None:
    units = Units(costs)
    assert len(units) == len(costs)
    drawn = list(units)
    assert sorted(drawn) == list(range(len(costs)))
    assert [costs[unit] for unit in drawn] == sorted(costs, reverse=True)
    # Equal costs keep their order, so that the order of work is the same in every run.
    assert all(a < b for a, b in pairwise(drawn) if costs[a] == costs[b])


@pytest.mark.parametrize("count", [0, 1, 7])
def test_equal_units(count: int) -> None:
    units = Units(count)
    assert len(units) == count
    assert list(units) == list(range(count))


def test_nothing_is_drawn_twice() -> None:
    units = Units(5)
    first = iter(units)
    assert [next(first), next(first)] == [0, 1]
    assert list(units) == [2, 3, 4]
    assert list(first) == []
    assert list(units) == []
    assert len(units) == 5


@pytest.mark.parametrize("seconds", [0.0, 0.0005, 0.02])
def test_short_units_are_drawn_several_at_a_time(seconds: float) -> None:
    units = Units(200)
    batches = []
    for batch in units.batches():
        batches.append(batch)
        time.sleep(seconds * len(batch))
    assert [unit for batch in batches for unit in batch] == list(range(200))
    assert batches[0] == [0]
    assert len(batches[-1]) == 1
    assert max(map(len, batches)) * seconds <= 2 * MOMENT or seconds > MOMENT
    assert (max(map(len, batches)) > 1) == (seconds < MOMENT)


def test_costs_may_be_an_array() -> None:
    assert list(Units(np.array([1.0, 3.0, 2.0]))) == [1, 2, 0]  # type: ignore[arg-type]


def _work(units: Units, drawn: Queue[tuple[int, list[int]]], pause: float) -> None:
    mine = []
    for unit in units:
        mine.append(unit)
        time.sleep(pause)
    drawn.put((os.getpid(), mine))


@pytest.mark.parametrize(
    ("workers", "count", "pause"), [(2, 40, 0.002), (5, 3000, 0.0), (8, 3, 0.01), (3, 0, 0.0)]
)
def test_forked_processes_share_one_counter(workers: int, count: int, pause: float) -> None:
    costs = np.random.default_rng(workers).permutation(count).astype(float).tolist()
    units = Units(costs)
    drawn: Queue[tuple[int, list[int]]] = FORK.Queue()
    processes = [FORK.Process(target=_work, args=(units, drawn, pause)) for _ in range(workers)]
    for process in processes:
        process.start()
    results = [drawn.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert len({pid for pid, _ in results}) == workers
    everything = [unit for _, mine in results for unit in mine]
    assert sorted(everything) == list(range(count))
    for _, mine in results:  # each worker's own share comes largest first
        assert [costs[unit] for unit in mine] == sorted((costs[unit] for unit in mine), reverse=True)
    assert list(units) == []  # nor is anything left for the parent


def test_nobody_idles_while_another_has_a_queue() -> None:
    units = Units(40)
    drawn: Queue[tuple[int, list[int]]] = FORK.Queue()
    processes = [FORK.Process(target=_work, args=(units, drawn, pause)) for pause in (0.1, 0.001)]
    for process in processes:
        process.start()
    shares = sorted(len(drawn.get(timeout=60)[1]) for _ in processes)
    for process in processes:
        process.join(60)
    assert sum(shares) == 40
    assert shares[0] < 15  # the slow one takes a few, not half


def draw_and_die(units: Units) -> None:
    def die() -> None:
        next(iter(units))
        os._exit(1)

    process = FORK.Process(target=die)
    process.start()
    process.join(60)


def test_worker_that_dies_loses_only_its_own_unit() -> None:
    units = Units(6)
    draw_and_die(units)
    assert list(units) == [1, 2, 3, 4, 5]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, in a process that exax runs the prepare of a job in."""
    exax = SimpleNamespace(running="prepare", job=SimpleNamespace(path=str(tmp_path)))
    monkeypatch.setitem(sys.modules, "accelerator.g", exax)
    return tmp_path


def test_a_job_tells_what_share_of_the_cost_is_done(job: Path) -> None:
    told = [(job / PROGRESS).read_text(encoding="ascii").split()[0] for _ in Units([2.0, 1.0, 5.0])]
    # A unit is done when the next one is asked for, not when it is drawn.
    assert told == ["0.000", "0.625", "0.875"]
    assert (job / PROGRESS).read_text(encoding="ascii").split()[0] == "1.000"


def test_all_workers_of_a_job_tell_together(job: Path) -> None:
    units = Units(2000)
    processes = [FORK.Process(target=lambda: list(units)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert (job / PROGRESS).read_text(encoding="ascii").split()[0] == "1.000"


def test_a_worker_that_dies_has_not_done_its_unit(job: Path) -> None:
    units = Units(4)
    draw_and_die(units)
    assert len(list(units)) == 3
    assert (job / PROGRESS).read_text(encoding="ascii").split()[0] == "0.750"


@pytest.mark.parametrize("costs", [0, [], [0.0, 0.0]])
def test_a_job_with_nothing_to_weigh(job: Path, costs: int | list[float]) -> None:
    units = Units(costs)
    assert len(list(units)) == len(units)
    assert float((job / PROGRESS).read_text(encoding="ascii").split()[0]) == (1 if len(units) else 0)


def test_work_goes_on_where_nothing_can_be_told(job: Path) -> None:
    job.rmdir()
    assert list(Units(3)) == [0, 1, 2]


def test_outside_a_job_nothing_is_written(job: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    sys.modules["accelerator.g"].running = "build"  # type: ignore[attr-defined]
    assert list(Units(3)) == [0, 1, 2]
    monkeypatch.delitem(sys.modules, "accelerator.g")
    assert list(Units(3)) == [0, 1, 2]
    assert list(tmp_path.iterdir()) == []
