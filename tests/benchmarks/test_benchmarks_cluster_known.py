"""What is known of runs of others: the thesis on 25 machines, and where one Dask scheduler was full."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median

import pytest

from benchmarks.cluster_constants import Constants, median_of
from benchmarks.cluster_thesis import DIVISIONS, PERFECT, USUAL, agrees, minutes, needed
from benchmarks.cluster_workloads import (
    PUBLISHED,
    around,
    breaks_even,
    fed_workers,
    many_units,
    saturation,
    task_seconds_for,
)

BY_NAME = {division.name: division for division in DIVISIONS}
AGREE = (
    "bins and permutations, one participant after another",
    "bins, then participants permute",
    "participants train, then permutations",
)
TOO_LONG = ("bins, also to permute, one participant after another", "participants")
TOO_SHORT = tuple(name for name in BY_NAME if name not in AGREE + TOO_LONG)


def test_one_machine_takes_what_the_thesis_measured() -> None:
    """On 4 cores every division that fills them takes the 121.8 minutes of exax on 4 slices."""
    for name in (*TOO_SHORT[:3], AGREE[0]):
        assert minutes(BY_NAME[name], PERFECT, 1) == pytest.approx(61.0 + 0.81 + 60.0, rel=0.005), name


@pytest.mark.parametrize("name", AGREE)
def test_with_few_large_units_25_machines_take_as_long_as_in_the_thesis(name: str) -> None:
    """No constant is chosen: machines are alike, and nothing but computing takes time. With usual ones not
    all three: where a core trains a whole participant, the slowest of 18 is waited for."""
    assert agrees(minutes(BY_NAME[name], PERFECT))
    for assumed in (USUAL, replace(USUAL, shipped="nothing")) if name in AGREE[:2] else ():
        assert agrees(median([minutes(BY_NAME[name], assumed, seed=seed) for seed in range(5)]))


@pytest.mark.parametrize("name", TOO_SHORT + TOO_LONG)
def test_other_divisions_do_not(name: str) -> None:
    for assumed in (PERFECT, USUAL):
        found = minutes(BY_NAME[name], assumed)
        assert not agrees(found)
        assert (found < 15.8) == (name in TOO_SHORT)


def test_small_units_agree_over_one_narrow_range_of_links_alone() -> None:
    found = needed(BY_NAME["bins and permutations, all participants at once"])
    assert found["gigabits"] is not None
    low, high = found["gigabits"]
    assert 1.0 < low <= high < 2.0
    assert found["serial"] is not None
    assert found["serial"][0] > 60  # seconds before each of four jobs
    nothing = needed(BY_NAME["participants"])
    assert nothing == {"serial": None, "gigabits": None}


def test_a_dask_scheduler_is_full_at_hundreds_of_workers() -> None:
    """Silvr's 480, as an order of magnitude: within a factor of √10, for tasks of half a second."""
    cost = Constants().dask_task
    workers = saturation(0.5, cost, (60, PUBLISHED))["workers"]
    assert workers == pytest.approx(0.5 / cost, rel=0.05)
    assert abs(math.log10(workers / PUBLISHED)) < 0.5
    assert 0.1 < task_seconds_for(PUBLISHED, cost) < 1.0
    assert saturation(1.0, cost, (60,))["efficiency"][60] > 0.9


def test_longer_batches_feed_more_workers() -> None:
    speedup = {}
    for way in ("singly", "adaptive", "scaled"):
        found = many_units(Constants(), 100, 4, way, 400_000)
        speedup[way] = found.computing / found.seconds
    assert speedup["singly"] < 60 < 250 < speedup["adaptive"] < 0.9 * speedup["scaled"]


def test_what_is_not_computing_is_that_of_the_jobs() -> None:
    constants = Constants()
    one = around(constants, 1, 32, "one after another")
    more = one["seconds"] - one["ideal"]
    assert more == pytest.approx(130 * constants.job + 54 * constants.opening, rel=0.02)
    several = around(constants, 1, 32, "18 participants at once")
    assert 130 * constants.job < several["seconds"] - several["ideal"] < more
    assert several["seconds"] < 0.7 * one["seconds"]
    nothing = around(replace(constants, job=0.0, opening=0.0), 1, 32, "one after another")
    assert nothing["seconds"] - nothing["ideal"] < 0.1
    assert breaks_even(32, 100, 10.0) == pytest.approx(10 / (1 / 32 - 1 / 100))
    assert fed_workers(2.0, 1e6, 1e7) == 20
    used = median_of({"dask_task": {"median": 0.5}, "dask_task, 2 workers": {"median": 0.6}})
    assert used == Constants(dask_task=0.5)
