"""Temporal generalization: classifiers of each time applied to each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shortloop.base.types import FloatArray
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.effects import effect_text
from shortloop.eeg.report.labels import (
    generalization_of,
    plane_of,
    score_label,
    score_text,
    title_of,
)
from shortloop.eeg.report.numbers import map_csv
from shortloop.eeg.report.panels import colour_bar, colour_limits, draw_map, map_shape
from shortloop.eeg.report.sections.section import TIMES, Section, SectionFigure
from shortloop.eeg.report.sentences import corrected, during, mean_score, p_text, significance, statistic
from shortloop.eeg.report.summary import group_findings
from shortloop.eeg.report.times import time_scale
from shortloop.report.layout import arrange, short
from shortloop.report.style import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SECTION", "finding", "generalization_map"]

READS = (
    *TIMES,
    "curve.level",
    "test_phase",
    "train_phase",
    "generalization.alpha",
    "generalization.chance",
    "generalization.expected",
    "generalization.level",
    "generalization.mean",
    "generalization.note",
    "generalization.score",
    "generalization.significant",
    "generalization.t",
)
LARGEST = 50.0
"""t or z at the ends of a scale of colours: all larger ones say the same."""


def finding(result: KindResult) -> str:
    """Where generalization differs from chance, and where it is best."""
    found, scale = group_findings(result), time_scale(result)
    plane = found["generalization"]
    regions = [
        f"{region['direction']} chance for training {during(scale, *region['train'])} and testing "
        f"{during(scale, *region['test'])} ({p_text(region['p'])})"
        for region in plane["regions"]
    ]
    to = f"from {result.train_phase} to {result.test_phase}"
    if result.train_phase == result.test_phase:
        to = f"across time within {result.train_phase}"
    start = f"{result.kind.capitalize()}, generalization {to}: decoding"
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
    """Temporal generalization: mean score and its statistic, with the significant region outlined.

    King & Dehaene (2014), Trends Cogn. Sci. 18:203-210.
    """
    stats, scale = generalization_of(result), time_scale(result)
    x_edges, y_edges = plane_of(result, scale)
    test_times = result.train_times if result.test_times is None else result.test_times
    alone = stats.level == "participant"
    letter = "z" if alone else "t"
    key = "Dashed: same time in training and testing."
    if stats.significant.any():
        key = f"Outlined: p ≤ {stats.alpha:g}, cluster-corrected. {key}"
    with styled():
        figure = new_figure()
        left, right = panels = list(figure.subplots(1, 2))
        maps = [
            (stats.mean, colour_limits(stats.mean, stats.chance), score_label(stats)),
            # A few cells in which all participants agree can have a t of thousands.
            (stats.t, _limits(stats.t), f"{letter} value"),
        ]
        images = []
        for axes, (values, limits, _) in zip(panels, maps):
            images.append(draw_map(axes, values, x_edges, y_edges, limits, stats.significant, scale))
            axes.set_xlabel(scale.label("Training", short(result.train_phase, 16)))
            scale.ticks(axes.xaxis, result.train_times, 6)
            scale.ticks(axes.yaxis, test_times, 6)
        left.set_title("Smoothed score" if alone else "Mean score")
        right.set_title(f"{letter} against chance")
        left.set_ylabel(scale.label("Testing", short(result.test_phase, 16)))
        right.tick_params(labelleft=False)
        title, note = title_of(result, "temporal generalization"), f"{key} {stats.note}"
        shape = map_shape(x_edges, y_edges)
        area = arrange(figure, panels, 2, title, note, height=2.6, shape=shape, below=0.62)
        high = figure.get_figheight()
        for axes, image, (_, limits, label) in zip(panels, images, maps):
            frame = axes.get_position()
            place = frame.x0, (area.y0 - 0.16) / high, frame.width, 0.09 / high
            colour_bar(image, place, limits, label)
    return figure


def _limits(values: FloatArray) -> tuple[float, float, bool]:
    # Where participants hardly differ, at the ceiling of a score, some are in the thousands.
    low, high, outside = colour_limits(values, 0.0, 99.0)
    return max(low, -LARGEST), min(high, LARGEST), outside or high > LARGEST


def _applies(result: KindResult) -> bool:
    return result.generalization is not None


def _caption(result: KindResult, settings: dict[str, Any]) -> str:
    stats = result.generalization or result.curve
    left = "score" if result.curve.level == "participant" else "mean over participants"
    smoothed = ", smoothed" if result.smoothed else ""
    outlined = "Outlined cells belong to significant clusters. " if stats.significant.any() else ""
    return (
        f"Classifiers trained on each time bin of {result.train_phase} (x) decode each time bin of "
        f"{result.test_phase} (y) from {result.kind} features. Left: {left}{smoothed}; right: "
        f"{statistic(result)}. {outlined}{corrected(stats, settings)}"
    )


SECTION = Section(
    "generalization",
    "Temporal generalization",
    _applies,
    finding,
    SectionFigure(generalization_map, READS, _caption, alt=finding, numbers=map_csv),
)
