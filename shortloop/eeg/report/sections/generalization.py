"""Temporal generalization: classifiers of each time applied to all times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shortloop.base.types import FloatArray
from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import letter_of, p_text, score_label, score_text
from shortloop.eeg.report.panels import Limits, colour_bar_below, colour_limits, draw_map, map_shape
from shortloop.eeg.report.sections.section import TIMES, Section, SectionFigure, fields_of, title_of
from shortloop.eeg.report.sentences import corrected, during, mean_score, significance, statistic, transfer
from shortloop.eeg.report.summary import effect_text, group_findings, statistics_csv
from shortloop.eeg.report.times import plane_of, time_scale
from shortloop.report.layout import arrange, short
from shortloop.report.style import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAP = "alpha chance expected level mean note score significant t"
READS = (*TIMES, "curve.level", "smoothed", "test_phase", "train_phase", *fields_of("generalization", MAP))
LARGEST = 50.0
"""t or z at the ends of a scale of colours: all larger ones say the same."""


def finding(result: KindResult) -> str:
    """Say where generalization differs from chance, and where it is best."""
    found, scale = group_findings(result), time_scale(result)
    plane = found["generalization"]
    regions = [
        f"{region['direction']} chance for training {during(scale, *region['train'])} and testing "
        f"{during(scale, *region['test'])} ({p_text(region['p'])})"
        for region in plane["regions"]
    ]
    start = f"{result.kind.capitalize()}, generalization {transfer(result)}: decoding"
    sentence = significance(start, regions, plane, found["alpha"])
    if plane["peak"] is None:
        return sentence
    sentence += (
        f" The {mean_score(result)} was highest for training at "
        f"{scale.point(plane['peak_train_time'])} and testing at {scale.point(plane['peak_test_time'])}, "
        f"{score_text(result.curve.score, plane['peak'])}{effect_text(plane['effect'])}."
    )
    for region in plane["regions"]:
        if region["direction"] == "below":
            sentence += (
                f" Below chance it was lowest for training at {scale.point(region['peak_train_time'])} and "
                f"testing at {scale.point(region['peak_test_time'])}, "
                f"{score_text(result.curve.score, region['peak'])}{effect_text(region['effect'])}."
            )
    return sentence


def generalization_map(result: KindResult) -> Figure:
    """Draw mean scores and their statistic, with the significant region outlined.

    King & Dehaene (2014), Trends Cogn. Sci. 18:203-210.
    """
    stats, scale = _map_of(result), time_scale(result)
    x_edges, y_edges = plane_of(result)
    test_times = result.train_times if result.test_times is None else result.test_times
    letter = letter_of(stats)
    key = "Dashed: same time in training and testing."
    if stats.significant.any():
        key = f"Outlined: p ≤ {stats.alpha:g}, cluster-corrected. {key}"
    with styled():
        figure = new_figure()
        left, right = panels = list(figure.subplots(1, 2))
        maps = [
            (stats.mean, colour_limits(stats.mean, stats.chance), score_label(stats)),
            (stats.t, _limits(stats.t), f"{letter} value"),
        ]
        images = []
        for axes, (values, limits, _) in zip(panels, maps):
            images.append(draw_map(axes, values, x_edges, y_edges, limits, stats.significant, scale))
            axes.set_xlabel(scale.label("Training", short(result.train_phase, 16)))
            scale.ticks(axes.xaxis, result.train_times, 6)
            scale.ticks(axes.yaxis, test_times, 6)
        left.set_title(mean_score(result).capitalize())
        right.set_title(f"{letter} against chance")
        left.set_ylabel(scale.label("Testing", short(result.test_phase, 16)))
        right.tick_params(labelleft=False)
        title, note = title_of(result, "temporal generalization"), f"{key} {stats.note}"
        shape = map_shape(x_edges, y_edges)
        area = arrange(figure, panels, 2, title, note, height=2.6, shape=shape, below=0.62)
        for axes, image, (_, limits, label) in zip(panels, images, maps):
            colour_bar_below(image, axes, area, limits, label)
    return figure


def _map_of(result: KindResult) -> MapStatistics:
    assert result.generalization is not None  # the section applies
    return result.generalization


def _limits(values: FloatArray) -> Limits:
    # At the ceiling of a score, where participants hardly differ, t can be in the thousands.
    low, high, outside = colour_limits(values, 0.0, 99.0)
    return max(low, -LARGEST), min(high, LARGEST), outside or high > LARGEST


def _caption(result: KindResult, settings: dict[str, Any]) -> str:
    stats = _map_of(result)
    left = "score" if result.curve.level == "participant" else "mean over participants"
    smoothed = ", smoothed" if result.smoothed else ""
    outlined = "Outlined cells belong to significant clusters. " if stats.significant.any() else ""
    return (
        f"Classifiers trained on each time bin of {result.train_phase} (x) decode each time bin of "
        f"{result.test_phase} (y) from {result.kind} features. Left: {left}{smoothed}; right: "
        f"{statistic(result)}. {outlined}{corrected(stats, settings)}"
    )


def _csv(result: KindResult) -> str:
    return statistics_csv(result, _map_of(result))


SECTION = Section(
    "generalization",
    "Temporal generalization",
    lambda result: result.generalization is not None,
    finding,
    SectionFigure(generalization_map, READS, _caption, alt=finding, numbers=_csv),
)
