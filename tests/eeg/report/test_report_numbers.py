"""The files beside the figures hold the numbers that are drawn."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest
from report_synthetic import details, kind_result
from scipy import stats as scipy_stats

from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.page import SECTIONS

WHOLE = details(kind_result())
ALONE = details(kind_result(participants=1, test_bins=None), classes=2)
POWER = details(kind_result("power"))


def rows(name: str, result: KindResult) -> list[dict[str, Any]]:
    (section,) = [each for each in SECTIONS if each.name == name]
    assert section.figure is not None
    assert section.figure.numbers is not None
    return list(csv.DictReader(io.StringIO(section.figure.numbers(result))))


def column(found: list[dict[str, Any]], name: str) -> Any:
    return np.array([float(row[name]) for row in found])


@pytest.mark.parametrize("result", [WHOLE, ALONE, POWER], ids=["group", "one", "power"])
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_every_figure_has_its_numbers_beside_it(section: Any, result: KindResult) -> None:
    if section.figure is not None and section.applies(result):
        found = rows(section.name, result)
        assert found
        assert None not in found[0]
        assert all(None not in row.values() for row in found)


@pytest.mark.parametrize("name", ["decoding_over_time", "generalization"])
def test_each_cell_has_its_mean_interval_and_statistics(name: str) -> None:
    stats = WHOLE.curve if name == "decoding_over_time" else WHOLE.generalization
    assert stats is not None
    found = rows(name, WHOLE)
    interval = scipy_stats.t.interval(0.95, 7, stats.mean, scipy_stats.sem(stats.scores, axis=0))
    expected = {
        "mean": stats.mean,
        "t": stats.t,
        "p by clusters": stats.p_cluster,
        "p by maximum": stats.p_max,
    }
    for head, values in {**expected, "low": interval[0], "high": interval[1]}.items():
        np.testing.assert_allclose(column(found, head), values.ravel(), err_msg=head)
    assert [row["significant"] == "yes" for row in found] == stats.significant.ravel().tolist()
    np.testing.assert_array_equal(column(found, "train time (s)")[:12], WHOLE.train_times)
    if name == "generalization":
        np.testing.assert_array_equal(column(found, "test time (s)")[::12], WHOLE.test_times)


def test_one_participant_has_no_interval_over_participants() -> None:
    (first, *_) = rows("decoding_over_time", ALONE)
    assert (first["low"], first["high"]) == ("", "")
    assert float(first["z"]) == ALONE.curve.t[0]


def test_each_participant_has_intervals_in_all_cells() -> None:
    found = rows("participants", WHOLE)
    plane = WHOLE.generalization
    assert plane is not None
    assert len(found) == 8 * (12 + 120)
    mine = [row for row in found if (row["participant"], row["scores"]) == ("s03", "generalization")]
    np.testing.assert_array_equal(column(mine, "score"), plane.scores[2].ravel())
    np.testing.assert_allclose(column(mine, "low"), plane.scores[2].ravel() - 6)
    np.testing.assert_allclose(column(mine, "high"), plane.scores[2].ravel() + 7)
    assert {row["test time (s)"] for row in found if row["scores"] == "decoding"} == {""}
    bare = rows("participants", kind_result())
    assert {row["low"] for row in bare} == {""}


def test_confusions_have_trials_and_shares() -> None:
    found = rows("confusion", WHOLE)
    assert len(found) == 2 * 9
    for part, confusion in zip((found[:9], found[9:]), WHOLE.confusions, strict=True):
        np.testing.assert_array_equal(column(part, "trials"), confusion.counts.ravel())
        shares = column(part, "trials of the class (%)").reshape(3, 3)
        np.testing.assert_allclose(shares.sum(axis=1), 100)
    assert (found[1]["true class"], found[1]["predicted class"]) == ("class 0", "class 1")
    assert found[0]["test time (s)"] == ""
    assert float(found[9]["test time (s)"]) == 0.0


def test_patterns_name_channel_and_frequency() -> None:
    assert POWER.patterns is not None
    assert POWER.patterns.of_frequencies is not None
    found = rows("patterns", POWER)
    np.testing.assert_allclose(column(found, "pattern (µV²)"), 1e12 * POWER.patterns.of_frequencies.ravel())
    assert (found[8]["channel"], found[8]["frequency (Hz)"]) == ("Cz", "10.0")
    assert "frequency (Hz)" not in rows("patterns", WHOLE)[0]


def test_null_maps_are_all_there() -> None:
    found = rows("null_distribution", WHOLE)
    assert len(found) == 2 * 499
    np.testing.assert_array_equal(column(found[:499], "largest |t|"), WHOLE.curve.null_max)
