"""Figures and tables beside the statistics: legible in every size, and showing the numbers that there are."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import first_cases
from figure_texts import check_texts, texts
from report_synthetic import CHANNELS, details, evoked, kind_result
from scipy import stats as scipy_stats

from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import p_alone
from shortloop.eeg.report.page import SECTIONS, findings
from shortloop.eeg.report.potentials import EVOKED, courses, evoked_figure
from shortloop.eeg.report.sections.decoding import CONFUSIONS as CONFUSION
from shortloop.eeg.report.sections.decoding import confusion_matrices
from shortloop.eeg.report.sections.patterns import ACTIVATION as PATTERNS
from shortloop.eeg.report.sections.patterns import (
    SELECTED,
    activation_patterns,
    selected_features,
    shown_bins,
)
from shortloop.eeg.report.sections.tables import best_scores, effects
from shortloop.eeg.report.sensors import known_names
from shortloop.eeg.report.summary import cohens_d, effect_at, effect_parts, effect_text
from shortloop.eeg.score import Score

UNKNOWN = tuple(f"E{number}" for number in range(1, 65))


def all_kept(result: KindResult) -> KindResult:
    """The same, where at some times every feature of a channel is kept."""
    assert result.patterns is not None
    kept = np.ones_like(np.asarray(result.patterns.kept_channels))
    return replace(result, patterns=replace(result.patterns, kept_channels=kept))


CASES: dict[str, KindResult] = {
    "group": details(kind_result()),
    "one": details(kind_result(participants=1), classes=2),
    "curves": details(kind_result(test_bins=None), classes=7),
    "many classes": details(kind_result(), classes=30),
    "unknown channels": details(kind_result(), channels=UNKNOWN),
    "few channels": details(kind_result(unit="bin"), classes=2, channels=("TP9", "AF7", "AF8", "TP10")),
    "one bin": details(kind_result(bins=1, test_bins=1)),
    "power": details(kind_result("power")),
    "all kept": all_kept(details(kind_result())),
    "power of two classes": details(kind_result("power"), classes=2),
    "power of unknown channels": details(kind_result("power"), channels=UNKNOWN),
}


@pytest.mark.parametrize("draw", [confusion_matrices, activation_patterns, selected_features])
@first_cases(6, "case", CASES)
def test_text_is_legible_inside_and_apart(case: str, draw: Any) -> None:
    figure = draw(CASES[case])
    check_texts(figure, texts(figure))


@pytest.mark.parametrize(
    ("people", "channels", "classes"),
    [(1, ("Cz",), 9), (8, ("Cz",), 2), (1, ("Cz", "Pz"), 2), (8, CHANNELS, 9), (1, CHANNELS, 2)],
)
def test_potentials_are_legible(people: int, channels: tuple[str, ...], classes: int) -> None:
    shown = evoked(people, channels, classes)
    figure = evoked_figure(shown)
    check_texts(figure, texts(figure))
    assert "nan" not in EVOKED.alt(shown)
    assert EVOKED.caption(shown, {}).endswith(".")


def test_features_without_channels_have_a_curve_alone() -> None:
    result = details(kind_result(), channels=())
    assert not PATTERNS.applies(result)
    figure = selected_features(result)
    check_texts(figure, texts(figure))
    assert len(figure.axes) == 1


def test_confusions_are_shares_of_each_true_class() -> None:
    result = CASES["group"]
    axes = confusion_matrices(result).axes
    for panel, confusion in zip(axes, result.confusions):
        (image,) = panel.images
        expected = 100 * confusion.counts / confusion.counts.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(np.asarray(image.get_array()), expected)
        assert [text.get_text() for text in panel.texts] == [f"{share:.0f}" for share in expected.flat]
    assert "class 0" in CONFUSION.alt(result)
    empty = replace(result.confusions[0], counts=np.array([[0.0, 0, 0], [1, 1, 0], [0, 0, 2]]))
    figure = confusion_matrices(replace(result, confusions=(empty,)))
    assert "nan" not in " ".join(text.get_text() for text in texts(figure))


def test_topographies_are_of_the_bins_around_the_peak() -> None:
    result = CASES["group"]
    bins = shown_bins(result)
    assert int(np.argmax(result.curve.mean)) in bins
    assert {*bins} <= set(range(2, 9))  # the effect
    assert (min(bins), max(bins)) == (2, 8)
    nothing = replace(result.curve, significant=np.zeros(12, dtype=bool))
    assert (min(shown_bins(replace(result, curve=nothing))), max(shown_bins(result))) == (0, 8)
    titles = [axes.get_title() for axes in activation_patterns(result).axes if axes.get_title()]
    assert titles == [f"{50 * index} ms" for index in bins]


def test_patterns_without_positions_are_channels_by_time() -> None:
    result = CASES["unknown channels"]
    assert result.patterns is not None
    figure = activation_patterns(result)
    maps = [axes.collections[0] for axes in figure.axes[:3]]
    for row, each in enumerate(maps):
        expected = 1e6 * np.asarray(result.patterns.patterns)[:, row].T
        np.testing.assert_allclose(np.asarray(each.get_array()).reshape(64, 12), expected)
    said = PATTERNS.caption(result, {})
    assert "all channels and times" in said
    assert "10-05" not in said


def test_patterns_of_power_are_those_of_frequency_bands_at_the_peak() -> None:
    result = CASES["power"]
    known, peak = result.patterns, int(np.argmax(result.curve.mean))
    assert known is not None
    assert known.of_frequencies is not None
    figure = activation_patterns(result)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["theta\n6 Hz", "alpha\n10 Hz", "beta\n14–26 Hz", "gamma\n30 Hz"]
    bars = [axes for axes in figure.axes if axes.get_xlabel() == "Pattern (µV²)"]
    bands = [slice(0, 1), slice(1, 2), slice(2, 6), slice(6, 7)]  # of 6, 10, 14, 18, 22, 26, 30 Hz
    for bar, band in zip(bars, bands, strict=True):
        most = 1e12 * np.abs(known.of_frequencies[peak][..., band].mean(axis=-1)).max()
        np.testing.assert_allclose(bar.get_xlim(), (-most, most))
    said = PATTERNS.caption(result, {})
    assert f"frequency bands at the peak ({50 * peak} ms)" in said
    figure = activation_patterns(CASES["power of unknown channels"])
    assert figure.axes[0].get_xlabel() == "Frequency (Hz)"
    (image,) = figure.axes[0].collections
    assert np.abs(np.asarray(image.get_array())).max() <= 1


def test_positions_are_those_of_names_in_the_system() -> None:
    known = {"FZ": "Fz", "cz": "Cz", "Pz": "Pz", "EEG Oz": "Oz", "C3-REF": "C3", "C4.": "C4", "Fc5..": "FC5"}
    assert known_names(tuple(known)) == known
    assert known_names(UNKNOWN) == {}
    assert known_names(tuple(f"A{number}" for number in range(1, 33))) == {}  # BioSemi, of which 2 are ears
    assert known_names(("Cz", "Pz", "Oz")) == {}
    assert known_names(("Cz", "CZ", "Pz", "Oz", "C3", "C4", "Fz")) == {}  # two at one place
    some = (*CHANNELS, "X1", "X2")
    assert [*known_names(some)] == [*CHANNELS]
    said = PATTERNS.caption(details(kind_result(), channels=some), {})
    assert "(none for X1 and X2)" in said


def test_captions_say_what_is_there() -> None:
    whole, one = CASES["group"], CASES["one"]
    assert whole.generalization is not None
    none = np.zeros(12, dtype=bool)
    quiet = replace(whole.curve, significant=none, p_max=np.full(12, 0.4), p_cluster=np.full(12, 0.3))
    cells = np.zeros((10, 12), dtype=bool)
    plane = replace(whole.generalization, significant=cells, p_cluster=np.full((10, 12), 0.06))
    nothing = replace(whole, curve=quiet, generalization=plane, test_phase="study")

    def caption(name: str, result: KindResult) -> str:
        (section,) = [each for each in SECTIONS if each.name == name]
        return section.caption(result, {})

    assert "bars below: bins that differ from it" in caption("decoding_over_time", whole)
    assert "outlined: significant clusters" in caption("generalization", whole)
    assert "from study to test" in caption("participants", whole)
    assert "across time within study" in caption("participants", nothing)
    assert "other times of the effect," in caption("patterns", whole)
    assert "other times, at" in caption("patterns", nothing)
    assert "taken for class 1 rather than for class 0" in caption("patterns", one)
    assert "participants" not in caption("selected_features", one)
    said = findings(nothing)
    assert "did not differ significantly from chance anywhere (smallest corrected p = 0.300 by" in said[0]
    assert "differed from chance in no cluster (smallest corrected p = 0.060), but in single bins" in said[1]
    assert "by the maximum statistic (p = 0.004)" in said[1]


def test_no_p_is_printed_as_zero() -> None:
    assert (p_alone(0.0002), p_alone(0.0123)) == ("< 0.001", "0.012")


def test_what_is_kept_is_drawn_in_percent() -> None:
    result = CASES["group"]
    axes = selected_features(result).axes[0]
    thick = max(axes.lines, key=lambda line: line.get_linewidth())
    assert result.patterns is not None
    np.testing.assert_allclose(np.asarray(thick.get_ydata(), float), 100 * result.patterns.kept.mean(axis=0))
    all_kept = replace(result.patterns, kept=np.ones_like(result.patterns.kept))
    assert not SELECTED.applies(replace(result, patterns=all_kept))


def test_potentials_have_intervals_over_participants_or_trials() -> None:
    shown = evoked()
    power, *channels = courses(shown)
    assert power.name == "Global field power"
    assert {each.name for each in channels} == {"Oz", "C3", "C4", "P7", "P8"}  # where the bump is largest
    at = CHANNELS.index("P8")
    for label in range(3):
        values = shown.means[:, label, at]
        low, high = scipy_stats.t.interval(0.95, 7, values.mean(axis=0), scipy_stats.sem(values, axis=0))
        found = channels[-1]
        np.testing.assert_allclose(found.mean[label], values.mean(axis=0))
        np.testing.assert_allclose(found.low[label], low)
        np.testing.assert_allclose(found.high[label], high)
    np.testing.assert_allclose(power.mean, shown.means.std(axis=2).mean(axis=0))
    two = replace(evoked(2), means=evoked(2).means * np.array([1, 9])[:, None, None, None])
    assert courses(two)[0].low.min() == 0.0  # no power is negative, however wide its interval
    alone = evoked(1)
    power, *channels = courses(alone)
    assert np.isnan(power.low).all()
    half = 2e-7 * scipy_stats.t.ppf(0.975, 39)
    np.testing.assert_allclose(channels[0].high - channels[0].mean, half)


def test_a_class_without_trials_is_left_out() -> None:
    shown = evoked()
    shown.means[2:5, 1] = np.nan
    low = courses(shown)[1].low
    assert np.isfinite(low).all()
    shown.means[:, 1] = np.nan
    found = courses(shown)
    assert np.isnan(found[0].mean[1]).all()
    assert np.isfinite(found[0].mean[0]).all()
    evoked_figure(shown)


def test_the_numbers_of_potentials_are_in_a_file() -> None:
    shown = evoked(channels=("Cz", "Pz"))
    rows = list(csv.DictReader(io.StringIO(EVOKED.numbers(shown))))
    assert len(rows) == 3 * 3 * 200
    last = rows[-1]
    assert (last["channel"], last["class"]) == ("Pz", "class 2")
    assert float(last["mean (µV)"]) == pytest.approx(1e6 * shown.means[:, 2, 1, -1].mean(), rel=1e-5)


@pytest.mark.parametrize(("score", "points"), [("balanced-accuracy", 1.0), ("auc", 100.0)])
def test_scores_that_do_not_differ_have_no_effect_size(score: Score, points: float) -> None:
    chance = 50 / points
    scores = chance + np.array([[50, 10, 0.0], [50, 10, 0.0], [50, 10.1, 0.1]]) / points
    null = np.random.default_rng(0).normal(chance, 1 / points, (3, 19, 3))
    settings = GroupSettings(smooth=0.0)
    stats = group_statistics(scores, list(null), chance=chance, settings=settings, score=score)
    assert effect_at(stats, (0,)) is None  # all of them decode without an error
    for cell in (1, 2):
        effect, values = effect_at(stats, (cell,)), scores[:, cell] - chance
        assert effect is not None
        assert effect["d"] == pytest.approx(values.mean() / values.std(ddof=1))


def test_potentials_say_which_baseline_they_lost() -> None:
    shown = replace(evoked(3), baseline=None)
    assert "no baseline subtracted" in EVOKED.caption(shown, {})
    imported = {"input": {"preprocessing": {"baseline": [-0.1, 0.0]}}}
    assert "the mean of −100 to 0 ms subtracted" in EVOKED.caption(shown, imported)


@pytest.mark.parametrize(("t", "n"), [(0.5, 8), (2.0, 4), (5.0, 18), (-3.1, 18), (40.0, 8)])
def test_effect_sizes_have_exact_intervals(t: float, n: int) -> None:
    """The noncentrality at which t is as far out as the level says."""
    effect = cohens_d(t, n)
    assert effect["d"] == pytest.approx(t / np.sqrt(n))
    assert effect["low"] is not None
    assert effect["high"] is not None
    assert scipy_stats.nct.cdf(t, n - 1, effect["low"] * np.sqrt(n)) == pytest.approx(0.975, abs=1e-4)
    assert scipy_stats.nct.cdf(t, n - 1, effect["high"] * np.sqrt(n)) == pytest.approx(0.025, abs=1e-4)


def test_effect_sizes_of_scores_are_those_of_participants() -> None:
    result = kind_result()
    row = next(row for row in effects(result).rows if row.name == "Decoding in study")
    peak = int(np.argmax(result.curve.mean))
    scores = result.curve.scores[:, peak] - result.curve.chance
    assert row.cells[0] == "above"
    assert row.cells[1] == "100 to 400 ms"
    assert row.cells[5].startswith(f"{scores.mean() / scores.std(ddof=1):.2f} (")
    below = effects(kind_result(effect=-9.0))
    assert below.rows[0].cells[0] == "below"
    lowest = kind_result(effect=-9.0).curve.mean.min()
    assert below.rows[0].cells[3] == f"{lowest:.1f} %"
    nothing = kind_result(bins=2, test_bins=2)
    assert effects(nothing).rows[0].cells[0] == "not significant"
    assert "Cohen" not in " ".join(effects(kind_result(participants=1)).columns)
    assert effect_text({"d": -1.25, "low": None, "high": 2.0}) == " (Cohen's d = −1.25)"
    lines = list(csv.DictReader(io.StringIO(effects(result).content)))
    assert [line["scores"] for line in lines] == ["decoding", "generalization"]
    assert float(lines[0]["d"]) == pytest.approx(scores.mean() / scores.std(ddof=1))


def test_each_participant_has_an_interval_and_a_p() -> None:
    result = details(kind_result())
    table = best_scores(result)
    assert table.columns == (
        *("Decoding in study (%)", "95 % interval", "at (ms)", "p"),
        *("Generalization to test (%)", "95 % interval", "trained at (ms)", "tested at (ms)", "p"),
    )
    best = result.curve.scores[0].max()
    assert table.rows[0].cells[:2] == (f"{best:.1f}", f"{best - 5:.1f} to {best + 5:.1f}")
    assert table.rows[0].cells[3] == "0.004"
    assert result.generalization is not None
    peak = result.generalization.scores[0].max()
    assert table.rows[0].cells[4:6] == (f"{peak:.1f}", f"{peak - 6:.1f} to {peak + 7:.1f}")
    assert "2,000 samples of the trials" in table.caption
    lines = list(csv.DictReader(io.StringIO(table.content)))
    assert [line["participant"] for line in lines] == list(result.participants)
    assert float(lines[0]["low"]) == pytest.approx(best - 5)


def test_effects_of_participants_that_hardly_differ_have_no_digits() -> None:
    assert effect_text({"d": 23334.43, "low": 3713.2, "high": 45449.2}) == " (Cohen's d > 100)"
    assert effect_parts({"d": -2e9, "low": None, "high": None}) == ("< −100", "")
    assert effect_parts({"d": -1.2, "low": -2.0, "high": -0.35}) == ("−1.20", "−2.00 to −0.35")
