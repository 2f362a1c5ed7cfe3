"""Layout of figures: panels in a grid with title and note."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.terminal import shortened
from shortloop.base.text import one_line, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

PAD = 0.06  # inches, at the edges and between panels
LINE = 0.18  # inches, a line of text of 9 to 11 points


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
    """Place panels of one size in rows, and make the figure as high as they need."""
    # A constrained layout measures every text several times, which takes longer than drawing it.
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
    return shortened(one_line(name), width)
