"""Figure of a sweep: the most variable numbers against the settings."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.text import one_line, short
from shortloop.report.layout import LINE, PAD, arrange, fractions, subplots
from shortloop.report.style import GREY, WIDTH, new_figure, styled
from shortloop.settings.changes import value_of
from shortloop.sweep.findings import Finding, Outcome, differing
from shortloop.sweep.grid import Axis, Combination, Grid, shown_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS, COLUMNS = 12, 3
HEIGHT = 1.45  # inches, of a panel
FRAME = {1: 6.4, 2: 2.9, 3: 1.75}  # inches, about: width of a panel, by the number of columns
LETTER = 0.075  # inches, about: width of a character
LONGEST = 28  # characters of a label
APART = 0.17  # inches between rotated labels
WIDE = 50  # ratio of the largest to the smallest number, from which on an axis is logarithmic
SPREAD, SLIGHTLY = 0.5, 0.05  # of a step and of an axis: width over which series are spread
# Okabe & Ito (2008), for any colour vision; without yellow, which is hardly visible on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = "osD^vPX"


@dataclass(frozen=True)
class _Scale:
    """Positions and labels of the steps of the x axis."""

    places: np.ndarray  # float
    labels: tuple[str, ...]
    numeric: bool  # else steps are categories
    logarithmic: bool

    def moved(self, values: np.ndarray, shift: float) -> np.ndarray:
        """Values of one of several series, shifted so that they do not overlap."""
        if not self.numeric:
            return values + SPREAD * shift
        low, high = float(self.places.min()), float(self.places.max())
        by = SLIGHTLY * shift
        return values * (high / low) ** by if self.logarithmic else values + by * (high - low)


class _Encoding:
    """Axis of the grid along x, if possible of numbers, and series of points: the steps of the other axes."""

    def __init__(self, grid: Grid) -> None:
        ranks = [(_scale(axis).numeric, len(axis.points)) for axis in grid.axes]
        self.across = ranks.index(max(ranks))
        self._others = [i for i, (_, steps) in enumerate(ranks) if i != self.across and steps > 1]
        self._series = [*itertools.product(*(range(ranks[i][1]) for i in self._others))]
        named = self._series if self._others else []
        self.labels = [_cut(grid.combination(dict(zip(self._others, steps))).label) for steps in named]

    def of(self, combination: Combination) -> int:
        """Number of the series of a combination."""
        return self._series.index(tuple(combination.places[i] for i in self._others))

    def shift(self, series: int) -> float:
        """Shift of a series among all, from −½ to ½."""
        return series / (len(self._series) - 1) - 0.5 if self._others else 0.0


def _look(series: int) -> dict[str, Any]:
    marker = MARKERS[series // len(COLOURS) % len(MARKERS)]
    return {"color": COLOURS[series % len(COLOURS)], "marker": marker, "markersize": 4.5}


def draw(title: str, grid: Grid, outcomes: Sequence[Outcome]) -> Figure | None:
    from matplotlib.lines import Line2D

    done = [outcome for outcome in outcomes if not outcome.problem]
    if not (names := differing([outcome.findings for outcome in done])):
        return None
    encoding = _Encoding(grid)
    across = grid.axes[encoding.across]
    scale, shown = _scale(across), names[:PANELS]
    columns = min(COLUMNS, len(shown))
    width = FRAME[columns]
    with styled():
        figure = new_figure(width=WIDTH)
        panels = subplots(figure, len(shown), columns)
        for place, (ax, name) in enumerate(zip(panels, shown, strict=True)):
            _draw_panel(ax, name, done, encoding, scale)
            ax.set_title("\n".join(textwrap.wrap(one_line(name), int(width / LETTER))), fontsize=9)
            _label(ax, scale, width)
            if place >= len(shown) - columns:
                ends = grid.short()
                ax.set_xlabel(one_line(", ".join(ends[field] for field in across.fields)))
        labels = encoding.labels
        line: dict[str, Any] = {"linestyle": "-" if scale.numeric else "none"}
        handles = [Line2D([], [], **line, **_look(number)) for number in range(len(labels))]
        widest = max(map(len, labels), default=1)
        ncols = max(1, min(len(labels), int(WIDTH / (0.45 + 0.075 * widest))))
        below = -(-len(handles) // ncols) * LINE + 2 * PAD if handles else 0.0
        note = _note(done, outcomes, names)
        box = arrange(figure, panels, columns, title, note, height=HEIGHT, below=below)
        if handles:
            anchor = fractions(figure, box.x0, box.y0 - PAD, 0, 0)[:2]
            place_at: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": anchor, "borderaxespad": 0}
            figure.legend(handles, labels, ncols=ncols, **place_at)
    return figure


def _scale(axis: Axis) -> _Scale:
    labels = tuple(", ".join(shown_value(text) for text in point) for point in axis.points)
    values: list[Any] = [value_of(point[0]) for point in axis.points if len(axis.fields) == 1]
    # Two numbers are two categories.
    if len(values) < 3 or not all(type(value) in (int, float) and math.isfinite(value) for value in values):
        return _Scale(np.arange(len(labels), dtype=float), labels, False, False)
    logarithmic = min(values) > 0 and max(values) / min(values) >= WIDE
    return _Scale(np.array(values, float), labels, True, logarithmic)


def _draw_panel(ax: Axes, name: str, done: Sequence[Outcome], encoding: _Encoding, scale: _Scale) -> None:
    from matplotlib.ticker import MaxNLocator

    series: dict[int, list[tuple[float, Finding]]] = {}
    for outcome in done:
        found, combination = outcome.finding(name), outcome.combination
        if found.value is not None:
            place = float(scale.places[combination.places[encoding.across]])
            series.setdefault(encoding.of(combination), []).append((place, found))
    for number, points in series.items():
        points.sort(key=lambda point: point[0])
        x = scale.moved(np.array([place for place, _ in points]), encoding.shift(number))
        y = np.array([each.value for _, each in points], float)
        colour = COLOURS[number % len(COLOURS)]
        if scale.numeric:
            ax.plot(x, y, linewidth=0.9, alpha=0.7, color=colour, zorder=3)
        ax.plot(x, y, linestyle="none", zorder=3, **_look(number))
        bounded = [each.lower is not None and each.upper is not None for _, each in points]
        if any(bounded):
            low, high = np.array([(each.lower, each.upper) for _, each in points], float)[bounded].T
            ax.vlines(x[bounded], low, high, linewidth=1.0, alpha=0.7, color=colour, zorder=3)
    ax.margins(y=0.12)
    ax.yaxis.set_major_locator(MaxNLocator(5))  # for any height: labels are measured before it is set
    ax.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)


def _label(ax: Axes, scale: _Scale, width: float) -> None:
    if scale.logarithmic:
        ax.set_xscale("log")
    if not scale.numeric:
        ax.set_xlim(-0.6, len(scale.labels) - 0.4)
    ax.autoscale_view()  # the limits are not known before
    points = np.column_stack([scale.places, np.ones(len(scale.places))])
    inches = (ax.transScale + ax.transLimits).transform(points)[:, 0] * width
    labels = [_cut(label) for label in scale.labels]
    order = np.argsort(inches, kind="stable")
    turned = bool((np.diff(inches[order]) < LETTER * (max(map(len, labels)) + 1)).any())
    kept: list[int] = []
    for step in order:  # numbers close together share a label
        if not kept or inches[step] - inches[kept[-1]] >= APART:
            kept.append(int(step))
    style: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    ax.set_xticks(scale.places[kept], [labels[step] for step in kept], **style)
    ax.minorticks_off()


def _cut(label: str) -> str:
    return short(one_line(label), LONGEST)


def _note(done: Sequence[Outcome], outcomes: Sequence[Outcome], names: Sequence[str]) -> str:
    intervals = dict.fromkeys(
        each.interval
        for outcome in done
        for name, each in outcome.findings.items()
        if each.interval and name in names[:PANELS]
    )
    sentences = [f"Bars through points: {', '.join(intervals)}."] if intervals else []
    if len(names) > PANELS:
        sentences.append(f"{len(names) - PANELS} more numbers differ, by less: see the table.")
    if failed := len(outcomes) - len(done):
        sentences.append(f"{failed} of {len(outcomes)} combinations failed and are not shown.")
    return " ".join(sentences)
