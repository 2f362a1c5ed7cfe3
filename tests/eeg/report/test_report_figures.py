"""Every figure, for every size of study: all text legible and inside, and the data drawn where they are."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from cases import first_cases
from figure_texts import check_texts, texts
from fontTools import subset
from fontTools.ttLib import TTFont
from PIL import Image
from report_synthetic import CHANCE, details, kind_result

from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.sections.decoding import decoding_over_time, generalization_map
from shortloop.eeg.report.sections.null_distribution import SECTION as NULLS
from shortloop.eeg.report.sections.null_distribution import null_distribution
from shortloop.eeg.report.sections.participants import participant_maps
from shortloop.eeg.report.sections.patterns import selected_features
from shortloop.report.style import DPI, WIDTH, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = "With one participant nothing is said of others. " * 3
CASES: dict[str, dict[str, Any]] = {
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
DRAW: tuple[Callable[[KindResult], Figure], ...] = (
    decoding_over_time,
    generalization_map,
    participant_maps,
    null_distribution,
)


@pytest.mark.parametrize("draw", DRAW, ids=lambda draw: draw.__name__)
@first_cases(6, "case", CASES)
def test_text_is_legible_inside_and_apart(case: str, draw: Callable[[KindResult], Figure]) -> None:
    result = kind_result(**CASES[case])
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


def test_nothing_significant_draws_no_bar_and_no_outline() -> None:
    result = kind_result(bins=2, test_bins=2)
    labels = [str(item.get_label()) for item in decoding_over_time(result).axes[0].collections]
    assert not any("p ≤" in label for label in labels)
    assert not _outlines(generalization_map(result))


def test_maps_are_centred_at_chance_not_transposed_and_outlined() -> None:
    result = kind_result()
    assert result.generalization is not None
    figure = generalization_map(result)
    image, segments = figure.axes[0].images[0], _outlines(figure)
    low, high = image.get_clim()
    assert low is not None
    assert high is not None
    assert (low + high) / 2 == pytest.approx(CHANCE)
    np.testing.assert_array_equal(np.asarray(image.get_array()), result.generalization.mean)
    points = np.array(segments).reshape(-1, 2)
    # Training bins 2 to 8 (100 to 400 ms), test bins 3 to 6 (150 to 300 ms), 50 ms wide.
    np.testing.assert_allclose([points[:, 0].min(), points[:, 0].max()], [75, 425])
    np.testing.assert_allclose([points[:, 1].min(), points[:, 1].max()], [125, 325])
    assert len(segments) == 2 * (7 + 4)


def test_each_map_is_below_its_name_and_not_transposed_all_on_one_scale() -> None:
    result = kind_result(participants=7)
    assert result.generalization is not None
    page = participant_maps(result).axes[0]
    assert len({image.get_clim() for image in page.images}) == 1
    names = {text.get_text(): text.get_position() for text in page.texts}
    for name, image, scores in zip(
        result.participants, page.images, result.generalization.scores, strict=True
    ):
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


def test_one_participant_is_named_and_the_note_is_shown() -> None:
    result = kind_result(participants=("P7",), note="One is not many.")
    for figure in (decoding_over_time(result), generalization_map(result)):
        words = " ".join(text.get_text() for text in texts(figure))
        assert "participant P7" in words
        assert "group" not in words
        assert "One is not many." in words


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


def _outlines(figure: Figure) -> list[Any]:
    lines = [item for item in figure.axes[0].collections if item.get_gid() == "outline"]
    return [] if not lines else [np.asarray(path.vertices) for path in lines[0].get_paths()]


def test_a_null_of_one_value_can_be_drawn() -> None:
    # Of two participants, the largest |t| may be the same in every permutation, but for rounding.
    result = kind_result(participants=2)
    null = np.where(np.arange(39) % 2, 1.0, 1.0 - 2e-16)
    curve = dataclasses.replace(result.curve, null_max=null, null_mass=np.zeros(39))
    figure = null_distribution(dataclasses.replace(result, curve=curve))
    assert figure.axes


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
    assert "is drawn at it" in NULLS.caption(far, {})


def test_a_few_cells_without_spread_do_not_take_all_colours() -> None:
    plain = kind_result()
    assert plain.generalization is not None
    t = plain.generalization.t.copy()
    t[2:5, 2:6] = 40_000.0
    shown = replace(plain, generalization=replace(plain.generalization, t=t))
    assert generalization_map(shown).axes[1].images[0].get_clim() == (-50.0, 50.0)


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
        dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
        assert bool(dotted) == (unit == "s")
