"""The plain data, times, scores and parts of figures of a report say what the maps say."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from figure_texts import texts
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from report_synthetic import CHANCE, kind_result, report_content, statistics
from scipy import stats as scipy_stats
from scipy.ndimage import gaussian_filter1d

from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.figure_parts import colour_limits, outline_segments
from shortloop.eeg.report.page import findings, limits, overview
from shortloop.eeg.report.sections.decoding import decoding_over_time, generalization_map
from shortloop.eeg.report.sections.null_distribution import critical_value, observed_maxima
from shortloop.eeg.report.sections.participants import participant_maps
from shortloop.eeg.report.sections.tables import best_scores
from shortloop.eeg.report.summary import confidence_half_width, group_findings, participant_table
from shortloop.eeg.report.times import TimeScale, bin_edges, time_scale


def test_the_window_and_the_region_of_a_known_effect() -> None:
    found = group_findings(kind_result())
    curve, plane = found["curve"], found["generalization"]
    assert curve["significant"] is True
    assert curve["windows"] == [[pytest.approx(0.1), pytest.approx(0.4)]]
    assert curve["clusters"][0]["direction"] == "above"
    assert curve["clusters"][0]["p"] == curve["p"] == 0.002
    assert curve["p_max"] == 0.004
    (region,) = plane["regions"]
    assert region["train"] == pytest.approx([0.1, 0.4])
    assert region["test"] == pytest.approx([0.15, 0.3])
    assert region["cells"] == 7 * 4
    assert region["direction"] == "above"
    found = group_findings(kind_result(effect=-9.0))
    assert found["curve"]["clusters"][0]["direction"] == "below"
    assert found["generalization"]["regions"][0]["direction"] == "below"


def test_peaks_are_the_largest_means_and_scores_and_plain_data() -> None:
    result = kind_result()
    found = group_findings(result)
    assert result.generalization is not None
    assert result.test_times is not None
    assert found["curve"]["peak"] == result.curve.mean.max()
    assert found["curve"]["peak_time"] == result.train_times[result.curve.mean.argmax()]
    test, train = np.argwhere(result.generalization.mean == result.generalization.mean.max())[0]
    assert found["generalization"]["peak_train_time"] == result.train_times[train]
    assert found["generalization"]["peak_test_time"] == result.test_times[test]
    for index, row in enumerate(participant_table(result)):
        assert row["participant"] == f"s{index + 1:02d}"
        assert row["peak"] == max(result.curve.scores[index])
        assert row["generalization_peak"] == result.generalization.scores[index].max()
        assert row["chance"] == CHANCE
    again = json.loads(json.dumps([group_findings(result), participant_table(result)], allow_nan=False))
    assert again == [group_findings(result), participant_table(result)]


def test_nothing_significant_no_generalization_and_scores_that_are_no_numbers() -> None:
    nothing = statistics(np.zeros(12, dtype=bool))
    curve = group_findings(kind_result(curve=nothing))["curve"]
    assert (curve["significant"], curve["windows"], curve["clusters"], curve["p"]) == (False, [], [], 1.0)
    result = kind_result(test_bins=None)
    assert group_findings(result)["generalization"] is None
    assert not any("generalization" in key for row in participant_table(result) for key in row)
    stats = statistics(np.arange(12) < 0)
    scores = stats.scores.copy()
    scores[0] = np.nan
    scores[1, 0] = np.nan
    table = participant_table(kind_result(curve=replace(stats, scores=scores)))
    assert table[0]["peak"] is None
    assert table[0]["peak_time"] is None
    assert table[1]["peak"] == np.nanmax(scores[1])


def test_touching_clusters_of_opposite_sign_are_two_windows() -> None:
    stats = statistics(np.arange(12) < 6)
    clusters = np.where(np.arange(12) < 3, 1, np.where(np.arange(12) < 6, -1, 0))
    stats = replace(stats, clusters=clusters, t=clusters * 5.0)
    curve = group_findings(kind_result(curve=stats))["curve"]
    assert [cluster["direction"] for cluster in curve["clusters"]] == ["above", "below"]
    assert curve["windows"] == [pytest.approx([0.0, 0.1]), pytest.approx([0.15, 0.25])]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.booleans(), min_size=12, max_size=12))
def test_windows_cover_the_significant_bins_and_no_other(mask: list[bool]) -> None:
    result = kind_result(curve=statistics(np.array(mask)), unit="bin", test_bins=None)
    windows = group_findings(result)["curve"]["windows"]
    covered = [any(start <= time <= end for start, end in windows) for time in result.train_times]
    assert covered == mask
    assert all(after[0] - before[1] > 1 for before, after in pairwise(windows))


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
    of_all = statistics(np.zeros(20, dtype=bool), 7)
    stats = replace(of_all, scores=raw, mean=smooth.mean(axis=0), t=known.statistic)
    interval = known.confidence_interval(0.95)
    half = confidence_half_width(stats)
    np.testing.assert_allclose(stats.mean - half, interval.low, rtol=1e-9)
    np.testing.assert_allclose(stats.mean + half, interval.high, rtol=1e-9)


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


def test_the_observed_mass_is_that_of_the_heaviest_cluster_and_few_permutations_have_no_critical_value() -> (
    None
):
    stats = statistics(np.array([True, True, False, True]))
    stats = replace(stats, t=np.array([2.0, 3.0, 9.0, -6.0]), clusters=np.array([1, 1, 0, -1]))
    assert observed_maxima(stats) == (9.0, 6.0)
    assert observed_maxima(statistics(np.zeros(4, dtype=bool)))[1] == 0.0
    assert critical_value(np.arange(18.0), 0.05) is None
    assert critical_value(np.arange(19.0), 0.05) == 18.0


@pytest.mark.parametrize(
    ("unit", "bins", "expected"), [("s", 12, "ms"), ("s", 60, "s"), ("bin", 12, "bin"), ("bin", 60, "bin")]
)
def test_the_unit_suits_the_epochs(unit: str, bins: int, expected: str) -> None:
    assert time_scale(kind_result(unit=unit, bins=bins)).unit == expected


def test_words_and_edges_of_times() -> None:
    ms, s, bins = TimeScale("ms", 1000.0), TimeScale("s", 1.0), TimeScale("bin", 1.0)
    assert ms.point(0.1204) == "120 ms"
    assert ms.span(-0.021, 0.41) == "−21 to 410 ms"
    assert ms.span(0.1, 0.1) == "100 ms"
    assert ms.point(-0.0001) == "0 ms"
    assert s.span(1.0, 2.25) == "1.00 to 2.25 s"
    assert bins.point(4.0) == "bin 4"
    assert bins.span(4.0, 12.0) == "bins 4 to 12"
    assert ms.label("Training", "study") == "Training time, study (ms)"
    assert bins.label("Training", "study") == "Training bin, study"
    assert (s.label(), bins.label()) == ("Time (s)", "Bin")
    np.testing.assert_allclose(bin_edges(np.array([0.0, 1.0, 3.0])), [-0.5, 0.5, 2.0, 4.0])
    np.testing.assert_allclose(bin_edges(np.array([5.0]), 0.2), [4.9, 5.1])


def rescored(result: KindResult, **changes: Any) -> KindResult:
    """The same result in another score; of AUC from 0 to 1, about 0.5."""

    def of(stats: MapStatistics) -> MapStatistics:
        if changes.get("score") != "auc":
            return replace(stats, **changes)
        scores, mean = (each / 100 - CHANCE / 100 + 0.5 for each in (stats.scores, stats.mean))
        return replace(stats, scores=scores, mean=mean, chance=0.5, **changes)

    assert result.generalization is not None or result.test_times is None
    plane = None if result.generalization is None else of(result.generalization)
    return replace(result, curve=of(result.curve), generalization=plane)


AUC = rescored(kind_result(), score="auc")
UNEQUAL = rescored(
    kind_result(test_bins=None), score="accuracy", expected=np.linspace(40, 60, 12), chance=50.0
)


def words(figure: Any) -> str:
    return " | ".join(text.get_text() for text in texts(figure))


@pytest.mark.parametrize("draw", [decoding_over_time, generalization_map, participant_maps])
def test_figures_of_auc(draw: Any) -> None:
    said = words(draw(AUC))
    assert "AUC" in said
    assert "%" not in said.replace("95 %", "")


def test_chance_is_drawn_where_it_is() -> None:
    times = UNEQUAL.train_times * 1000
    lines = decoding_over_time(UNEQUAL).axes[0].lines
    dashed = [line for line in lines if line.get_linestyle() == "--"]
    assert len(dashed) == 1
    np.testing.assert_allclose(np.asarray(dashed[0].get_xdata()), times)
    assert UNEQUAL.curve.expected is not None
    np.testing.assert_allclose(np.asarray(dashed[0].get_ydata()), UNEQUAL.curve.expected)
    assert "chance, 50.0 % on average" in words(decoding_over_time(UNEQUAL))
    (level,) = {
        float(np.asarray(line.get_ydata())[0])
        for line in decoding_over_time(AUC).axes[0].lines
        if line.get_linestyle() == "--"
    }
    assert level == 0.5


def test_the_confidence_band_is_about_the_mean_also_at_chance() -> None:
    level = UNEQUAL.curve.expected
    assert level is not None
    more = level - CHANCE
    shifted = replace(UNEQUAL.curve, mean=UNEQUAL.curve.mean + more, scores=UNEQUAL.curve.scores + more)
    np.testing.assert_allclose(confidence_half_width(shifted), confidence_half_width(kind_result().curve))
    scores = CHANCE + np.array([[-1.0, 0.0, 2.0], [1.0, 0.0, 2.0]])
    of_all, t = statistics(np.zeros(3, dtype=bool), 2), np.array([0.0, 0.0, np.inf])
    stats = replace(of_all, scores=scores, mean=scores.mean(axis=0), t=t)
    error = scipy_stats.sem(scores[:, 0]) * scipy_stats.t.ppf(0.975, 1)
    np.testing.assert_allclose(confidence_half_width(stats), [error, 0.0, 0.0], atol=1e-12)


def test_sentences_and_tables() -> None:
    text = overview(report_content(AUC))
    assert "chance is 0.500. Scores are the area under the ROC curve (AUC)" in text
    assert "balanced accuracy, the mean over classes of recall" in overview(report_content(kind_result()))
    for sentence in findings(AUC):
        assert " %" not in sentence.replace("95 % CI", "")
        assert ", 0.5" in sentence
    assert any("Classes differ in size" in note for note in limits(report_content(UNEQUAL)))
    assert not any("Classes differ in size" in note for note in limits(report_content(AUC)))
    assert group_findings(AUC)["score"] == "auc"
    table = best_scores(AUC)
    assert table.columns[0] == "Decoding in study (AUC)"
    assert all(0 < float(row.cells[0]) < 1 for row in table.rows)
    assert best_scores(kind_result()).columns[0] == "Decoding in study (%)"
