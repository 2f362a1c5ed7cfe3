"""What figures are drawn from: outlines, confidence intervals, colour limits, critical values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from report_synthetic import CHANCE, statistics
from scipy import stats as scipy_stats
from scipy.ndimage import gaussian_filter1d

from shortloop.eeg.report.panels import colour_limits, outline_segments
from shortloop.eeg.report.sections.null_distribution import critical_value, observed_mass
from shortloop.eeg.report.summary import confidence_half_width


def test_the_outline_of_one_cell() -> None:
    mask = np.zeros((3, 4), dtype=bool)
    mask[1, 2] = True
    segments = outline_segments(mask, np.arange(5.0), np.arange(4.0) * 10)
    found = {tuple(map(tuple, segment)) for segment in segments.tolist()}
    assert found == {
        ((2.0, 10.0), (2.0, 20.0)),
        ((3.0, 10.0), (3.0, 20.0)),
        ((2.0, 10.0), (3.0, 10.0)),
        ((2.0, 20.0), (3.0, 20.0)),
    }


@settings(max_examples=60, deadline=None)
@given(arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 6))))
def test_the_outline_separates_the_mask_from_the_rest(mask: np.ndarray) -> None:
    rows, columns = mask.shape
    x_edges, y_edges = np.cumsum(np.arange(1.0, columns + 2)), np.arange(rows + 1.0)
    drawn = {tuple(np.ravel(segment)) for segment in outline_segments(mask, x_edges, y_edges).tolist()}
    expected = set()
    for row in range(rows):
        for column in range(columns):
            if not mask[row, column]:
                continue
            x0, x1, y0, y1 = x_edges[column], x_edges[column + 1], y_edges[row], y_edges[row + 1]
            if column == 0 or not mask[row, column - 1]:
                expected.add((x0, y0, x0, y1))
            if column == columns - 1 or not mask[row, column + 1]:
                expected.add((x1, y0, x1, y1))
            if row == 0 or not mask[row - 1, column]:
                expected.add((x0, y0, x1, y0))
            if row == rows - 1 or not mask[row + 1, column]:
                expected.add((x0, y1, x1, y1))
    assert drawn == expected


def test_the_confidence_band_is_that_of_the_smoothed_scores() -> None:
    raw = CHANCE + np.random.default_rng(3).normal(2, 4, (7, 20))
    smooth = gaussian_filter1d(raw, 1.0, axis=1, truncate=2.0, mode="nearest")
    known = scipy_stats.ttest_1samp(smooth, CHANCE, axis=0)
    stats = replace(
        statistics(np.zeros(20, dtype=bool), 7), scores=raw, mean=smooth.mean(axis=0), t=known.statistic
    )
    interval = known.confidence_interval(0.95)
    half = confidence_half_width(stats)
    np.testing.assert_allclose(stats.mean - half, interval.low, rtol=1e-9)
    np.testing.assert_allclose(stats.mean + half, interval.high, rtol=1e-9)


def test_the_confidence_band_where_the_mean_is_at_chance() -> None:
    scores = CHANCE + np.array([[-1.0, 0.0, 2.0], [1.0, 0.0, 2.0]])
    stats = replace(
        statistics(np.zeros(3, dtype=bool), 2),
        scores=scores,
        mean=scores.mean(axis=0),
        t=np.array([0.0, 0.0, np.inf]),
    )
    error = scipy_stats.sem(scores[:, 0]) * scipy_stats.t.ppf(0.975, 1)
    np.testing.assert_allclose(confidence_half_width(stats), [error, 0.0, 0.0], atol=1e-12)


def test_one_participant_has_no_confidence_band() -> None:
    assert np.isnan(confidence_half_width(statistics(np.ones(4, dtype=bool), 1))).all()


def test_colours_are_symmetric_about_the_centre() -> None:
    assert colour_limits(np.array([30.0, 34.0, 41.0, np.nan]), 33.0) == (25.0, 41.0, False)
    assert colour_limits(np.full(3, 33.0), 33.0) == (32.0, 34.0, False)
    assert colour_limits(np.array([1.0, np.inf]), 0.0) == (-1.0, 1.0, True)
    low, high, outside = colour_limits(np.append(np.ones(999), 1e6), 0.0, 99.0)
    assert (low, high, outside) == (-1.0, 1.0, True)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=60), st.sampled_from([0.01, 0.05, 0.2]), st.booleans()
)
def test_the_critical_value_parts_small_p_from_others(values: list[int], alpha: float, exact: bool) -> None:
    null = np.array(values, dtype=float)
    critical = critical_value(null, alpha, exact)
    # In an exact distribution, the observed value is one of the null values.
    for observed in null if exact else np.arange(-1.0, 14.0):
        larger = int((null >= observed).sum())
        p = larger / len(null) if exact else (1 + larger) / (1 + len(null))
        assert (critical is not None and observed > critical) == (p <= alpha + 1e-12)


def test_too_few_permutations_have_no_critical_value() -> None:
    assert critical_value(np.arange(18.0), 0.05) is None
    assert critical_value(np.arange(19.0), 0.05) == 18.0


def test_the_observed_mass_is_that_of_the_heaviest_cluster() -> None:
    stats = statistics(np.array([True, True, False, True]))
    stats = replace(stats, t=np.array([2.0, 3.0, 9.0, -6.0]), clusters=np.array([1, 1, 0, -1]))
    assert observed_mass(stats) == 6.0
    assert observed_mass(statistics(np.zeros(4, dtype=bool))) == pytest.approx(0.0)
