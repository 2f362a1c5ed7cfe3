"""Small multiples: the map or curve of each participant, all on one scale.

They are drawn in one set of axes, in inches: making axes for each panel takes longer than drawing it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from shortloop.report.layout import LINE, PAD, short
from shortloop.report.style import BLACK, BLUE, DARK, GREY, WIDTH, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

READ = "chance expected score scores"
COLUMNS = ((4, 4), (6, 3), (12, 4), (20, 5))  # most participants, and their columns
BAR = 0.75  # inches beside the panels: a colour bar and its numbers
DIGIT = 0.08  # inches, width of a digit of 9 points
GAP = 0.12  # inches, least distance between panels
HEAD = 0.21  # inches above a panel, for its name
TICK = 0.04  # inches, length of a tick, and distance between it and its label


@dataclass(frozen=True)
class Axis:
    """Limits of one axis of every panel, its length in inches, and its ticks with their labels."""

    low: float
    high: float
    length: float
    ticks: FloatArray
    labels: tuple[str, ...]

    def along(self, values: ArrayLike) -> FloatArray:
        return (np.asarray(values, dtype=float) - self.low) / (self.high - self.low) * self.length

    def spans(self) -> FloatArray:
        """Return start and end of each centred label, in inches."""
        half = DIGIT / 2 * np.array([len(label) for label in self.labels])
        return self.along(self.ticks)[:, np.newaxis] + np.stack([-half, half], axis=1)


@dataclass(frozen=True)
class Grid:
    """Panels on a page, in inches from its lower left corner."""

    x: Axis
    y: Axis
    corners: FloatArray  # (panels, 2): lower left, row by row
    columns: int
    page: tuple[float, float]  # width and height

    def inside(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Convert data to inches from the corner of a panel; x and y are in the last axis."""
        return np.stack(np.broadcast_arrays(self.x.along(x), self.y.along(y)), axis=-1)


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
    wide = max(4.6, WIDTH * min(columns, 3) / 3)
    with styled():
        grid = _grid(result, columns, wide, PAD + LINE * len(y.splitlines()), right)
        wide, high = grid.page
        figure = new_figure(high, width=wide)
        page = figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(0, high), autoscale_on=False)
        page.set_axis_off()
        middle = (grid.corners.min(axis=0) + grid.corners.max(axis=0) + [grid.x.length, grid.y.length]) / 2
        if maps:
            image, shown = _maps(page, grid, result)
            bottom, top = grid.corners[-1, 1], grid.corners[0, 1] + grid.y.length
            place = (wide - right + 0.15) / wide, bottom / high, 0.1 / wide, (top - bottom) / high
            colour_bar(image, place, shown, colours, figure)
        else:
            _curves(page, grid, result)
        _labels(page, grid, result.participants)
        page.text(middle[0], PAD, x, ha="center", va="bottom", fontsize=9.5)
        page.text(PAD, middle[1], y, ha="left", va="center", ma="center", rotation=90, fontsize=9.5)
        figure.suptitle(one_line(title), x=PAD / wide, y=1 - PAD / high, ha="left", va="top")
    return figure


def _grid(result: KindResult, columns: int, width: float, left: float, right: float) -> Grid:
    """Arrange panels in rows on a page of some width, with room for labels on the left and right."""
    count, scale = len(result.participants), time_scale(result)
    limits, shape = _limits(result)
    most, integer = 3 if columns > 2 else 5, scale.unit == "bin"
    up = _axis(*limits[2:], most, integer)
    left += 2 * TICK + DIGIT * max((len(label) for label in up.labels), default=0)
    cell = (width - left - right) / columns - GAP
    across = _axis(*limits[:2], most, integer, cell)
    spans = across.spans()
    before, after = -spans.min(initial=0.0), spans.max(initial=cell) - cell
    gap, right = max(GAP, before + after + DIGIT), max(right, after + DIGIT)
    wide = (width - left - right - gap * (columns - 1)) / columns
    high, rows = wide * shape, -(-count // columns)
    below = LINE + (2 * TICK + HEAD)
    row, column = np.divmod(np.arange(count), columns)
    step = high + HEAD + GAP
    corners = np.stack([left + column * (wide + gap), below + (rows - 1 - row) * step], axis=1)
    page = width, below + rows * step - GAP + (LINE + 3 * PAD)
    x = _at_centre(replace(across, length=wide), result.train_times, scale)
    y = replace(up, length=high)
    if result.generalization is not None and result.test_times is not None:
        y = _at_centre(y, result.test_times, scale)
    return Grid(x, y, corners, columns, page)


def _axis(low: float, high: float, most: int, integer: bool, length: float = 0.0) -> Axis:
    """Choose at most so many round ticks, and so few that their labels do not touch."""
    from matplotlib.ticker import MaxNLocator

    for steps in range(most, 0, -1):
        locator = MaxNLocator(steps, steps=[1, 2, 2.5, 5, 10], integer=integer)
        values = np.asarray(locator.tick_values(low, high))
        ticks = values[(values >= low) & (values <= high)]
        axis = Axis(low, high, length, ticks, tuple(f"{tick:g}".replace("-", "−") for tick in ticks))
        spans = axis.spans()
        if not length or (spans[1:, 0] - spans[:-1, 1] >= DIGIT).all():
            break
    return axis


def _at_centre(axis: Axis, times: FloatArray, scale: TimeScale) -> Axis:
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
    known = np.append(stats.scores, stats.chance)
    margin = 0.05 * np.ptp(known) or 1.0
    return (x[0], x[-1], known.min() - margin, known.max() + margin), 0.85


def _maps(page: Axes, grid: Grid, result: KindResult) -> tuple[Any, Limits]:
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


def _curves(page: Axes, grid: Grid, result: KindResult) -> None:
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


def _labels(page: Axes, grid: Grid, names: tuple[str, ...]) -> None:
    """Write names above panels, and ticks; their labels only at the edges of the page."""
    count = len(names)
    for index, ((across, up), name) in enumerate(zip(grid.corners, names)):
        page.text(across, up + grid.y.length + TICK, short(name, min(56 // grid.columns, 24)), va="bottom")
        if index + grid.columns >= count:
            for at, label in zip(grid.x.along(grid.x.ticks), grid.x.labels):
                page.text(across + at, up - 2 * TICK, label, ha="center", va="top")
        if index % grid.columns == 0:
            for at, label in zip(grid.y.along(grid.y.ticks), grid.y.labels):
                page.text(across - 2 * TICK, up + at, label, ha="right", va="center_baseline")
    ticks = [[[at, 0], [at, -TICK]] for at in grid.x.along(grid.x.ticks)]
    ticks += [[[0, at], [-TICK, at]] for at in grid.y.along(grid.y.ticks)]
    for ends in ticks:
        _lines(page, grid.corners[:, np.newaxis] + ends, BLACK, 0.8)


def _in_all(page: Axes, grid: Grid, x: Any, y: Any, color: str, width: float, style: Any = "-") -> None:
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
    f"{TIMES} test_phase train_phase {fields_of('curve generalization', READ)}",
    _caption,
    participants_csv,
    alt=lambda result: f"{counted(len(result.participants), 'panel')}.",
    cost=lambda result: 2.0 + 0.1 * len(result.participants),
)
