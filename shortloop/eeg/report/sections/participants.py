"""Small multiples: the map or curve of each participant, all on one scale."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.text import counted, one_line
from shortloop.base.types import FloatArray
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.figure_parts import Limits, colour_bar, colour_limits, draw_cells
from shortloop.eeg.report.labels import SCORES, score_label
from shortloop.eeg.report.sections.section import TIMES, Section, fields_of, transfer
from shortloop.eeg.report.summary import participants_csv
from shortloop.eeg.report.times import TimeScale, edges_of, plane_of, time_scale
from shortloop.report.layout import LINE, PAD, TICK, Multiples, Scale, multiples, short
from shortloop.report.style import BLACK, BLUE, DARK, GREY, WIDTH, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

READ = "chance expected score scores"
COLUMNS = ((4, 4), (6, 3), (12, 4), (20, 5))  # most participants, and their columns
BAR = 0.75  # inches beside the panels: a colour bar and its numbers


def participant_maps(result: KindResult) -> Figure:
    """Draw the map of each participant, or the curve if there is no map, on one scale."""
    count, scale = len(result.participants), time_scale(result)
    columns = min(count, next((number for most, number in COLUMNS if count <= most), 6))
    maps = result.generalization is not None
    x = scale.label("Training", short(result.train_phase, 16)) if maps else scale.label()
    y = scale.label("Testing", short(result.test_phase, 16)) if maps else SCORES[result.curve.score]
    colours = score_label(result.generalization) if result.generalization else ""
    if 1 < count == columns:  # the labels are longer than one row is high
        y, colours = y.replace(", ", ",\n", 1), colours.replace(", ", ",\n", 1)
    title = f"{result.kind.capitalize()}: {'generalization' if maps else 'decoding'}, "
    title += "one participant" if count == 1 else "each participant"
    right = BAR + LINE * len(colours.splitlines()) if maps else 2 * PAD
    margins = PAD + LINE * len(y.splitlines()), right, LINE, LINE + 3 * PAD
    width = max(4.6, WIDTH * min(columns, 3) / 3)
    limits, shape = _limits(result)
    with styled():
        grid = multiples(count, columns, limits, shape, width, margins, scale.unit == "bin")
        grid = replace(grid, x=_ticks(grid.x, result.train_times, scale))
        if maps and result.test_times is not None:
            grid = replace(grid, y=_ticks(grid.y, result.test_times, scale))
        wide, high = grid.page
        figure = new_figure(high, width=wide)
        page = figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(0, high), autoscale_on=False)
        page.set_axis_off()
        middle = (grid.corners.min(axis=0) + grid.corners.max(axis=0) + [grid.width, grid.height]) / 2
        if maps:
            image, shown = _maps(page, grid, result)
            bottom, top = grid.corners[-1, 1], grid.corners[0, 1] + grid.height
            place = (wide - right + 0.15) / wide, bottom / high, 0.1 / wide, (top - bottom) / high
            colour_bar(image, place, shown, colours, figure)
        else:
            _curves(page, grid, result)
        _labels(page, grid, result.participants)
        page.text(middle[0], PAD, x, ha="center", va="bottom", fontsize=9.5)
        page.text(PAD, middle[1], y, ha="left", va="center", ma="center", rotation=90, fontsize=9.5)
        figure.suptitle(one_line(title), x=PAD / wide, y=1 - PAD / high, ha="left", va="top")
    return figure


def _ticks(axis: Scale, times: FloatArray, scale: TimeScale) -> Scale:
    # A single bin has a tick at its centre, and none at its edges.
    if len(times) > 1:
        return axis
    return replace(axis, ticks=times * scale.factor, labels=(scale.number(float(times[0])),))


def _limits(result: KindResult) -> tuple[tuple[float, float, float, float], float]:
    # Limits of both axes, and height over width of a panel.
    if result.generalization is not None:
        x, y = plane_of(result)
        return (x[0], x[-1], y[0], y[-1]), float(np.clip(np.ptp(y) / np.ptp(x), 0.5, 2.0))
    x, stats = edges_of(result.train_times, time_scale(result)), result.curve
    known = np.append(stats.scores[np.isfinite(stats.scores)], stats.chance)
    margin = 0.05 * np.ptp(known) or 1.0
    return (x[0], x[-1], known.min() - margin, known.max() + margin), 0.85


def _maps(page: Axes, grid: Multiples, result: KindResult) -> tuple[Any, Limits]:
    stats = result.generalization
    assert stats is not None  # `_curves` draws the others
    limits = colour_limits(stats.scores, stats.chance, 99.5)
    x, y = plane_of(result)
    columns, rows = grid.inside(x, y[0])[:, 0], grid.inside(x[0], y)[:, 1]
    for (across, up), scores in zip(grid.corners, stats.scores):
        image = draw_cells(page, scores, across + columns, up + rows, limits)
    low, high = max(x[0], y[0]), min(x[-1], y[-1])
    if low < high and stats.scores[0].size > 1:
        _in_all(page, grid, [low, high], [low, high], DARK, 0.9, (0, (5, 3)))
    for edges, line in [(x, ([0, 0], y[[0, -1]])), (y, (x[[0, -1]], [0, 0]))]:
        if time_scale(result).has_event(edges):
            _in_all(page, grid, *line, DARK, 0.8, ":")
    _in_all(page, grid, x[[0, -1, -1, 0, 0]], y[[0, 0, -1, -1, 0]], GREY, 0.8)
    return image, limits


def _curves(page: Axes, grid: Multiples, result: KindResult) -> None:
    stats, x, y = result.curve, grid.x, grid.y
    times = result.train_times * time_scale(result).factor
    flat = stats.expected is None
    chance: Any = ([x.low, x.high], [stats.chance] * 2) if flat else (times, stats.expected)
    _in_all(page, grid, chance[0], chance[1], BLACK, 0.9, "--")
    if time_scale(result).has_event(np.array([x.low, x.high])):
        _in_all(page, grid, [0, 0], [y.low, y.high], GREY, 0.9, ":")
    _in_all(page, grid, [x.low, x.low, x.high], [y.high, y.low, y.low], BLACK, 0.8)
    if len(times) == 1:  # one point makes no line
        page.plot(*(grid.corners + grid.inside(times, stats.scores)[:, 0]).T, ".", color=BLUE)
    else:
        _lines(page, grid.corners[:, np.newaxis] + grid.inside(times, stats.scores), BLUE, 1.2)


def _labels(page: Axes, grid: Multiples, names: tuple[str, ...]) -> None:
    """Write names above panels, and ticks; their labels only at the edges of the page."""
    count = len(names)
    for index, ((across, up), name) in enumerate(zip(grid.corners, names)):
        page.text(across, up + grid.height + TICK, short(name, min(56 // grid.columns, 24)), va="bottom")
        if index + grid.columns >= count:
            for at, label in zip(grid.x.along(grid.x.ticks, grid.width), grid.x.labels):
                page.text(across + at, up - 2 * TICK, label, ha="center", va="top")
        if index % grid.columns == 0:
            for at, label in zip(grid.y.along(grid.y.ticks, grid.height), grid.y.labels):
                page.text(across - 2 * TICK, up + at, label, ha="right", va="center_baseline")
    ticks = [[[at, 0], [at, -TICK]] for at in grid.x.along(grid.x.ticks, grid.width)]
    ticks += [[[0, at], [-TICK, at]] for at in grid.y.along(grid.y.ticks, grid.height)]
    for ends in ticks:
        _lines(page, grid.corners[:, np.newaxis] + ends, BLACK, 0.8)


def _in_all(page: Axes, grid: Multiples, x: Any, y: Any, color: str, width: float, style: Any = "-") -> None:
    _lines(page, grid.corners[:, np.newaxis] + grid.inside(x, y), color, width, style)


def _lines(page: Axes, points: Any, color: str, width: float, style: Any = "-") -> None:
    from matplotlib.collections import LineCollection

    lines = LineCollection(list(points), colors=color, linewidths=width, linestyles=style)
    page.add_collection(lines, autolim=False)


def _caption(result: KindResult, settings: dict[str, Any]) -> str:
    if result.generalization is None:
        return f"Cross-validated decoding of {result.train_phase}, not smoothed; dashed: chance."
    return (
        f"Generalization {transfer(result)}, not smoothed, on one scale centred at chance; the most extreme "
        "0.5 % of cells may lie beyond its ends."
    )


SECTION = Section(
    "participants",
    "Each participant",
    participant_maps,
    f"{TIMES} test_phase train_phase {fields_of('curve', READ)} {fields_of('generalization', READ)}",
    _caption,
    participants_csv,
    alt=lambda result: f"{counted(len(result.participants), 'panel')}.",
    cost=lambda result: 2.0 + 0.1 * len(result.participants),
)
