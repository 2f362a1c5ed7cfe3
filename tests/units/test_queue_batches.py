"""Every unit is handed out once, in batches that are worth to be sent and do not keep others waiting."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.units.queue import WORKER_MOMENT, Batches

Seconds = Callable[[int], float]


def batches_of(costs: Sequence[float], *how: float, units: Sequence[int] | None = None) -> Batches[int]:
    """Of all units, or of some."""
    workers, *rest = how
    return Batches(dict(enumerate(costs)), range(len(costs)) if units is None else units, int(workers), *rest)


def simulated(
    batches: Batches[int], workers: int, seconds: Seconds, lost: Sequence[int] = ()
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
def test_every_unit_is_computed_once(
    costs: list[float], workers: int, unit_seconds: float, lost: list[int], skip: set[int]
) -> None:
    units = [unit for unit in range(len(costs)) if unit not in skip]
    batches = batches_of(costs, workers, units=units)
    handed, _, _ = simulated(batches, workers, lambda unit: unit_seconds * (1 + costs[unit]), lost)
    kept = [unit for number, batch in enumerate(handed) if number not in lost for unit in batch]
    assert sorted(kept) == units
    assert batches.next() == []


def test_small_units_are_sent_together_and_leave_no_worker_waiting() -> None:
    handed, ended, busy = simulated(batches_of([1.0] * 100_000, 2), 2, lambda unit: 1e-3)
    assert len(handed) < 400  # 100 s
    assert max(map(len, handed)) <= WORKER_MOMENT / 1e-3 + 1
    assert ended < busy / 2 + 0.01


@pytest.mark.parametrize("workers", [1, 2, 7, 100])
def test_costs_that_say_nothing_of_seconds_do_no_harm(workers: int) -> None:
    def seconds(unit: int) -> float:
        return 0.001 + 0.02 * (unit % 7 == 0)

    _, ended, busy = simulated(batches_of([0.0] * 20_000, workers), workers, seconds)
    assert ended < busy / workers + 2 * WORKER_MOMENT


def test_large_units_come_first_and_alone() -> None:
    costs = [1.0] * 50 + [1000.0] * 3
    handed, ended, busy = simulated(batches_of(costs, 3), 3, lambda unit: costs[unit] / 500)
    assert handed[:3] == [[50], [51], [52]]
    assert ended == pytest.approx(busy / 3, rel=0.05)


def test_what_a_lost_worker_had_comes_next_and_alone() -> None:
    batches = batches_of([3.0, 3.0, 2.0, 1.0], 1)
    batches.done(batches.next(), 1e-6)
    assert batches.next() == [1]
    assert batches.put_back([1]) == []
    assert batches.has_next()
    assert batches.next() == [1]
    assert batches.next() == [2]
    assert batches.next() == [3]
    assert not batches.has_next()


def test_a_unit_that_its_worker_is_lost_with_again_and_again_is_named() -> None:
    batches = batches_of([1.0] * 3, 2)
    assert batches.put_back(batches.next()) == []
    assert batches.next() == [0]
    assert batches.put_back([0, 1]) == []
    assert batches.put_back([1, 0]) == [0]


def test_a_thousand_workers_are_not_kept_waiting_for_messages() -> None:
    message, workers = 1e-3, 1000
    batches = batches_of([1.0] * 1_000_000, workers, message)
    handed, _, _ = simulated(batches, workers, lambda unit: 0.01)
    later = [len(batch) * 0.01 for batch in handed[2 * workers : -1]]
    assert min(later) >= workers * message - 0.01
    assert max(later) <= 2 * workers * message + 0.01
