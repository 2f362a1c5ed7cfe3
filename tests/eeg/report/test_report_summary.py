"""The plain data, times, scores and parts of figures of a report say what the maps say."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eeg_recordings import exported, make_raw, read
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jobs_recorded import result_with
from page_reader import Page
from report_synthetic import (
    CHANCE,
    details,
    html_of_report,
    kind_result,
    patterns_of,
    plane_of,
    report_content,
    statistics,
)
from scipy import stats as scipy_stats
from scipy.ndimage import gaussian_filter1d

from shortloop.eeg.checks.summary import summarize
from shortloop.eeg.findings import study_findings
from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.group.settings import NULLS, SHARED_TRAINING, TEST_LABELS, NullName
from shortloop.eeg.report.comparison import compare_scores, comparison_figure, scores_in
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.deliver import _print_tables, left_out
from shortloop.eeg.report.eeg_page import SECTIONS, findings, limits, overview
from shortloop.eeg.report.figure_parts import colour_limits, outline_segments
from shortloop.eeg.report.recordings import dropped_trials, recordings_table
from shortloop.eeg.report.sections.decoding import decoding_over_time
from shortloop.eeg.report.sections.null_distribution import critical_value, observed_maxima
from shortloop.eeg.report.sections.tables import best_scores
from shortloop.eeg.report.summary import confidence_half_width, group_findings, participant_table
from shortloop.eeg.report.times import TimeScale, bin_edges, time_scale
from shortloop.stages.results import Result

SETTINGS: dict[str, Any] = {"permutations": {"null": "test-labels"}, "group": {"null": "permutations"}}


def with_nulls(curve: NullName, plane: NullName) -> KindResult:
    plain, rate = kind_result(), TEST_LABELS if curve == "test-labels" else ""
    planes = replace(plane_of(plain), null=plane)
    return replace(plain, curve=replace(plain.curve, null=curve, error_rate=rate), generalization=planes)


def captions(result: KindResult) -> dict[str, str]:
    return {each.name: each.caption(result, SETTINGS) for each in SECTIONS if each.applies(result)}


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


def test_nothing_significant_no_generalization_and_scores_that_are_no_numbers() -> None:
    curve = group_findings(kind_result(curve=statistics(np.zeros(12, dtype=bool))))["curve"]
    assert (curve["significant"], curve["windows"], curve["clusters"], curve["p"]) == (False, [], [], 1.0)
    result = kind_result(test_bins=None)
    assert group_findings(result)["generalization"] is None
    assert not any("generalization" in key for row in participant_table(result) for key in row)


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
    assert [any(start <= time <= end for start, end in windows) for time in result.train_times] == mask
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


def test_bands_are_of_smoothed_scores_and_colours_symmetric() -> None:
    raw = CHANCE + np.random.default_rng(3).normal(2, 4, (7, 20))
    smooth = gaussian_filter1d(raw, 1.0, axis=1, truncate=2.0, mode="nearest")
    known = scipy_stats.ttest_1samp(smooth, CHANCE, axis=0)
    of_all = statistics(np.zeros(20, dtype=bool), 7)
    stats = replace(of_all, scores=raw, mean=smooth.mean(axis=0), t=known.statistic)
    interval = known.confidence_interval(0.95)
    half = confidence_half_width(stats)
    np.testing.assert_allclose(stats.mean - half, interval.low, rtol=1e-9)
    np.testing.assert_allclose(stats.mean + half, interval.high, rtol=1e-9)
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


def test_the_observed_mass_is_of_the_heaviest_cluster_and_few_permutations_have_no_critical_value() -> None:
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

    plane = None if result.generalization is None else of(result.generalization)
    return replace(result, curve=of(result.curve), generalization=plane)


AUC = rescored(kind_result(), score="auc")
UNEQUAL = rescored(
    kind_result(test_bins=None), score="accuracy", expected=np.linspace(40, 60, 12), chance=50.0
)


def test_chance_is_drawn_where_it_is() -> None:
    times = UNEQUAL.train_times * 1000
    dashed = [line for line in decoding_over_time(UNEQUAL).axes[0].lines if line.get_linestyle() == "--"]
    assert len(dashed) == 1
    np.testing.assert_allclose(np.asarray(dashed[0].get_xdata()), times)
    assert UNEQUAL.curve.expected is not None
    np.testing.assert_allclose(np.asarray(dashed[0].get_ydata()), UNEQUAL.curve.expected)
    dashed = [line for line in decoding_over_time(AUC).axes[0].lines if line.get_linestyle() == "--"]
    assert {float(np.asarray(line.get_ydata())[0]) for line in dashed} == {0.5}


def test_the_confidence_band_is_about_the_mean_also_at_chance() -> None:
    level = UNEQUAL.curve.expected
    assert level is not None
    more = level - CHANCE
    shifted = replace(UNEQUAL.curve, mean=UNEQUAL.curve.mean + more, scores=UNEQUAL.curve.scores + more)
    np.testing.assert_allclose(confidence_half_width(shifted), confidence_half_width(kind_result().curve))
    scores, flat = CHANCE + np.array([[-1.0, 0.0], [1.0, 0.0]]), statistics(np.zeros(2, dtype=bool), 2)
    stats = replace(flat, scores=scores, mean=scores.mean(axis=0), t=np.zeros(2))
    error = scipy_stats.sem(scores[:, 0]) * scipy_stats.t.ppf(0.975, 1)
    np.testing.assert_allclose(confidence_half_width(stats), [error, 0.0], atol=1e-12)


def test_sentences_and_tables() -> None:
    assert "chance is 0.500" in overview(report_content(AUC))
    for sentence in findings(AUC):
        assert " %" not in sentence.replace("95 % CI", "")
        assert ", 0.5" in sentence
    for result, warned in ((UNEQUAL, True), (AUC, False)):
        assert any("Classes differ in size" in note for note in limits(report_content(result))) == warned
    assert group_findings(AUC)["score"] == "auc"
    table = best_scores(AUC)
    assert table.columns[0] == "Decoding in study (AUC)"
    assert all(0 < float(row.cells[0]) < 1 for row in table.rows)
    assert best_scores(kind_result()).columns[0] == "Decoding in study (%)"


WHOLE = details(kind_result())
ALONE = details(kind_result(participants=1, test_bins=None), classes=2)
POWER = details(kind_result("power"))


def rows(name: str, result: KindResult) -> list[dict[str, Any]]:
    (section,) = [each for each in SECTIONS if each.name == name]
    return list(csv.DictReader(io.StringIO(section.numbers(result))))


def column(found: list[dict[str, Any]], name: str) -> Any:
    return np.array([float(row[name]) for row in found])


@pytest.mark.parametrize("result", [WHOLE, ALONE, POWER], ids=["group", "one", "power"])
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_every_figure_has_its_numbers_beside_it(section: Any, result: KindResult) -> None:
    if section.applies(result):
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


def test_each_participant_has_intervals_in_all_cells() -> None:
    found, plane = rows("participants", WHOLE), plane_of(WHOLE)
    assert len(found) == 8 * (12 + 120)
    mine = [row for row in found if (row["participant"], row["scores"]) == ("s03", "generalization")]
    np.testing.assert_array_equal(column(mine, "score"), plane.scores[2].ravel())
    np.testing.assert_allclose(column(mine, "low"), plane.scores[2].ravel() - 6)
    np.testing.assert_allclose(column(mine, "high"), plane.scores[2].ravel() + 7)
    assert {row["test time (s)"] for row in found if row["scores"] == "decoding"} == {""}
    bare = rows("participants", kind_result())
    assert {row["low"] for row in bare} == {""}


def test_files_have_numbers_of_confusions_and_patterns() -> None:
    found = rows("confusion", WHOLE)
    assert len(found) == 2 * 9
    for part, confusion in zip((found[:9], found[9:]), WHOLE.confusions, strict=True):
        np.testing.assert_array_equal(column(part, "trials"), confusion.counts.ravel())
        np.testing.assert_allclose(column(part, "trials of the class (%)").reshape(3, 3).sum(axis=1), 100)
    assert (found[1]["true class"], found[1]["predicted class"]) == ("class 0", "class 1")
    assert found[0]["test time (s)"] == ""
    assert float(found[9]["test time (s)"]) == 0.0
    found, values = rows("patterns", POWER), np.asarray(patterns_of(POWER).of_frequencies)
    np.testing.assert_allclose(column(found, "pattern (µV²)"), 1e12 * values.ravel())
    assert (found[8]["channel"], found[8]["frequency (Hz)"]) == ("Cz", "10.0")
    assert "frequency (Hz)" not in rows("patterns", WHOLE)[0]
    (first, *_) = rows("decoding_over_time", ALONE)
    assert (first["low"], first["high"]) == ("", "")
    assert float(first["z"]) == ALONE.curve.t[0]
    found = rows("null_distribution", WHOLE)
    assert len(found) == 2 * 499
    np.testing.assert_array_equal(column(found[:499], "largest |t|"), WHOLE.curve.null_max)


STEPS: dict[str, Any] = {"highpass": 0.5, "lowpass": 40.0, "notch": [25.0, 50.0], "reference": "average"}
STEPS |= {"montage": "easycap-M1", "bads": {"S1": ["C3"]}, "interpolate": True, "reject": {"eeg": 50e-6}}
STEPS |= {"resample": 64.0}
FEATURES: dict[str, Any] = {"participant": "A", "phase": "study", "kind": "power", "file": "A.mat"}
FEATURES |= {"trials": {"x": 3}, "channels": [], "sfreq": 0.0, "tmin": 0.0, "samples": 0}
FEATURES |= {"bins": 20, "features": 6510}


def recording(folder: Path, **steps: Any) -> dict[str, Any]:
    """A real recording of two files, imported."""
    files = [exported(make_raw(seed), folder / f"S1_{seed}_raw.fif") for seed in (0, 1)]
    epochs = read("fif", files, preprocessing=steps)
    names = ", ".join(file.name for file in files)
    return summarize(epochs, participant="S1", phase="run", file=names).to_dict()


@pytest.mark.filterwarnings("ignore:S1, ")
def test_it_says_what_was_left_out_and_done(tmp_path: Path) -> None:
    known = recording(tmp_path, **STEPS)
    settings = {"input": {"format": "fif", "preprocessing": STEPS}}
    table = recordings_table(report_content(kind_result(), recordings=(known,), settings=settings))
    assert "Warnings" not in table.columns
    (row,) = table.rows
    cells = dict(zip(table.columns, row.cells, strict=True))
    left = dropped_trials(known)
    assert left["annotated as BAD_blink"] == 2  # one in each file
    assert left["amplitude"] > 0
    assert left.total() + sum(known["trials"].values()) == 28
    assert f"{left['amplitude']} × amplitude" in cells["Left out"]
    assert "2 × annotated as BAD_blink" in cells["Left out"]
    faces, houses = known["trials"]["face"], known["trials"]["house"]
    assert cells["Trials"] == f"{faces} face, {houses} house"
    assert (cells["Channels"], cells["Rate (Hz)"]) == ("6, C3 interpolated", "64, recorded at 128")
    assert (cells["Epoch (s)"], cells["Pass band (Hz)"]) == ("−0.25 to 0.484", "0.5 to 32")
    steps = "easycap-M1.* 0.5 Hz.* 40 Hz.* 25 and 50 Hz.*interpolated.*average.* 50 µV .eeg.* 64 Hz"
    assert re.search(steps, table.caption)
    (line,) = csv.DictReader(io.StringIO(table.content))
    assert (line["trials of face"], line["trials left out"]) == (str(faces), str(left.total()))
    assert (line["bad channels"], line["interpolated channels"]) == ("C3", "C3")
    assert (line["recorded rate (Hz)"], line["rate (Hz)"], line["samples"]) == ("128", "64.0", "48")
    assert line["names of channels"].split() == known["channels"]


def test_features_that_were_made_elsewhere_have_bins_and_no_channels() -> None:
    table = recordings_table(report_content(kind_result(), recordings=(FEATURES,)))
    assert table.columns == ("Phase", "Format", "Trials", "Left out", "Bins", "Features")
    assert table.rows[0].cells[-2:] == ("20", "6510")
    (line,) = csv.DictReader(io.StringIO(table.content))
    assert (line["trials left out"], line["rate (Hz)"], line["features"]) == ("", "", "6510")


def test_folds_without_a_classifier_are_counted() -> None:
    scores = [{"kind": "amplitude", "curve": [50.0] * 29} for _ in range(3)]
    scores += [{"kind": "power", "curve": [50.0] * 20} for _ in range(3)]
    missing = {"amplitude": 522, "power": 0}
    found: list[Any] = [{"kind": kind, "group": {"left_out": count}} for kind, count in missing.items()]
    (line,) = left_out(found, scores, 10)
    assert line.startswith("amplitude: 522 of 870 folds ")


TIMES = np.array([-0.1, 0.0, 0.1])


def permuted(folder: Path, shift: float = 0.0, bins: int = 3) -> Result:
    times = np.linspace(-0.1, 0.1, bins)
    return result_with(
        folder,
        {"score": "balanced-accuracy", "time_unit": "s", "chance": {"curve": 50.0, "plane": 50.0}},
        train_times=times,
        test_times=times + 1,
        curve_scores=50 + shift + 100 * times,
        plane_scores=50 + shift + 100 * times[:, None] * times,
    )


def test_scores_of_a_participant_of_a_group_and_of_confusions(tmp_path: Path) -> None:
    found = scores_in(permuted(tmp_path / "a"))
    assert list(found) == ["curve", "plane"]
    assert found["curve"].values.tolist() == [40, 50, 60]
    assert (found["curve"].label, found["curve"].chance) == ("Balanced accuracy (%)", 50.0)
    assert found["plane"].test_times is not None
    assert found["curve"].scale.unit == "ms"
    facts = {"score": "auc", "time_unit": "s", "statistics": {"curve": {"chance": 0.5}}}
    maps = {"train_times": TIMES, "curve_mean": TIMES, "curve_scores": np.zeros((8, 3))}
    (curve,) = scores_in(result_with(tmp_path / "a", facts, **maps)).values()
    assert curve.values.tolist() == TIMES.tolist()
    assert (curve.label, curve.chance) == ("AUC", 0.5)
    counts = np.array([[[8, 2], [5, 5]]] * 3)
    found = scores_in(result_with(tmp_path / "a", {"time_unit": "s"}, confusions=counts, times=TIMES))
    assert found["curve"].values.tolist() == [65.0] * 3
    assert found["curve"].chance == 50.0
    maps = {"confusions": np.array([counts] * 2), "train_times": TIMES, "test_times": TIMES[:2]}
    assert scores_in(result_with(tmp_path / "b", {}, **maps))["plane"].values.shape == (2, 3)


def test_jobs_without_scores_or_that_test_each_participant_are_not_compared(tmp_path: Path) -> None:
    """As of the stage `individual`, whose facts name no score for all."""
    facts = {"kind": "amplitude", "participants": ["A", "B"], "statistics": {"curve": [{"chance": 50.0}] * 2}}
    alone = result_with(tmp_path / "a", facts, curve_mean=np.zeros((2, 3)), curve_scores=np.zeros((2, 3)))
    assert scores_in(alone) == {}
    assert compare_scores(alone, alone) is None
    assert compare_scores(permuted(tmp_path / "a"), result_with(tmp_path / "b", data=np.zeros(3))) is None


def panels(one: Result, other: Result) -> list[str]:
    scores = scores_in(one), scores_in(other)
    pairs = {shape: (scores[0][shape], scores[1][shape]) for shape in scores[0]}
    figure = comparison_figure("any", ("main-1", "main-2"), pairs)
    titles = [axes.get_title(loc="left") for part in figure.subfigs for axes in part.axes]
    return [title for title in titles if title]


def test_the_figure_shows_both_and_the_difference_if_bins_are_the_same(tmp_path: Path) -> None:
    difference = "main-2 − main-1"
    drawn = panels(permuted(tmp_path / "a"), permuted(tmp_path / "b", 3.0))
    assert drawn == ["Over time", difference, "main-1", "main-2", difference]
    drawn = panels(permuted(tmp_path / "a"), permuted(tmp_path / "c", bins=5))
    assert drawn == ["Over time", "main-1", "main-2"]
    one, other = (scores_in(permuted(tmp_path / name, shift)) for name, shift in (("a", 0.0), ("b", 3.0)))
    figure = comparison_figure("any", ("a", "b"), {"curve": (one["curve"], other["curve"])})
    line = figure.subfigs[0].axes[1].lines[1]
    assert np.allclose(np.asarray(line.get_xdata()), [-100, 0, 100])
    assert np.allclose(np.asarray(line.get_ydata()), 3)


@pytest.mark.parametrize("unit", ["s", "bin"])
def test_only_maps_over_times_have_a_line_at_the_event(tmp_path: Path, unit: str) -> None:
    plane = replace(scores_in(permuted(tmp_path / "a"))["plane"], time_unit=unit)
    figure = comparison_figure("any", ("a", "b"), {"plane": (plane, plane)})
    dotted = [line for line in figure.subfigs[0].axes[0].lines if line.get_linestyle() == ":"]
    assert bool(dotted) == (unit == "s")


def test_what_the_command_shows_of_two_jobs(tmp_path: Path) -> None:
    one, other = (permuted(tmp_path / name, shift) for name, shift in (("a", 0.0), ("b", 3.0)))
    found = compare_scores(one, other)
    assert found is not None
    assert found.title == "scores"
    assert [each[:3] for each in found.numbers] == [
        (what, "Balanced accuracy (%)", summary)
        for what in ("over time", "generalization")
        for summary in ("mean", "peak")
    ]
    assert found.numbers[1].second - found.numbers[1].first == pytest.approx(3.0)
    assert found.draw().get_suptitle() == "any"


def summary_of(result: Any) -> Any:
    tables = {"participants": participant_table(result), "group": group_findings(result)}
    return json.loads(json.dumps({"study": "x", "findings": [{"kind": result.kind, **tables}]}))


def test_numbers_of_a_study() -> None:
    result = kind_result()
    found = study_findings(summary_of(result))
    assert found is not None
    mean = result.curve.mean
    peak = found["amplitude over time: peak"]
    assert (peak.value, peak.unit) == (pytest.approx(float(mean.max())), "%")
    at = found["amplitude over time: peak at"]
    assert (at.value, at.unit) == (pytest.approx(1000 * result.train_times[int(mean.argmax())]), "ms")
    best = found["amplitude over time: best of each participant"]
    scores = result.curve.scores.max(axis=1)
    spread = scipy_stats.sem(scores)
    interval = scipy_stats.t.interval(0.95, len(scores) - 1, loc=scores.mean(), scale=spread)
    assert best.value == pytest.approx(scores.mean(), rel=1e-12)
    assert (best.lower, best.upper) == pytest.approx(interval, rel=1e-12)
    assert "95 %" in best.interval
    assert found["amplitude over time: smallest p of clusters"].value == 0.002
    plane = plane_of(result)
    assert found["amplitude generalization: peak"].value == pytest.approx(float(plane.mean.max()))
    test, train = np.unravel_index(int(plane.mean.argmax()), plane.mean.shape)
    assert result.test_times is not None
    for how, at in (("tested", result.test_times[test]), ("trained", result.train_times[train])):
        assert found[f"amplitude generalization: peak {how} at"].value == pytest.approx(1000 * at)


def test_one_participant_has_no_interval_and_other_summaries_no_findings() -> None:
    found = study_findings(summary_of(kind_result(participants=1)))
    assert found is not None
    best = found["amplitude over time: best of each participant"]
    assert (best.lower, best.upper, best.interval) == (None, None, "")
    assert study_findings({"panel": "x", "findings": []}) is None
    assert study_findings({"study": "x"}) is None


def test_peaks_are_the_largest_means_and_scores_and_plain_data() -> None:
    result = kind_result()
    found, plane = group_findings(result), plane_of(result)
    assert result.test_times is not None
    assert found["curve"]["peak"] == result.curve.mean.max()
    assert found["curve"]["peak_time"] == result.train_times[result.curve.mean.argmax()]
    test, train = np.argwhere(plane.mean == plane.mean.max())[0]
    assert found["generalization"]["peak_train_time"] == result.train_times[train]
    assert found["generalization"]["peak_test_time"] == result.test_times[test]
    for index, row in enumerate(participant_table(result)):
        assert row["participant"] == f"s{index + 1:02d}"
        assert row["peak"] == max(result.curve.scores[index])
        assert row["generalization_peak"] == plane.scores[index].max()
        assert row["chance"] == CHANCE
    again = json.loads(json.dumps([group_findings(result), participant_table(result)], allow_nan=False))
    assert again == [group_findings(result), participant_table(result)]


@pytest.mark.filterwarnings("ignore:S1, ")
def test_warnings_and_the_file_are_on_the_page(tmp_path: Path) -> None:
    known = {**recording(tmp_path), "warnings": ["Cz is flat", "a trial is there twice"]}
    content = report_content(kind_result(test_bins=None), recordings=(known,))
    page = Page(html_of_report(content))
    assert "Cz is flat; a trial is there twice" in page.text
    assert "tables/recordings.csv" in [link.get("href") for link in page.all("a")]
    (line,) = csv.DictReader(io.StringIO(recordings_table(content).content))
    assert line["warnings"] == "Cz is flat; a trial is there twice"


def test_each_map_has_the_words_of_its_own_null_and_what_is_known_of_its_level() -> None:
    said = captions(with_nulls("retrained", "test-labels"))
    assert f"499 {NULLS['retrained']}" in said["decoding_over_time"]
    assert f"499 {NULLS['test-labels']}" in said["generalization"]
    assert re.search(f"499 {NULLS['retrained']} .*499 {NULLS['test-labels']}", said["null_distribution"])
    kind = with_nulls("test-labels", "test-labels")
    assert limits(report_content(kind, replace(kind, kind="power"))).count(TEST_LABELS) == 1
    for exact in ("", "retrained", "training-labels"):
        assert not any("noise" in each for each in limits(report_content(with_nulls(exact, exact))))


def test_p_that_is_too_small_and_single_bins_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    plain = kind_result(participants=1)
    mild = replace(plain, curve=replace(plain.curve, note=f"One. {SHARED_TRAINING}"))
    for result, warned in ((plain, False), (mild, True)):
        found = group_findings(result)
        curve, *others = findings(result)
        assert found["curve"]["significant"]
        assert ("p is too small" in curve) == warned
        assert not any("p is too small" in each for each in others)
        _print_tables([{"kind": result.kind, "group": found, "participants": []}])
        said = " ".join(capsys.readouterr().out.split())
        assert ("p is too small" in said) == warned
        assert re.search("p = {p:.3g} .*{p_max:.3g}".format(**found["curve"]), said)
    plain = kind_result(participants=1)
    none = np.zeros_like(plain.curve.significant)
    found = group_findings(replace(plain, curve=replace(plain.curve, significant=none)))
    assert found["curve"]["p_max"] <= found["alpha"]
    _print_tables([{"kind": plain.kind, "group": found, "participants": []}])
    assert "over time: significant in single bins, in no cluster (" in capsys.readouterr().out
