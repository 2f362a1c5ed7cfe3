"""Layout of figures: panels in a grid with title and note, and small multiples.

Small multiples, many panels of one size and scale, are drawn in one set of axes, in inches: making axes for
each panel takes longer than drawing it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.text import one_line, printable
from shortloop.base.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox
    from numpy.typing import ArrayLike

PAD = 0.06  # inches, at the edges and between panels
LINE = 0.18  # inches, a line of text of 9 to 11 points
# Of small multiples, in inches:
DIGIT = 0.08  # width of a digit of 9 points
GAP = 0.12  # least distance between panels
HEAD = 0.21  # above a panel, for its name
TICK = 0.04  # length of a tick, and distance between it and its label


def arrange(
    figure: Figure,
    panels: Sequence[Axes],
    columns: int,
    title: str,
    note: str = "",
    *,
    height: float = np.inf,
    shape: float | None = None,
    left: float = 0.0,
    right: float = 0.0,
    below: float = 0.0,
) -> Bbox:
    """Place panels of one size in rows, and make the figure as high as they need.

    A constrained layout is much the same, but measures every text several times, which takes longer than
    drawing it.
    """
    from matplotlib.transforms import Bbox

    rows = -(-len(panels) // columns)
    # How far labels reach beyond the frame: left, below, right, above, in inches.
    beyond = np.zeros((rows, columns, 4))
    for index, axes in enumerate(panels):
        inside, outside = axes.bbox, axes.get_tightbbox()
        assert outside is not None  # panels are visible
        reach = [*np.subtract(inside.min, outside.min), *np.subtract(outside.max, inside.max)]
        beyond[divmod(index, columns)] = np.maximum(reach, 0) / figure.dpi
    before, after = beyond[..., 0].max(axis=0), beyond[..., 2].max(axis=0)  # of each column
    under, over = beyond[..., 1].max(axis=1), beyond[..., 3].max(axis=1)  # of each row

    width = figure.get_figwidth()
    gaps = before.sum() + after.sum() + 2 * PAD * (columns - 1)
    cell = (width - 2 * PAD - left - right - gaps) / columns
    wide = cell if shape is None else min(cell, height / shape)
    high = height if shape is None else wide * shape
    lines = textwrap.wrap(printable(note), int(14.5 * width))
    bottom = PAD + LINE * len(lines) + below
    panel_height = under.sum() + over.sum() + rows * high + PAD * (rows - 1)
    total = bottom + panel_height + PAD + LINE + 2 * PAD
    figure.set_size_inches(width, total)

    lefts = PAD + left + np.cumsum(before + np.append(0, after[:-1])) + np.arange(columns) * (cell + 2 * PAD)
    tops = bottom + panel_height - np.cumsum(over + np.append(0, under[:-1])) - np.arange(rows) * (high + PAD)
    for index, axes in enumerate(panels):
        row, column = divmod(index, columns)
        corner = lefts[column] + (cell - wide) / 2, tops[row] - high
        axes.set_position(fractions(figure, *corner, wide, high))

    figure.suptitle(one_line(title), x=PAD / width, y=1 - PAD / total, ha="left", va="top")
    if lines:
        where = {"x": PAD / width, "y": PAD / total, "ha": "left", "va": "bottom"}
        figure.text(s="\n".join(lines), **where, fontsize=9, color="#333333")
    return Bbox.from_extents(PAD + left, bottom, width - PAD - right, bottom + panel_height)


def subplots(figure: Figure, count: int, columns: int) -> list[Axes]:
    grid = list(figure.subplots(-(-count // columns), columns, squeeze=False).flat)
    for extra in grid[count:]:
        extra.remove()
    return grid[:count]


def fractions(
    figure: Figure, left: float, bottom: float, width: float, height: float
) -> tuple[float, float, float, float]:
    """Convert a rectangle from inches to the coordinates of a figure."""
    across, up = figure.get_size_inches()
    return left / across, bottom / up, width / across, height / up


def short(name: str, width: int) -> str:
    """Cut a name to a width: its two ends, with an ellipsis between."""
    name = one_line(name)
    if len(name) <= width:
        return name
    # Both ends tell names apart better than the beginning alone.
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}…{name[-tail:]}"


@dataclass(frozen=True)
class Scale:
    """Limits of one axis of every panel, and its ticks with their labels."""

    low: float
    high: float
    ticks: FloatArray
    labels: tuple[str, ...]

    def along(self, values: ArrayLike, length: float) -> FloatArray:
        return (np.asarray(values, dtype=float) - self.low) / (self.high - self.low) * length

    def spans(self, length: float) -> FloatArray:
        """Return start and end of each centred label on an axis of some length, in inches."""
        half = DIGIT / 2 * np.array([len(label) for label in self.labels])
        return self.along(self.ticks, length)[:, np.newaxis] + np.stack([-half, half], axis=1)


@dataclass(frozen=True)
class Multiples:
    """Panels on a page, in inches from its lower left corner."""

    x: Scale
    y: Scale
    width: float  # of one panel
    height: float
    corners: FloatArray  # (panels, 2): lower left, row by row
    columns: int
    page: tuple[float, float]  # width and height

    def inside(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Convert data to inches from the corner of a panel; x and y are in the last axis."""
        across, up = self.x.along(x, self.width), self.y.along(y, self.height)
        return np.stack(np.broadcast_arrays(across, up), axis=-1)


def multiples(
    count: int,
    columns: int,
    limits: tuple[float, float, float, float],
    shape: float,
    width: float,
    margins: tuple[float, float, float, float],
    integer: bool = False,
) -> Multiples:
    """Arrange panels in rows; `limits` are those of x and y, `margins` left, right, below and above."""
    left, right, below, above = margins
    most = 3 if columns > 2 else 5
    up = scale_of(*limits[2:], most, integer)
    left += 2 * TICK + DIGIT * max((len(label) for label in up.labels), default=0)
    cell = (width - left - right) / columns
    across = scale_of(*limits[:2], most, integer, cell - GAP)
    spans = across.spans(cell - GAP)
    before, after = -spans.min(initial=0.0), spans.max(initial=cell - GAP) - (cell - GAP)
    gap, right = max(GAP, before + after + DIGIT), max(right, after + DIGIT)
    wide = (width - left - right - gap * (columns - 1)) / columns
    high, rows = wide * shape, -(-count // columns)
    below += 2 * TICK + HEAD
    row, column = np.divmod(np.arange(count), columns)
    step = high + HEAD + GAP
    corners = np.stack([left + column * (wide + gap), below + (rows - 1 - row) * step], axis=1)
    page = width, below + rows * step - GAP + above
    return Multiples(across, up, wide, high, corners, columns, page)


def scale_of(low: float, high: float, most: int, integer: bool = False, length: float | None = None) -> Scale:
    """Choose at most so many round ticks, and so few that their labels do not touch."""
    from matplotlib.ticker import MaxNLocator

    for steps in range(most, 0, -1):
        locator = MaxNLocator(steps, steps=[1, 2, 2.5, 5, 10], integer=integer)
        values = np.asarray(locator.tick_values(low, high))
        ticks = values[(values >= low) & (values <= high)]
        labels = tuple(f"{tick:g}".replace("-", "−") for tick in ticks)
        scale = Scale(low, high, ticks, labels)
        spans = scale.spans(length or 0.0)
        if length is None or (spans[1:, 0] - spans[:-1, 1] >= DIGIT).all():
            break
    return scale
