"""Page of a group: four plots that show whether its model fits."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.diagnostics.residuals import OUTLYING, Rows, described, summary_of
from shortloop.report.pdf import Canvas, Sheet, fitting, width_of
from shortloop.report.style import BLACK, BLUE, DARK, GREY, VERMILION

TITLE, NAME, LABEL = 10.0, 9.0, 8.0  # points, sizes of texts
TICK = 3.0
MARGIN = 0.04
HUGE = 1e150  # numbers beyond this are not drawn: nothing can be computed with them
UNDER, OVER = "0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
NOTE = 7.5
WIDTH, HEIGHT = 842.0, 595.0  # points, A4 on its side
EDGE, TOP = 36.0, 540.0
DRAWN = 2000  # most rows that are drawn: a page of more is slow to show and tells no more
KEPT = 250  # of these, the furthest and those of most leverage
TAIL = 400  # of a QQ plot, at each end
NAMED = 3
BINS, IN_BIN = 20, 10
NEAR, FAR = (BLUE, 2.6, 6), (VERMILION, 3.2, 10)  # colour, width and opacity of dots
COOK = (0.5, 1.0)
BAND = 0.95


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


BOXES = tuple(Box(x, y, 325.0, 170.0) for y in (318.0, 76.0) for x in (88.0, 481.0))


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
    exponent = int(np.floor(np.log10(max(abs(low), abs(high)))))
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

    def __init__(
        self, canvas: Canvas, box: Box, x: list[FloatArray], y: list[FloatArray], titles: Sequence[str]
    ) -> None:
        """Draw the frame around values, with titles of the plot, the x axis and the y axis."""
        left, below, width, height = box
        title, across, up = titles
        self.canvas, self.box = canvas, box
        self.x, self.y = axis_of(x, width), axis_of(y, height, upward=True)
        canvas.text(left, below + height + 7, fitting(title, TITLE, width), TITLE)
        canvas.lines([[(left, below + height), (left, below), (left + width, below)]], DARK, 0.8)
        at = self.places(self.x.ticks, np.full(len(self.x.ticks), self.y.low))
        canvas.lines(np.stack([at, at - (0, TICK)], axis=1), DARK, 0.8)
        for (place, _), label in zip(at.tolist(), self.x.labels, strict=True):
            canvas.text(place, below - TICK - LABEL, label, LABEL, align="center", color=DARK)
        at = self.places(np.full(len(self.y.ticks), self.x.low), self.y.ticks)
        canvas.lines(np.stack([at, at - (TICK, 0)], axis=1), DARK, 0.8)
        for (_, place), label in zip(at.tolist(), self.y.labels, strict=True):
            canvas.text(left - TICK - 2, place - 0.36 * LABEL, label, LABEL, align="right", color=DARK)
        wide = max((width_of(label, LABEL) for label in self.y.labels), default=0.0)
        across, up = fitting(across + self.x.times, NAME, width), fitting(up + self.y.times, NAME, height)
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
        some = (np.abs(x) < HUGE) & (np.abs(y) < HUGE)
        at = self.places(x[some], y[some])
        self.canvas.dots(at[:, 0], at[:, 1], color, width, opacity)

    def line(
        self, x: FloatArray, y: FloatArray, color: str, width: float = 0.8, dashes: tuple[float, ...] = ()
    ) -> None:
        some = (np.abs(x) < HUGE) & (np.abs(y) < HUGE)
        at = np.clip(self.places(x[some], y[some]), -1e4, 1e4)
        with self.canvas.clipped(*self.box):
            self.canvas.lines(at[np.newaxis], color, width, dashes)

    def diagonal(self) -> None:
        """Draw where both axes have the same number."""
        line = np.array([min(self.x.low, self.y.low), max(self.x.high, self.y.high)])
        self.line(line, line, BLACK)


@dataclass(frozen=True)
class Head:
    """Header of a page: its title and bookmark, the model, why it is shown, and its number."""

    group: str
    model: str
    why: str
    place: str


def page_of(head: Head, rows: Rows) -> Sheet:
    canvas = _headed(head)
    said = [f"{len(rows.observed):,} rows, {rows.coefficients} coefficients"]
    said += [text for by, text in described(summary_of(rows)).items() if by != "fit"]
    canvas.text(EDGE, TOP - 16, " · ".join(text for text in said if " nan" not in f" {text}"), 9, color=DARK)
    drawn = _drawn(rows)
    _against_fitted(canvas, BOXES[0], rows, drawn)
    _quantiles(canvas, BOXES[1], rows)
    _leverage(canvas, BOXES[2], rows, drawn)
    _observed(canvas, BOXES[3], rows, drawn)
    for i, line in enumerate(_notes(rows, len(drawn))):
        canvas.text(EDGE, 30 - 11 * i, fitting(line, NOTE, WIDTH - 2 * EDGE), NOTE, color=DARK)
    return canvas.sheet(head.group)


def page_without_plots(head: Head, said: Sequence[str]) -> Sheet:
    canvas = _headed(head)
    lines = [line for text in said for line in textwrap.wrap(text, 120) or [""]]
    for i, line in enumerate(lines[:30]):
        canvas.text(EDGE, TOP - 48 - 15 * i, line, 10, color=VERMILION if i == 0 else BLACK)
    return canvas.sheet(head.group)


def _headed(head: Head) -> Canvas:
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.text(EDGE, TOP + 20, fitting(head.group, 14, WIDTH - 2 * EDGE - 90), 14)
    canvas.text(WIDTH - EDGE, TOP + 20, head.place, 9, align="right", color=DARK)
    canvas.text(EDGE, TOP, fitting(f"{head.model} · {head.why}", 9, WIDTH - 2 * EDGE), 9, color=DARK)
    return canvas


def _drawn(rows: Rows) -> IntArray:
    """Select the rows to draw: all, or the furthest, those of most leverage, and some of the others."""
    if (count := len(rows.observed)) <= DRAWN:
        return np.arange(count)
    ranked = (
        np.argsort(-np.nan_to_num(np.abs(values), posinf=np.inf), kind="stable")[:KEPT]
        for values in (rows.standardized, rows.leverage, rows.residuals)
    )
    return np.unique(np.concatenate([*ranked, np.linspace(0, count - 1, DRAWN - 3 * KEPT).astype(np.int64)]))


def _notes(rows: Rows, drawn: int) -> list[str]:
    count = len(rows.observed)
    where = "in the file" if rows.numbers is not None else "among the group's complete ones"
    said = [
        f"Red dots: standardised residual beyond {OUTLYING:g}, with the number of the row {where}. "
        f"Red line: means of equal parts of rows. Grey: {100 * BAND:g} % of normal samples."
    ]
    more = []
    if rows.has_cook:
        distances = " and ".join(f"{each:g}" for each in COOK)
        more.append(f"Dashed, where it is within the frame: Cook's distance {distances}.")
    if drawn < count:
        more.append(f"{drawn:,} of {count:,} rows are drawn, the most extreme ones among them.")
    if alone := int((~np.isfinite(rows.standardized)).sum()):
        more.append(f"{alone:,} rows have no standardised residual: they alone decide their fit.")
    return [*said, " ".join(more)]


def _scatter(plot: Plot, x: FloatArray, y: FloatArray, rows: Rows, drawn: IntArray, named: bool) -> None:
    """Draw dots, those of outlying rows in red, and number the furthest of these where there is room."""
    far = np.abs(rows.standardized) > OUTLYING
    for some, how in ((~far, NEAR), (far, FAR)):
        these = drawn[some[drawn]]
        plot.dots(x[these], y[these], *how)
    furthest = np.flatnonzero(far & (np.abs(x) < HUGE) & (np.abs(y) < HUGE))
    furthest = furthest[np.argsort(-np.abs(rows.standardized[furthest]), kind="stable")[: NAMED * named]]
    taken: list[tuple[float, float]] = []
    for row, (across, up) in zip(
        furthest.tolist(), plot.places(x[furthest], y[furthest]).tolist(), strict=True
    ):
        if any(abs(across - left) < 30 and abs(up - below) < 8 for left, below in taken):
            continue
        taken.append((across, up))
        number, height = str(row + 1 if rows.numbers is None else rows.numbers[row]), up - 2.5
        if across > plot.box.x + 0.9 * plot.box.width:
            plot.canvas.text(across - 4, height, number, 7, align="right", color=DARK)
        else:
            plot.canvas.text(across + 4, height, number, 7, color=DARK)


def _against_fitted(canvas: Canvas, box: Box, rows: Rows, drawn: IntArray) -> None:
    x, y, (across, up, *_) = rows.predictor, rows.residuals, rows.names
    titles = f"Residuals against the {across}", across, up
    plot = Plot(canvas, box, [x], [y, np.zeros(1)], titles)
    plot.line(np.array([plot.x.low, plot.x.high]), np.zeros(2), GREY)
    _scatter(plot, x, y, rows, drawn, named=True)
    _means(plot, x, y)


def _quantiles(canvas: Canvas, box: Box, rows: Rows) -> None:
    found = np.sort(rows.normal[np.isfinite(rows.normal)])
    count = len(found)
    ranks = np.arange(count)
    if count > DRAWN:
        middle = np.linspace(TAIL, count - 1 - TAIL, DRAWN - 2 * TAIL).astype(np.int64)
        ranks = np.unique(np.concatenate([ranks[:TAIL], middle, ranks[-TAIL:]]))
    expected = ndtri((ranks + 0.625) / (count + 0.25))  # Blom's
    titles = "Normal QQ plot", "normal quantile", rows.names[3]
    plot = Plot(canvas, box, [expected], [found, expected], titles)
    if count:
        # Where the next of many samples would be, point by point: of a normal sample, quantiles of ranks are
        # those of a beta distribution (David and Nagaraja 2003, Order statistics, section 2.1).
        some = np.unique(np.geomspace(1, max(count // 2, 1), 24).astype(np.int64)) - 1
        some = np.unique(np.concatenate([some, count - 1 - some]))
        ends = [betaincinv(some + 1.0, count - some, end) for end in ((1 - BAND) / 2, (1 + BAND) / 2)]
        at = ndtri((some + 0.625) / (count + 0.25))
        around = [plot.places(at, ndtri(end)) for end in ends]
        with canvas.clipped(*box):
            canvas.fill(np.concatenate([around[0], around[1][::-1]]), GREY)
    plot.diagonal()
    plot.dots(expected, found[ranks], *NEAR)


def _leverage(canvas: Canvas, box: Box, rows: Rows, drawn: IntArray) -> None:
    x, y = rows.leverage, rows.standardized
    titles = "Residuals against leverage", "leverage", rows.names[2]
    plot = Plot(canvas, box, [x, np.zeros(1)], [y, np.zeros(1)], titles)
    plot.line(np.array([plot.x.low, plot.x.high]), np.zeros(2), GREY)
    if rows.has_cook:
        at = np.linspace(max(plot.x.low, 0.0) + 1e-6, min(plot.x.high, 1.0) - 1e-9, 100)
        for distance in COOK:
            away = np.sqrt(distance * rows.coefficients * (1.0 - at) / at)
            plot.line(at, away, GREY, 0.8, (4, 3))
            plot.line(at, -away, GREY, 0.8, (4, 3))
    _scatter(plot, x, y, rows, drawn, named=True)


def _observed(canvas: Canvas, box: Box, rows: Rows, drawn: IntArray) -> None:
    titles = f"Observed against the {rows.names[4]}", rows.names[4], "observed"
    plot = Plot(canvas, box, [rows.fitted], [rows.observed], titles)
    plot.diagonal()
    _scatter(plot, rows.fitted, rows.observed, rows, drawn, named=False)
    _means(plot, rows.fitted, rows.observed)


def _means(plot: Plot, x: FloatArray, y: FloatArray) -> None:
    """Draw a line through the means of equal parts of the rows, in the order of x."""
    some = (np.abs(x) < HUGE) & (np.abs(y) < HUGE)
    x, y = x[some], y[some]
    if (bins := min(BINS, len(x) // IN_BIN)) < 3 or not np.ptp(x):
        return
    order = np.argsort(x, kind="stable")
    ends = np.linspace(0, len(x), bins + 1).astype(np.int64)
    counts = np.diff(ends)
    across, up = (np.add.reduceat(values[order], ends[:-1]) / counts for values in (x, y))
    plot.line(across, up, VERMILION, 1.4)
