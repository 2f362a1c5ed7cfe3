"""Small multiples: what each participant's own data show, all on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortloop.report.content import KindResult
from shortloop.report.labels import (
    SCORE,
    edges_of,
    generalization_of,
    plane_of,
    score_label,
    short,
)
from shortloop.report.panels import colour_bar, colour_limits, draw_map
from shortloop.report.style import BLACK, BLUE, GREY, WIDTH, new_figure, styled
from shortloop.report.times import time_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["participant_maps"]

MARGIN = 1.65  # inches beside the panels: labels and the colour bar
COLUMNS = ((4, 4), (6, 3), (12, 4), (20, 5))  # up to so many participants, so many columns


def participant_maps(result: KindResult) -> Figure:
    """Every participant's own map, or curve where there is no map, on one scale.

    Parameters
    ----------
    result : KindResult

    Returns
    -------
    matplotlib.figure.Figure
        Small multiples; scores are not smoothed.
    """
    count, scale = len(result.participants), time_scale(result)
    columns = min(count, next((number for most, number in COLUMNS if count <= most), 6))
    rows = -(-count // columns)
    maps = result.generalization is not None
    side = (WIDTH - MARGIN) / max(columns, 3) - 0.1
    size = 0.9 + rows * (side * _shape(result) + 0.3), max(MARGIN + columns * (side + 0.1), 4.6)
    who = "one participant" if count == 1 else "each participant"
    title = f"{result.kind.capitalize()}: {'generalization' if maps else 'decoding'}, {who}"
    with styled():
        figure = new_figure(size[0], title, width=size[1])
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        panels = list(grid.ravel()[:count])
        for axes in grid.ravel()[count:]:
            axes.remove()
        (_maps if maps else _curves)(panels, result)
        for index, axes in enumerate(panels):
            axes.set_title(short(result.participants[index], min(56 // columns, 24)), fontsize=9)
            axes.locator_params(axis="x", nbins=3 if columns > 2 else 5, integer=scale.unit == "bin")
            axes.tick_params(labelbottom=index + columns >= count)
        x = scale.label("Training", short(result.train_phase, 16)) if maps else scale.label()
        y = scale.label("Testing", short(result.test_phase, 16)) if maps else SCORE
        if maps and rows == 1 and len(result.test_phase) > 8:
            y = y.replace(", ", ",\n", 1)  # one row of panels is not as high as that label is long
        if count == 1:
            panels[0].set(xlabel=x, ylabel=y)
        else:
            figure.supxlabel(x, fontsize=9.5)
            figure.supylabel(y, fontsize=9.5)
    return figure


def _maps(panels: list[Axes], result: KindResult) -> None:
    stats = generalization_of(result)
    x_edges, y_edges = plane_of(result, time_scale(result))
    limits = colour_limits(stats.scores, stats.chance, 99.5)
    meshes = [draw_map(axes, scores, x_edges, y_edges, limits) for axes, scores in zip(panels, stats.scores)]
    colour_bar(meshes[0], panels, limits, score_label(stats), aspect=30)


def _curves(panels: list[Axes], result: KindResult) -> None:
    scale = time_scale(result)
    times, edges = result.train_times * scale.factor, edges_of(result.train_times, scale)
    for axes, scores in zip(panels, result.curve.scores):
        axes.plot(times, scores, color=BLUE, marker="." if len(scores) == 1 else None)
        axes.axhline(result.curve.chance, color=BLACK, linestyle="--", linewidth=0.9)
        if edges[0] < 0 < edges[-1]:
            axes.axvline(0, color=GREY, linestyle=":", linewidth=0.9)
        axes.set_xlim(edges[0], edges[-1])


def _shape(result: KindResult) -> float:
    # Height of a panel over its width.
    if result.generalization is None:
        return 0.85
    x_edges, y_edges = plane_of(result, time_scale(result))
    return float(np.clip(np.ptp(y_edges) / np.ptp(x_edges), 0.5, 2.0))
