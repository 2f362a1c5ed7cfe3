"""Figure of a sweep: the most variable numbers against the settings."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.text import one_line
from shortloop.report.layout import LINE, PAD, arrange, fractions, subplots
from shortloop.report.style import GREY, WIDTH, new_figure, styled
from shortloop.settings.changes import value_of
from shortloop.sweep.findings import Finding, Outcome, differing
from shortloop.sweep.grid import Axis, Combination, Grid, shown_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

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

    def along(self, values: ArrayLike) -> np.ndarray:
        return np.log(np.asarray(values, float)) if self.logarithmic else np.asarray(values, float)

    def moved(self, values: np.ndarray, shift: float) -> np.ndarray:
        """Values of one of several series, shifted so that they do not overlap."""
        if not self.numeric:
            return values + SPREAD * shift
        step = SLIGHTLY * shift * float(np.ptp(self.along(self.places)))
        return values * np.exp(step) if self.logarithmic else values + step


class _Encoding:
    """Axes of the grid shown by x axis, colours and markers; x has most steps, if possible of numbers."""

    def __init__(self, grid: Grid) -> None:
        steps = [len(axis.points) for axis in grid.axes]
        numbers = [_numbers(axis) is not None and steps[i] > 2 for i, axis in enumerate(grid.axes)]
        order = sorted(range(len(steps)), key=lambda i: (not numbers[i], -steps[i]))
        self._grid, self.across = grid, order[0]
        varying = [i for i in order[1:] if steps[i] > 1]
        self._colour, self._marker = varying[:1], sorted(varying[1:])
        self._hues = [*itertools.product(*(range(steps[i]) for i in self._colour))]
        self._forms = [*itertools.product(*(range(steps[i]) for i in self._marker))]
        self.number = len(self._hues) * len(self._forms)

    def of(self, combination: Combination) -> tuple[int, int]:
        """Numbers of the colour and of the marker of a combination."""
        places = combination.places
        hue, form = (tuple(places[i] for i in axes) for axes in (self._colour, self._marker))
        return self._hues.index(hue), self._forms.index(form)

    def shift(self, hue: int, form: int) -> float:
        """Shift of a series among all, from −½ to ½."""
        return 0.0 if self.number < 2 else (hue * len(self._forms) + form) / (self.number - 1) - 0.5

    def legend(self, line: str) -> tuple[list[Any], list[str]]:
        from matplotlib.lines import Line2D

        handles: list[Any] = []
        labels: list[str] = []
        for number, hue in enumerate(self._hues if self._colour else ()):
            style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "linestyle": line}
            handles.append(Line2D([], [], marker="o", markersize=4.5, **style))
            labels.append(self._grid.combination(dict(zip(self._colour, hue))).label)
        for number, form in enumerate(self._forms if self._marker else ()):
            shape = MARKERS[number % len(MARKERS)]
            handles.append(Line2D([], [], color=GREY, linestyle="none", marker=shape, markersize=4.5))
            labels.append(self._grid.combination(dict(zip(self._marker, form))).label)
        return handles, [_cut(label) for label in labels]


def draw(title: str, grid: Grid, outcomes: Sequence[Outcome]) -> Figure | None:
    done = [outcome for outcome in outcomes if not outcome.problem]
    names = differing([outcome.findings for outcome in done])
    if not names:
        return None
    encoding = _Encoding(grid)
    across = grid.axes[encoding.across]
    scale, shown = _scale(across), names[:PANELS]
    columns = min(COLUMNS, len(shown))
    width = FRAME[columns]
    with styled():
        figure = new_figure(width=WIDTH)
        panels = subplots(figure, len(shown), columns)
        for ax, name in zip(panels, shown, strict=True):
            _draw_panel(ax, name, done, encoding, scale)
        for place, (ax, name) in enumerate(zip(panels, shown, strict=True)):
            ax.set_title("\n".join(textwrap.wrap(one_line(name), int(width / LETTER))), fontsize=9)
            _label(ax, scale, width)
            if place >= len(shown) - columns:
                short = grid.short()
                ax.set_xlabel(one_line(", ".join(short[field] for field in across.fields)))
        handles, labels = encoding.legend("-" if scale.numeric else "none")
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


def _numbers(axis: Axis) -> list[float] | None:
    if len(axis.fields) > 1:
        return None
    values = [value_of(point[0]) for point in axis.points]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return None
    return [float(value) for value in values] if all(map(math.isfinite, values)) else None  # type: ignore


def _scale(axis: Axis) -> _Scale:
    labels = tuple(", ".join(shown_value(text) for text in point) for point in axis.points)
    numbers = _numbers(axis)
    if numbers is None or len(numbers) < 3:  # two numbers are two categories
        return _Scale(np.arange(len(labels), dtype=float), labels, False, False)
    logarithmic = min(numbers) > 0 and max(numbers) / min(numbers) >= WIDE
    return _Scale(np.array(numbers), labels, True, logarithmic)


def _draw_panel(ax: Axes, name: str, done: Sequence[Outcome], encoding: _Encoding, scale: _Scale) -> None:
    from matplotlib.ticker import MaxNLocator

    series: dict[tuple[int, int], list[tuple[float, Finding]]] = {}
    for outcome in done:
        found, combination = outcome.finding(name), outcome.combination
        if found.value is not None:
            place = float(scale.places[combination.places[encoding.across]])
            series.setdefault(encoding.of(combination), []).append((place, found))
    for (hue, form), points in series.items():
        points.sort(key=lambda point: point[0])
        x = scale.moved(np.array([place for place, _ in points]), encoding.shift(hue, form))
        y = np.array([each.value for _, each in points], float)
        look: dict[str, Any] = {"color": COLOURS[hue % len(COLOURS)], "zorder": 3}
        if scale.numeric:
            ax.plot(x, y, linewidth=0.9, alpha=0.7, **look)
        ax.plot(x, y, linestyle="none", marker=MARKERS[form % len(MARKERS)], markersize=4.5, **look)
        bounded = [each.lower is not None and each.upper is not None for _, each in points]
        if any(bounded):
            low, high = np.array([(each.lower, each.upper) for _, each in points], float)[bounded].T
            ax.vlines(x[bounded], low, high, linewidth=1.0, alpha=0.7, **look)
    ax.margins(y=0.12)
    ax.yaxis.set_major_locator(MaxNLocator(5))  # for any height: labels are measured before it is set
    ax.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)


def _label(ax: Axes, scale: _Scale, width: float) -> None:
    if scale.logarithmic:
        ax.set_xscale("log")
    if not scale.numeric:
        ax.set_xlim(-0.6, len(scale.labels) - 0.4)
    ends = scale.along(ax.get_xlim())
    inches = (scale.along(scale.places) - ends[0]) / np.ptp(ends) * width
    labels = [_cut(label) for label in scale.labels]
    order = np.argsort(inches, kind="stable")
    halves = LETTER / 2 * np.array([len(label) + 1 for label in labels])
    turned = bool((np.diff(inches[order]) < (halves[order][1:] + halves[order][:-1])).any())
    kept: list[int] = []
    for step in order:  # numbers close together share a label
        if not kept or inches[step] - inches[kept[-1]] >= APART:
            kept.append(int(step))
    ax.set_xticks(scale.places[kept])
    ax.minorticks_off()
    style: dict[str, Any] = {"rotation": 0, "ha": "center", "rotation_mode": "default"}
    if turned:
        style = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticklabels([labels[step] for step in kept], **style)


def _cut(label: str) -> str:
    text = one_line(label)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


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
