"""Plot on a page: frame, ticks and labels, and the transformation from numbers to points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.report.pdf import Canvas, fitting, width_of
from shortloop.report.style import BLACK, DARK

TITLE, NAME, LABEL = 10.0, 9.0, 8.0  # points, sizes of texts
TICK = 3.0
MARGIN = 0.04
HUGE = 1e150
"""Numbers beyond this are not drawn: nothing can be computed with them."""
UNDER, OVER = "0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"


class Axis(NamedTuple):
    """An axis: its ends, round values between them with labels, and the factor of these, e.g. " (× 10⁶)"."""

    low: float
    high: float
    ticks: FloatArray
    labels: tuple[str, ...]
    times: str


class Box(NamedTuple):
    """The frame of a plot, in points."""

    x: float
    y: float
    width: float
    height: float


def axis_of(values: Sequence[FloatArray], length: float, upward: bool = False) -> Axis:
    """Make an axis for values; what is not finite, or beyond `HUGE`, is left out."""
    finite = np.concatenate([each[np.abs(each) < HUGE] for each in values])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    room = MARGIN * (high - low)
    most = max(abs(low), abs(high))
    if room <= 1e-9 * most or most < 1 / HUGE:  # alike but for rounding
        room = 0.05 * most if most > 1 / HUGE else 1.0
    low, high = low - room, high + room
    for count in range(6, 0, -1):
        axis = _axis(low, high, count)
        room = length / max(len(axis.ticks), 1)
        if upward or all(width_of(label, LABEL) + 6.0 <= room for label in axis.labels):
            break
    return axis


def _axis(low: float, high: float, count: int) -> Axis:
    rough = (high / count) - (low / count)
    size = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * size for factor in (1.0, 2.0, 5.0, 10.0) if factor * size >= rough * (1 - 1e-9))
    ticks = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)
    largest = max(abs(low), abs(high))
    exponent = int(np.floor(np.log10(largest)))
    if -4 < exponent < 6:
        exponent = 0
    digits = min(max(exponent - int(np.floor(np.log10(step) + 1e-9)), 0), 15)
    labels = tuple(_label(float(tick), exponent, digits) for tick in ticks)
    over = str(exponent).translate(str.maketrans(UNDER, OVER))
    return Axis(low, high, ticks, labels, f" (× 10{over})" if exponent else "")


def _label(value: float, exponent: int, digits: int) -> str:
    text = f"{value / 10.0**exponent:.{digits}f}"
    return f"−{text[1:]}" if text.startswith("-") and text.strip("-0.") else text.removeprefix("-")


class Plot:
    """A plot on a page, with the titles of its axes."""

    def __init__(self, canvas: Canvas, box: Box, x: Axis, y: Axis, title: str, across: str, up: str) -> None:
        self.canvas, self.box, self.x, self.y = canvas, box, x, y
        left, below, width, height = box
        canvas.text(left, below + height + 7, fitting(title, TITLE, width), TITLE)
        canvas.lines([[(left, below + height), (left, below), (left + width, below)]], DARK, 0.8)
        at = self.places(x.ticks, np.full(len(x.ticks), y.low))
        canvas.lines(np.stack([at, at - (0, TICK)], axis=1), DARK, 0.8)
        for (place, _), label in zip(at.tolist(), x.labels, strict=True):
            canvas.text(place, below - TICK - LABEL, label, LABEL, align="center", color=DARK)
        at = self.places(np.full(len(y.ticks), x.low), y.ticks)
        canvas.lines(np.stack([at, at - (TICK, 0)], axis=1), DARK, 0.8)
        for (_, place), label in zip(at.tolist(), y.labels, strict=True):
            canvas.text(left - TICK - 2, place - 0.36 * LABEL, label, LABEL, align="right", color=DARK)
        wide = max((width_of(label, LABEL) for label in y.labels), default=0.0)
        across, up = fitting(across + x.times, NAME, width), fitting(up + y.times, NAME, height)
        canvas.text(left + width / 2, below - TICK - LABEL - NAME - 4, across, NAME, align="center")
        canvas.text(
            left - TICK - wide - 7, below + height / 2, up, NAME, align="center", upward=True, color=BLACK
        )

    def places(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Transform numbers to points of the page, shape (points, 2)."""
        left, below, width, height = self.box
        across = left + width * ((np.asarray(x) - self.x.low) / (self.x.high - self.x.low))
        up = below + height * ((np.asarray(y) - self.y.low) / (self.y.high - self.y.low))
        return np.stack([across, up], axis=-1)

    def dots(self, x: FloatArray, y: FloatArray, color: str, width: float, opacity: int) -> None:
        """Draw dots; those that are not finite are left out."""
        some = (np.abs(x) < HUGE) & (np.abs(y) < HUGE)
        at = self.places(x[some], y[some])
        self.canvas.dots(at[:, 0], at[:, 1], color, width, opacity)

    def line(
        self, x: FloatArray, y: FloatArray, color: str, width: float = 0.8, dashes: tuple[float, ...] = ()
    ) -> None:
        """Draw a line, clipped to the frame."""
        some = (np.abs(x) < HUGE) & (np.abs(y) < HUGE)
        at = np.clip(self.places(x[some], y[some]), -1e4, 1e4)
        with self.canvas.clipped(*self.box):
            self.canvas.lines(at[np.newaxis], color, width, dashes)
