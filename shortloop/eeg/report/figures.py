"""The figures of a report: decoding over time, generalization, participants and null distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import (
    chance_text,
    edges_of,
    generalization_of,
    plane_of,
    score_label,
    score_name,
    short,
    title_of,
)
from shortloop.eeg.report.nulls import null_distribution
from shortloop.eeg.report.panels import colour_bar, colour_limits, confidence_half_width, draw_map, map_shape
from shortloop.eeg.report.participants import participant_maps
from shortloop.eeg.report.times import time_scale
from shortloop.report.layout import PAD, arrange
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, new_figure, styled
from shortloop.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["decoding_over_time", "generalization_map", "null_distribution", "participant_maps"]


def decoding_over_time(result: KindResult) -> Figure:
    """Cross-validated decoding of the training phase over time.

    Parameters
    ----------
    result : KindResult

    Returns
    -------
    matplotlib.figure.Figure
        The mean with its 95 % confidence band, the participants, chance, and what is significant: in one
        row bins of significant clusters, in another bins that exceed the maximum statistic's threshold.
    """
    stats, scale = result.curve, time_scale(result)
    alone = stats.level == "participant"
    edges = edges_of(result.train_times, scale)
    who = f"{short(result.participants[0], 14)}, smoothed" if alone else f"mean of {len(stats.scores)}"
    with styled():
        figure = new_figure()
        axes = figure.subplots()
        times = result.train_times * scale.factor
        _lines(axes, result, times, "not smoothed" if alone else "participants", who)
        dashed: dict[str, Any] = {"color": BLACK, "linestyle": "--", "linewidth": 1.0}
        chance = f"chance, {chance_text(stats)}"
        if stats.expected is None:
            axes.axhline(stats.chance, label=chance, **dashed)
        else:
            axes.plot(times, stats.expected, label=chance, **dashed)
        if edges[0] < 0 < edges[-1]:
            axes.axvline(0, color=GREY, linestyle=":", linewidth=1.0)
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom - 0.16 * (top - bottom), top)
        alpha = f"p ≤ {stats.alpha:g}"
        _bar(axes, edges, stats.significant, 0.075, BLACK, f"{alpha}, clusters")
        _bar(axes, edges, stats.p_max <= stats.alpha, 0.02, VERMILION, f"{alpha}, max. statistic")
        axes.set_xlim(edges[0], edges[-1])
        axes.set(xlabel=scale.label(), ylabel=score_name(stats))
        axes.locator_params(axis="x", nbins=9, integer=scale.unit == "bin")
        axes.set_title(f"Trained and tested in {short(result.train_phase, 18)}, cross-validated")
        legend = figure.legend(loc="center right", borderaxespad=0.3)
        right = legend.get_window_extent().width / figure.dpi + 2 * PAD
        title = title_of(result, "decoding over time")
        arrange(figure, [axes], 1, title, stats.note, height=2.55, right=right)
    return figure


def generalization_map(result: KindResult) -> Figure:
    """Temporal generalization: mean score and its statistic, with the significant region outlined.

    Parameters
    ----------
    result : KindResult
        With a generalization map.

    Returns
    -------
    matplotlib.figure.Figure
        Training time on x, testing time on y.

    Raises
    ------
    ValueError
        If there is no such map.

    Notes
    -----
    King & Dehaene (2014), Trends Cogn. Sci. 18:203-210.
    """
    stats, scale = generalization_of(result), time_scale(result)
    x_edges, y_edges = plane_of(result, scale)
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
            (stats.t, colour_limits(stats.t, 0.0, 99.0), f"{letter} value"),
        ]
        images = []
        for axes, (values, limits, _) in zip(panels, maps):
            images.append(draw_map(axes, values, x_edges, y_edges, limits, stats.significant))
            axes.set_xlabel(scale.label("Training", short(result.train_phase, 16)))
            axes.locator_params(nbins=6, integer=scale.unit == "bin")
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


def _lines(axes: Axes, result: KindResult, times: FloatArray, thin: str, thick: str) -> None:
    stats = result.curve
    marker = "o" if len(times) == 1 else None  # one point makes no line
    for index, scores in enumerate(stats.scores):
        label = thin if index == 0 else None
        axes.plot(times, scores, color=GREY, linewidth=0.7, alpha=0.7, marker=marker, label=label)
    half, name = confidence_half_width(stats), "95 % CI of the mean"
    if np.isfinite(half).any():
        low, high = stats.mean - half, stats.mean + half
        if marker:
            axes.errorbar(times, stats.mean, half, color=BLUE, capsize=4, label=name)
        else:
            axes.fill_between(times, low, high, color=BLUE, alpha=0.25, linewidth=0, label=name)
    axes.plot(times, stats.mean, color=BLUE, linewidth=2.0, marker=marker, label=thick)


def _bar(axes: Axes, edges: FloatArray, mask: Any, height: float, color: str, label: str) -> None:
    # A strip of bins, at a height given as a fraction of the axes, so that it never meets the data.
    spans = [(edges[index], edges[index + 1] - edges[index]) for index in np.flatnonzero(mask)]
    if spans:
        axes.broken_barh(
            spans, (height, 0.03), transform=axes.get_xaxis_transform(), color=color, linewidth=0, label=label
        )
