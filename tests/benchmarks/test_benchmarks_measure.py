"""Medians, ratios and intervals say what they should."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy import stats

from benchmarks.measure import interleaved, ratio, seconds_of, spread, with_interval


def test_spread_and_ratio_of_some_measurements() -> None:
    assert spread([3.0, 1.0, 2.0]) == {"median": 2.0, "min": 1.0, "max": 3.0, "values": [3.0, 1.0, 2.0]}
    assert spread(np.array([1.0, 2.0]))["median"] == 1.5
    # In the second run the machine was ten times slower; ratios do not see it.
    assert ratio([2.0, 20.0], [1.0, 10.0])["values"] == [2.0, 2.0]
    with pytest.raises(ValueError, match="shorter"):
        ratio([1.0, 2.0], [1.0])
    assert 0.02 <= seconds_of(lambda: time.sleep(0.02)) < 1.0


def test_each_run_measures_everything_and_begins_with_another() -> None:
    order: list[tuple[str, int]] = []

    def note(name: str, run: int) -> float:
        order.append((name, run))
        return 10.0 * run + "abc".index(name)

    found = interleaved({name: lambda run, name=name: note(name, run) for name in "abc"}, 4)  # type: ignore[misc]
    assert found == {name: [10.0 * run + at for run in range(4)] for at, name in enumerate("abc")}
    assert "".join(name for name, _ in order) == "abcbcacababc"
    assert [run for _, run in order] == sorted(run for _, run in order)


def test_interval_is_student_s_and_one_run_has_none() -> None:
    values = [1.8, 1.95, 2.2, 1.7, 1.9]
    found = with_interval(values)
    expected = stats.ttest_1samp(np.log(values), 0).confidence_interval(0.95)
    assert found["mean"] == pytest.approx(stats.gmean(values))
    assert (math.log(found["low"]), math.log(found["high"])) == pytest.approx(tuple(expected))
    alone = with_interval([2.0])
    assert (alone["mean"], alone["low"], alone["high"]) == (pytest.approx(2.0), None, None)


def test_interval_holds_the_truth_19_times_in_20() -> None:
    rng = np.random.default_rng(5)
    draws = [with_interval(np.exp(rng.normal(0.6, 0.1, 4))) for _ in range(1000)]
    inside = sum(draw["low"] < math.exp(0.6) < draw["high"] for draw in draws)
    assert stats.binomtest(inside, 1000, 0.95).pvalue > 0.001
