"""Figures and tables beside the statistics: legible in every size, and showing the numbers that there are."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from cases import first_cases
from figure_texts import check_texts, texts
from fontTools import subset
from fontTools.ttLib import TTFont
from PIL import Image
from report_synthetic import CHANCE, CHANNELS, details, evoked, kind_result, patterns_of, plane_of
from scipy import stats as scipy_stats

from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import p_alone
from shortloop.eeg.report.potentials import EVOKED, courses, evoked_figure
from shortloop.eeg.report.sections.decoding import CONFUSIONS as CONFUSION
from shortloop.eeg.report.sections.decoding import confusion_matrices, decoding_over_time, generalization_map
from shortloop.eeg.report.sections.null_distribution import null_distribution
from shortloop.eeg.report.sections.participants import participant_maps
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
from shortloop.eeg.score_names import Score
from shortloop.report.style import DPI, WIDTH, save

UNKNOWN = tuple(f"E{number}" for number in range(1, 65))


def all_kept(result: KindResult) -> KindResult:
    """The same, where at some times every feature of a channel is kept."""
    patterns = patterns_of(result)
    kept = np.ones_like(np.asarray(patterns.kept_channels))
    return replace(result, patterns=replace(patterns, kept_channels=kept))


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


def test_confusions_are_shares_of_each_true_class() -> None:
    result = CASES["group"]
    for panel, confusion in zip(confusion_matrices(result).axes, result.confusions):
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
    figure = activation_patterns(result)
    for row, each in enumerate([axes.collections[0] for axes in figure.axes[:3]]):
        expected = 1e6 * np.asarray(patterns_of(result).patterns)[:, row].T
        np.testing.assert_allclose(np.asarray(each.get_array()).reshape(64, 12), expected)
    assert "10-05" not in PATTERNS.caption(result, {})


def test_patterns_of_power_are_those_of_frequency_bands_at_the_peak() -> None:
    result = CASES["power"]
    frequencies = np.asarray(patterns_of(result).of_frequencies)
    peak, figure = int(np.argmax(result.curve.mean)), activation_patterns(result)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["theta\n6 Hz", "alpha\n10 Hz", "beta\n14–26 Hz", "gamma\n30 Hz"]
    bars = [axes for axes in figure.axes if axes.get_xlabel() == "Pattern (µV²)"]
    bands = [slice(0, 1), slice(1, 2), slice(2, 6), slice(6, 7)]  # of 6, 10, 14, 18, 22, 26, 30 Hz
    for bar, band in zip(bars, bands, strict=True):
        most = 1e12 * np.abs(frequencies[peak][..., band].mean(axis=-1)).max()
        np.testing.assert_allclose(bar.get_xlim(), (-most, most))
    assert f"({50 * peak} ms)" in PATTERNS.caption(result, {})
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
    assert "(none for X1 and X2)" in PATTERNS.caption(details(kind_result(), channels=some), {})


def test_small_p_and_large_effects_have_no_digits() -> None:
    assert (p_alone(0.0002), p_alone(0.0123)) == ("< 0.001", "0.012")
    assert effect_text({"d": 23334.43, "low": 3713.2, "high": 45449.2}) == " (Cohen's d > 100)"
    assert effect_parts({"d": -2e9, "low": None, "high": None}) == ("< −100", "")
    assert effect_parts({"d": -1.2, "low": -2.0, "high": -0.35}) == ("−1.20", "−2.00 to −0.35")


def test_what_is_kept_is_drawn_in_percent_also_without_channels() -> None:
    result = CASES["group"]
    thick = max(selected_features(result).axes[0].lines, key=lambda line: line.get_linewidth())
    patterns = patterns_of(result)
    np.testing.assert_allclose(np.asarray(thick.get_ydata(), float), 100 * patterns.kept.mean(axis=0))
    all_kept = replace(patterns, kept=np.ones_like(patterns.kept))
    assert not SELECTED.applies(replace(result, patterns=all_kept))
    result = details(kind_result(), channels=())
    assert not PATTERNS.applies(result)
    figure = selected_features(result)
    check_texts(figure, texts(figure))
    assert len(figure.axes) == 1


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
    power, *channels = courses(evoked(1))
    assert np.isnan(power.low).all()
    half = 2e-7 * scipy_stats.t.ppf(0.975, 39)
    np.testing.assert_allclose(channels[0].high - channels[0].mean, half)


def test_a_class_without_trials_is_left_out() -> None:
    shown = evoked()
    shown.means[2:5, 1] = np.nan
    assert np.isfinite(courses(shown)[1].low).all()
    shown.means[:, 1] = np.nan
    found = courses(shown)
    assert np.isnan(found[0].mean[1]).all()
    assert np.isfinite(found[0].mean[0]).all()
    evoked_figure(shown)


def test_the_numbers_of_potentials_are_in_a_file_and_their_baseline_in_words() -> None:
    shown = evoked(channels=("Cz", "Pz"))
    rows = list(csv.DictReader(io.StringIO(EVOKED.numbers(shown))))
    assert len(rows) == 3 * 3 * 200
    last = rows[-1]
    assert (last["channel"], last["class"]) == ("Pz", "class 2")
    assert float(last["mean (µV)"]) == pytest.approx(1e6 * shown.means[:, 2, 1, -1].mean(), rel=1e-5)
    shown = replace(evoked(3), baseline=None)
    assert "no baseline" in EVOKED.caption(shown, {})
    imported = {"input": {"preprocessing": {"baseline": [-0.1, 0.0]}}}
    assert "mean of −100 to 0 ms" in EVOKED.caption(shown, imported)


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


@pytest.mark.parametrize(("t", "n"), [(0.5, 8), (2.0, 4), (5.0, 18), (-3.1, 18), (40.0, 8)])
def test_effect_sizes_have_exact_intervals(t: float, n: int) -> None:
    """The noncentrality at which t is as far out as the level says."""
    effect: Any = cohens_d(t, n)
    assert effect["d"] == pytest.approx(t / np.sqrt(n))
    assert scipy_stats.nct.cdf(t, n - 1, effect["low"] * np.sqrt(n)) == pytest.approx(0.975, abs=1e-4)
    assert scipy_stats.nct.cdf(t, n - 1, effect["high"] * np.sqrt(n)) == pytest.approx(0.025, abs=1e-4)


def test_effect_sizes_of_scores_are_those_of_participants() -> None:
    result = kind_result()
    row = next(row for row in effects(result).rows if row.name == "Decoding in study")
    scores = result.curve.scores[:, int(np.argmax(result.curve.mean))] - result.curve.chance
    assert (row.cells[0], row.cells[1]) == ("above", "100 to 400 ms")
    assert row.cells[5].startswith(f"{scores.mean() / scores.std(ddof=1):.2f} (")
    below = effects(kind_result(effect=-9.0))
    assert below.rows[0].cells[0] == "below"
    lowest = kind_result(effect=-9.0).curve.mean.min()
    assert below.rows[0].cells[3] == f"{lowest:.1f} %"
    assert effects(kind_result(bins=2, test_bins=2)).rows[0].cells[0] == "not significant"
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
    peak = plane_of(result).scores[0].max()
    assert table.rows[0].cells[4:6] == (f"{peak:.1f}", f"{peak - 6:.1f} to {peak + 7:.1f}")
    assert "2,000 samples" in table.caption
    lines = list(csv.DictReader(io.StringIO(table.content)))
    assert [line["participant"] for line in lines] == list(result.participants)
    assert float(lines[0]["low"]) == pytest.approx(best - 5)


NOTE = "With one participant nothing is said of others. " * 3
CASES_FIGURES: dict[str, dict[str, Any]] = {
    "group": {},
    "one participant": {"participants": ("sub-with-a-very-long-name-000123",), "note": NOTE},
    "4 participants": {"participants": 4, "test_phase": "a-very-long-name-of-a-phase"},
    "18 participants": {"participants": 18},
    "31 participants": {"participants": 31, "bins": 30},
    "18 curves": {"participants": 18, "test_bins": None, "bins": 41},
    "no generalization": {"participants": 5, "test_bins": None},
    "bins": {"unit": "bin", "participants": 3},
    "one bin": {"bins": 1, "test_bins": 1, "participants": 2},
    "odd names": {"participants": ("a$b", "x_y^z$"), "train_phase": "st$dy", "test_phase": "phase of words"},
    "long test": {"bins": 6, "test_bins": 30, "participants": 6},
}
DRAW = (decoding_over_time, generalization_map, participant_maps, null_distribution)


@pytest.mark.parametrize("draw", DRAW, ids=lambda draw: draw.__name__)
@first_cases(6, "case", CASES_FIGURES)
def test_text_is_legible_inside_and_apart_of_figures(case: str, draw: Any) -> None:
    result = kind_result(**CASES_FIGURES[case])
    if draw is generalization_map and result.generalization is None:
        pytest.skip("there is no map to draw")
    figure = draw(result)
    drawn = texts(figure)
    assert len(drawn) > 8
    check_texts(figure, drawn)


def test_the_mean_chance_and_bars_are_where_they_are() -> None:
    result = kind_result()
    axes = decoding_over_time(result).axes[0]
    low, high = axes.get_ylim()
    assert low + 0.105 * (high - low) < result.curve.scores.min()  # bars lie below all data
    thick = max(axes.lines, key=lambda line: line.get_linewidth())
    np.testing.assert_allclose(np.asarray(thick.get_xdata(), float), result.train_times * 1000)
    np.testing.assert_allclose(np.asarray(thick.get_ydata(), float), result.curve.mean)
    assert [line for line in axes.lines if np.allclose(np.asarray(line.get_ydata(), float), CHANCE)]
    bars = [item for item in axes.collections if str(item.get_label()).endswith("clusters")]
    spans = np.concatenate([np.asarray(path.vertices, float)[:, 0] for path in bars[0].get_paths()])
    # Bins 2 to 8, to the edges of their cells.
    np.testing.assert_allclose([spans.min(), spans.max()], [75, 425])


def test_maps_are_centred_at_chance_not_transposed_and_outlined() -> None:
    result = kind_result()
    figure = generalization_map(result)
    image, segments = figure.axes[0].images[0], _outlines(figure)
    assert np.mean(np.array(image.get_clim(), float)) == pytest.approx(CHANCE)
    np.testing.assert_array_equal(np.asarray(image.get_array()), plane_of(result).mean)
    points = np.array(segments).reshape(-1, 2)
    # Training bins 2 to 8 (100 to 400 ms), test bins 3 to 6 (150 to 300 ms), 50 ms wide.
    np.testing.assert_allclose([points[:, 0].min(), points[:, 0].max()], [75, 425])
    np.testing.assert_allclose([points[:, 1].min(), points[:, 1].max()], [125, 325])
    assert len(segments) == 2 * (7 + 4)


def test_each_map_is_below_its_name_and_not_transposed_all_on_one_scale() -> None:
    result = kind_result(participants=7)
    page, maps = participant_maps(result).axes[0], plane_of(result).scores
    assert len({image.get_clim() for image in page.images}) == 1
    names = {text.get_text(): text.get_position() for text in page.texts}
    for name, image, scores in zip(result.participants, page.images, maps, strict=True):
        left, right, _, top = image.get_extent()
        assert left <= names[name][0] < right
        assert 0 < names[name][1] - top < 0.1
        np.testing.assert_array_equal(np.asarray(image.get_array()), scores)
        assert image.origin == "lower"


def test_curves_are_drawn_on_the_scale_of_their_labels() -> None:
    result = kind_result(participants=3, test_bins=None)
    page = participant_maps(result).axes[0]
    ticks = [text for text in page.texts if text.get_horizontalalignment() == "right"]
    at, shown = [text.get_position()[1] for text in ticks], [float(text.get_text()) for text in ticks]
    lines = [[np.asarray(path.vertices) for path in item.get_paths()] for item in page.collections]
    (curves,) = (points for points in lines if len(points[0]) == len(result.train_times))
    scores = [np.polyval(np.polyfit(at, shown, 1), points[:, 1]) for points in curves]
    np.testing.assert_allclose(scores, result.curve.scores, rtol=1e-6)


def test_files_open_and_have_their_size_text_and_fonts(tmp_path: Path) -> None:
    load = subset.load_font
    png, pdf, svg = save(decoding_over_time(kind_result()), tmp_path, "curve")
    assert subset.load_font is load
    with Image.open(png) as image:
        image.load()
        assert image.width == round(WIDTH * DPI)
        assert image.convert("L").getextrema() == (0, 255)
    written = pdf.read_bytes()
    assert written.startswith(b"%PDF-")
    assert written.rstrip().endswith(b"%%EOF")
    assert b"/FontFile2" in written  # TrueType
    assert b"/Type3" not in written
    root = ElementTree.parse(svg).getroot()
    words = " ".join("".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "Amplitude: decoding over time, group of 8" in words
    assert float(str(root.get("width")).removesuffix("pt")) == pytest.approx(72 * WIDTH, rel=1e-3)
    fonts = []
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", written, re.DOTALL):
        with contextlib.suppress(zlib.error):
            content = zlib.decompress(stream)
            if content.startswith(b"\0\1\0\0"):
                fonts.append(TTFont(io.BytesIO(content)))
    assert len(fonts) >= 2  # the title is bold
    for font in fonts:
        assert 1 < len(font.getGlyphOrder()) < 100
        assert {"glyf", "loca", "hmtx"} <= set(font.keys())
        assert not {"GSUB", "GPOS", "kern"} & set(font.keys())


def test_settings_of_the_user_are_neither_used_nor_changed() -> None:
    import matplotlib

    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9}):
        figure = decoding_over_time(kind_result())
        assert matplotlib.rcParams["font.size"] == 30
    assert max(text.get_fontsize() for text in texts(figure)) < 12


def _outlines(figure: Any) -> list[Any]:
    lines = [item for item in figure.axes[0].collections if item.get_gid() == "outline"]
    return [] if not lines else [np.asarray(path.vertices) for path in lines[0].get_paths()]


def test_nulls_without_spread_can_be_drawn() -> None:
    # Of two participants, the largest |t| may be the same in every permutation, but for rounding.
    result = kind_result(participants=2)
    null = np.where(np.arange(39) % 2, 1.0, 1.0 - 2e-16)
    curve = replace(result.curve, null_max=null, null_mass=np.zeros(39))
    assert null_distribution(replace(result, curve=curve)).axes
    plane = plane_of(kind_result())
    plane.t[2:5, 2:6] = 40_000.0
    shown = replace(kind_result(), generalization=plane)
    assert generalization_map(shown).axes[1].images[0].get_clim() == (-50.0, 50.0)


@pytest.mark.parametrize("factor", [1000.0, 1e6])
def test_what_is_seen_far_from_the_null_leaves_room_for_it(factor: float) -> None:
    plain = kind_result(test_bins=None)
    stats = replace(plain.curve, t=plain.curve.t * factor)
    far = replace(plain, curve=stats)
    figure = null_distribution(far)
    check_texts(figure, texts(figure))
    for axes, null in zip(figure.axes, (stats.null_max, stats.null_mass), strict=True):
        assert null.max() > 0.1 * axes.get_xlim()[1]
    one = np.append(stats.null_max[:-1], 1e6)  # the null may have such values, too
    figure = null_distribution(replace(far, curve=replace(stats, null_max=one)))
    assert np.median(one) > 0.05 * figure.axes[0].get_xlim()[1]
    assert f"{np.abs(stats.t).max():,.0f} →" in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize("unit", ["s", "bin"])
def test_one_bin_has_one_tick_and_bins_have_no_event(unit: str) -> None:
    one = details(kind_result(bins=1, test_bins=1, unit=unit, train_times=np.array([0.0])))
    for draw in (decoding_over_time, generalization_map, selected_features):
        for axes in draw(one).axes[:2]:
            ticks = [text.get_text() for text in axes.get_xticklabels()]
            assert ticks == (["0"] if axes.get_xlabel().startswith(("Time", "Bin", "Train")) else ticks)
    drawn = [text.get_text() for text in texts(participant_maps(one))]
    assert drawn.count("0") == 4 + 2  # below each column of panels, and left of each row
    several = kind_result(unit=unit, train_times=np.arange(-3.0, 9.0), test_times=np.arange(-3.0, 7.0))
    for axes in (decoding_over_time(several).axes[0], generalization_map(several).axes[0]):
        assert bool([line for line in axes.lines if line.get_linestyle() == ":"]) == (unit == "s")
