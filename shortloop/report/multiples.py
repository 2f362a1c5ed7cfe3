"""Small multiples: where many small panels of one size and one scale lie on a page.

They are drawn in one set of axes, in inches: one for each panel takes longer to make than to draw in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shortloop.types import FloatArray

__all__ = ["TICK", "Multiples", "Scale", "multiples", "scale_of"]

DIGIT = 0.08  # inches, the width of a digit of 9 points
GAP = 0.12  # inches, at least, between panels
HEAD = 0.21  # inches, above a panel for its name
TICK = 0.04  # inches, the length of a tick, and as much between it and its label


@dataclass(frozen=True)
class Scale:
    """One axis of every panel.

    Parameters
    ----------
    low, high : float
        Limits.
    ticks : array of float
        Within the limits.
    labels : tuple of str
        One for each tick.
    """

    low: float
    high: float
    ticks: FloatArray
    labels: tuple[str, ...]

    def along(self, values: ArrayLike, length: float) -> FloatArray:
        """How far values lie along an axis of some length."""
        return (np.asarray(values, dtype=float) - self.low) / (self.high - self.low) * length

    def spans(self, length: float) -> FloatArray:
        """Where centred labels side by side begin and end on an axis of some length, in inches."""
        half = DIGIT / 2 * np.array([len(label) for label in self.labels])
        return self.along(self.ticks, length)[:, np.newaxis] + np.stack([-half, half], axis=1)


@dataclass(frozen=True)
class Multiples:
    """Panels on a page, in inches from its lower left corner.

    Parameters
    ----------
    x, y : Scale
    width, height : float
        Of one panel.
    corners : array of float, shape (panels, 2)
        Lower left corner of each panel, row by row.
    columns : int
    page : tuple of float
        Width and height of the page.
    """

    x: Scale
    y: Scale
    width: float
    height: float
    corners: FloatArray
    columns: int
    page: tuple[float, float]

    def inside(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Data as inches from the corner of a panel, broadcast, with x and y in the last axis."""
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
    """Arrange panels in rows.

    Parameters
    ----------
    count, columns : int
        Number of panels, and of those in a row.
    limits : tuple of float
        Of x, low and high, and of y.
    shape : float
        Height of a panel over its width.
    width : float
        Inches, of the page; its height follows.
    margins : tuple of float
        Inches to keep free left, right, below and above all panels and the labels of their ticks.
    integer : bool, default False
        Whether ticks are at integers only.

    Returns
    -------
    Multiples
    """
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
    """An axis with ticks at round values.

    Parameters
    ----------
    low, high : float
        Limits.
    most : int
        As many steps between ticks as there are, at most.
    integer : bool, default False
        Whether ticks are at integers only.
    length : float, optional
        Inches, of an axis on which labels lie side by side.

    Returns
    -------
    Scale
    """
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
