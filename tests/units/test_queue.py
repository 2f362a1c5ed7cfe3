"""Units of work are each drawn once, by however many processes, the largest first."""

from __future__ import annotations

import heapq
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from multiprocessing.queues import Queue
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortloop.units.queue import MOMENT, PROGRESS, WORKER_MOMENT, Batches, Units

FORK = multiprocessing.get_context("fork")


def units_of(costs: Sequence[float]) -> Units:
    """All units of a job."""
    return Units(costs, range(len(costs)))


def drawn_from(units: Units) -> Iterator[int]:
    """Units in the order in which this process draws them."""
    return chain.from_iterable(units.batches())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1e9), max_size=60))
def test_one_process_draws_all_largest_first(costs: list[float]) -> None:
    drawn = list(drawn_from(units_of(costs)))
    assert sorted(drawn) == list(range(len(costs)))
    assert [costs[unit] for unit in drawn] == sorted(costs, reverse=True)
    # Equal costs keep their order, so that the order of work is the same in every run.
    assert all(a < b for a, b in pairwise(drawn) if costs[a] == costs[b])


@pytest.mark.parametrize(("seconds", "number"), [(0.0, 200), (0.0005, 200), (0.02, 20)])
def test_short_units_are_drawn_several_at_a_time(seconds: float, number: int) -> None:
    units = units_of([1.0] * number)
    batches = []
    for batch in units.batches():
        batches.append(batch)
        time.sleep(seconds * len(batch))
    assert [unit for batch in batches for unit in batch] == list(range(number))
    assert batches[0] == [0]
    assert len(batches[-1]) == 1
    assert max(map(len, batches)) * seconds <= 2 * MOMENT or seconds > MOMENT
    assert (max(map(len, batches)) > 1) == (seconds < MOMENT)


def drawn_by_forks(units: Units, pauses: Sequence[float]) -> list[tuple[int, list[int]]]:
    """What each process has drawn, which pauses after each unit."""
    drawn: Queue[tuple[int, list[int]]] = FORK.Queue()

    def work(pause: float) -> None:
        mine = []
        for unit in drawn_from(units):
            mine.append(unit)
            time.sleep(pause)
        drawn.put((os.getpid(), mine))

    processes = [FORK.Process(target=work, args=(pause,)) for pause in pauses]
    for process in processes:
        process.start()
    results = [drawn.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    return results


@pytest.mark.parametrize(
    ("workers", "count", "pause"), [(2, 40, 0.002), (5, 3000, 0.0), (8, 3, 0.01), (3, 0, 0.0)]
)
def test_forked_processes_share_one_counter(job: Path, workers: int, count: int, pause: float) -> None:
    costs = np.random.default_rng(workers).permutation(count).astype(float).tolist()
    units = units_of(costs)
    results = drawn_by_forks(units, [pause] * workers)
    assert len({pid for pid, _ in results}) == workers
    assert sorted([unit for _, mine in results for unit in mine]) == list(range(count))
    for _, mine in results:  # each worker's own share comes largest first
        assert [costs[unit] for unit in mine] == sorted((costs[unit] for unit in mine), reverse=True)
    assert list(units.batches()) == []  # nor is anything left for the parent
    assert float((job / PROGRESS).read_text(encoding="ascii").split()[0]) == bool(count)


def test_nobody_idles_while_another_has_a_queue() -> None:
    units = units_of([1.0] * 40)
    shares = sorted(len(mine) for _, mine in drawn_by_forks(units, [0.1, 0.001]))
    assert sum(shares) == 40
    assert shares[0] < 15  # the slow one takes a few, not half


def draw_and_die(units: Units) -> None:
    def die() -> None:
        next(units.batches())
        os._exit(1)

    process = FORK.Process(target=die)
    process.start()
    process.join(60)


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, in a process that exax runs the prepare of a job in."""
    exax = SimpleNamespace(running="prepare", job=SimpleNamespace(path=str(tmp_path)))
    monkeypatch.setitem(sys.modules, "accelerator.g", exax)
    return tmp_path


def test_a_job_tells_what_share_of_the_cost_is_done(job: Path) -> None:
    drawn = drawn_from(units_of([2.0, 1.0, 5.0]))
    told = [(job / PROGRESS).read_text(encoding="ascii").split()[0] for _ in drawn]
    # A unit is done when the next one is asked for, not when it is drawn.
    assert told == ["0.000", "0.625", "0.875"]
    assert (job / PROGRESS).read_text(encoding="ascii").split()[0] == "1.000"


def test_a_worker_that_dies_has_not_done_its_unit(job: Path) -> None:
    units = units_of([1.0] * 4)
    draw_and_die(units)
    assert len(list(units.batches())) == 3
    assert (job / PROGRESS).read_text(encoding="ascii").split()[0] == "0.750"


@pytest.mark.parametrize("costs", [[], [0.0, 0.0]])
def test_a_job_with_nothing_to_weigh(job: Path, costs: list[float]) -> None:
    assert len(list(drawn_from(units_of(costs)))) == len(costs)
    assert float((job / PROGRESS).read_text(encoding="ascii").split()[0]) == bool(costs)


def test_outside_a_job_nothing_is_written(job: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor where nothing can be; work goes on."""
    monkeypatch.chdir(tmp_path)
    sys.modules["accelerator.g"].running = "build"  # type: ignore[attr-defined]
    assert list(drawn_from(units_of([1.0] * 3))) == [0, 1, 2]
    assert list(tmp_path.iterdir()) == []
    sys.modules["accelerator.g"].running = "prepare"  # type: ignore[attr-defined]
    monkeypatch.chdir(job.parent)
    job.rmdir()
    assert list(drawn_from(units_of([1.0] * 3))) == [0, 1, 2]
    monkeypatch.delitem(sys.modules, "accelerator.g")
    assert list(drawn_from(units_of([1.0] * 3))) == [0, 1, 2]


def batches_of(costs: Sequence[float], *how: float, units: Sequence[int] | None = None) -> Batches[int]:
    """Of all units, or of some."""
    workers, *rest = how
    some = range(len(costs)) if units is None else units
    return Batches({unit: costs[unit] for unit in some}, int(workers), *rest)


def simulated(
    batches: Batches[int], workers: int, seconds: Callable[[int], float], lost: Sequence[int] = ()
) -> tuple[list[list[int]], float, float]:
    """Batches in their order, when the last worker ended, and how long all computed; the workers that had the
    batches of these numbers are lost once."""
    ends: list[tuple[float, int, list[int]]] = []
    handed: list[list[int]] = []
    now = busy = 0.0
    while True:
        while len(ends) < workers and (batch := batches.next()):
            handed.append(batch)
            took = sum(map(seconds, batch))
            heapq.heappush(ends, (now + took, len(handed) - 1, batch))
        if not ends:
            return handed, now, busy
        now, number, batch = heapq.heappop(ends)
        if number in lost:
            assert batches.put_back(batch) == []
            continue
        took = sum(map(seconds, batch))
        busy += took
        batches.done(batch, took)


@given(
    costs=st.lists(st.floats(0, 1e6), max_size=60),
    workers=st.integers(1, 9),
    unit_seconds=st.floats(0, 10),
    lost=st.lists(st.integers(0, 3), max_size=2),
    skip=st.sets(st.integers(0, 59)),
)
def test_each_unit_once(
    costs: list[float], workers: int, unit_seconds: float, lost: list[int], skip: set[int]
) -> None:
    units = [unit for unit in range(len(costs)) if unit not in skip]
    batches = batches_of(costs, workers, units=units)
    handed, _, _ = simulated(batches, workers, lambda unit: unit_seconds * (1 + costs[unit]), lost)
    kept = [unit for number, batch in enumerate(handed) if number not in lost for unit in batch]
    assert sorted(kept) == units
    assert batches.next() == []


@pytest.mark.parametrize("workers", [1, 2, 7, 100])
def test_costs_that_say_nothing_of_seconds_do_no_harm(workers: int) -> None:
    def seconds(unit: int) -> float:
        return 0.001 + 0.02 * (unit % 7 == 0)

    _, ended, busy = simulated(batches_of([0.0] * 20_000, workers), workers, seconds)
    assert ended < busy / workers + 2 * WORKER_MOMENT


def test_large_units_come_first_and_small_ones_are_sent_together() -> None:
    costs = [1.0] * 50 + [1000.0] * 3
    handed, ended, busy = simulated(batches_of(costs, 3), 3, lambda unit: costs[unit] / 500)
    assert handed[:3] == [[50], [51], [52]]
    assert ended == pytest.approx(busy / 3, rel=0.05)
    handed, ended, busy = simulated(batches_of([1.0] * 100_000, 2), 2, lambda unit: 1e-3)
    assert len(handed) < 400  # 100 s
    assert max(map(len, handed)) <= WORKER_MOMENT / 1e-3 + 1
    assert ended < busy / 2 + 0.01
    message, workers = 1e-3, 1000
    handed, _, _ = simulated(batches_of([1.0] * 1_000_000, workers, message), workers, lambda unit: 0.01)
    later = [len(batch) * 0.01 for batch in handed[2 * workers : -1]]
    assert min(later) >= workers * message - 0.01
    assert max(later) <= 2 * workers * message + 0.01


def test_what_a_lost_worker_had_comes_next_and_alone_and_is_named_if_it_is_lost_again() -> None:
    batches = batches_of([3.0, 3.0, 2.0, 1.0], 1)
    batches.done(batches.next(), 1e-6)
    assert batches.next() == [1]
    assert batches.put_back([1]) == []
    assert batches.has_next()
    assert batches.next() == [1]
    assert batches.next() == [2]
    assert batches.next() == [3]
    assert not batches.has_next()
    batches = batches_of([1.0] * 3, 2)
    assert batches.put_back(batches.next()) == []
    assert batches.next() == [0]
    assert batches.put_back([0, 1]) == []
    assert batches.put_back([1, 0]) == [0]
