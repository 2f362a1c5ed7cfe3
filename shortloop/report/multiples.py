"""Layout of small multiples: many panels of one size and scale.

They are drawn in one set of axes, in inches: one for each panel takes longer to make than to draw in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.types import FloatArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["TICK", "Multiples", "Scale", "multiples", "scale_of"]

DIGIT = 0.08  # inches, the width of a digit of 9 points
GAP = 0.12  # inches, at least, between panels
HEAD = 0.21  # inches, above a panel for its name
TICK = 0.04  # inches, the length of a tick, and as much between it and its label


@dataclass(frozen=True)
class Scale:
    """One axis of every panel.

    low, high: Limits.
    ticks: float. Within the limits.
    labels: one for each tick.
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

    width, height: of one panel.
    corners: float, (panels, 2). Lower left corner of each panel, row by row.
    page: width and height of the page.
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
    """Arrange panels in rows."""
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
    """An axis with ticks at round values."""
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
