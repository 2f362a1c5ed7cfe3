"""The plain data of a report say what the maps say."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_synthetic import CHANCE, kind_result, statistics

from shortloop.eeg.report.summary import group_findings, participant_table


def test_the_window_of_a_known_effect() -> None:
    curve = group_findings(kind_result())["curve"]
    assert curve["significant"] is True
    assert curve["windows"] == [[pytest.approx(0.1), pytest.approx(0.4)]]
    assert curve["clusters"][0]["direction"] == "above"
    assert curve["clusters"][0]["p"] == curve["p"] == 0.002
    assert curve["p_max"] == 0.004


def test_the_region_of_a_known_effect() -> None:
    plane = group_findings(kind_result())["generalization"]
    (region,) = plane["regions"]
    assert region["train"] == pytest.approx([0.1, 0.4])
    assert region["test"] == pytest.approx([0.15, 0.3])
    assert region["cells"] == 7 * 4
    assert region["direction"] == "above"


def test_peaks_are_the_largest_means_and_where_they_are() -> None:
    result = kind_result()
    found = group_findings(result)
    assert result.generalization is not None
    assert result.test_times is not None
    assert found["curve"]["peak"] == result.curve.mean.max()
    assert found["curve"]["peak_time"] == result.train_times[result.curve.mean.argmax()]
    test, train = np.argwhere(result.generalization.mean == result.generalization.mean.max())[0]
    assert found["generalization"]["peak_train_time"] == result.train_times[train]
    assert found["generalization"]["peak_test_time"] == result.test_times[test]


def test_an_effect_below_chance_is_called_below() -> None:
    found = group_findings(kind_result(effect=-9.0))
    assert found["curve"]["clusters"][0]["direction"] == "below"
    assert found["generalization"]["regions"][0]["direction"] == "below"


def test_nothing_significant() -> None:
    nothing = statistics(np.zeros(12, dtype=bool))
    curve = group_findings(kind_result(curve=nothing))["curve"]
    assert (curve["significant"], curve["windows"], curve["clusters"], curve["p"]) == (False, [], [], 1.0)


def test_touching_clusters_of_opposite_sign_are_two_windows() -> None:
    stats = statistics(np.arange(12) < 6)
    clusters = np.where(np.arange(12) < 3, 1, np.where(np.arange(12) < 6, -1, 0))
    stats = replace(stats, clusters=clusters, t=clusters * 5.0)
    curve = group_findings(kind_result(curve=stats))["curve"]
    assert [cluster["direction"] for cluster in curve["clusters"]] == ["above", "below"]
    assert curve["windows"] == [pytest.approx([0.0, 0.1]), pytest.approx([0.15, 0.25])]


def test_no_generalization() -> None:
    result = kind_result(test_bins=None)
    assert group_findings(result)["generalization"] is None
    assert not any("generalization" in key for row in participant_table(result) for key in row)


def test_participants_peaks_are_those_of_their_own_scores() -> None:
    result = kind_result()
    assert result.generalization is not None
    for index, row in enumerate(participant_table(result)):
        assert row["participant"] == f"s{index + 1:02d}"
        assert row["peak"] == max(result.curve.scores[index])
        assert row["generalization_peak"] == result.generalization.scores[index].max()
        assert row["chance"] == CHANCE


def test_scores_that_are_not_numbers_are_passed_over() -> None:
    stats = statistics(np.arange(12) < 0)
    scores = stats.scores.copy()
    scores[0] = np.nan
    scores[1, 0] = np.nan
    table = participant_table(kind_result(curve=replace(stats, scores=scores)))
    assert table[0]["peak"] is None
    assert table[0]["peak_time"] is None
    assert table[1]["peak"] == np.nanmax(scores[1])


def test_all_is_plain_data() -> None:
    result = kind_result()
    again = json.loads(json.dumps([group_findings(result), participant_table(result)], allow_nan=False))
    assert again == [group_findings(result), participant_table(result)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.booleans(), min_size=12, max_size=12))
def test_windows_cover_the_significant_bins_and_no_other(mask: list[bool]) -> None:
    result = kind_result(curve=statistics(np.array(mask)), unit="bin", test_bins=None)
    windows = group_findings(result)["curve"]["windows"]
    covered = [any(start <= time <= end for start, end in windows) for time in result.train_times]
    assert covered == mask
    assert all(after[0] - before[1] > 1 for before, after in pairwise(windows))
