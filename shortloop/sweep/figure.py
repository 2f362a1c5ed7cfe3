"""Figure of a sweep: the most variable numbers against the settings."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shortloop.base.text import one_line
from shortloop.report.layout import LINE, PAD, arrange, fractions
from shortloop.report.style import GREY, WIDTH, new_figure, styled
from shortloop.settings.changes import value_of
from shortloop.sweep.findings import Finding, Outcome, differing
from shortloop.sweep.grid import Axis, Grid, shown_value

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
        """Values on a linear scale."""
        return np.log(np.asarray(values, float)) if self.logarithmic else np.asarray(values, float)

    def moved(self, values: np.ndarray, shift: float) -> np.ndarray:
        """Values of one of several series, shifted so that they do not overlap."""
        if not self.numeric:
            return values + SPREAD * shift
        step = SLIGHTLY * shift * float(np.ptp(self.along(self.places)))
        return values * np.exp(step) if self.logarithmic else values + step


def draw(title: str, grid: Grid, outcomes: Sequence[Outcome]) -> Figure | None:
    """Draw the findings that differ; None if none does."""
    done = [outcome for outcome in outcomes if not outcome.problem]
    names = differing([outcome.findings for outcome in done])
    if not names:
        return None
    across, colour, marker = _roles(grid)
    scale = _scale(grid.axes[across])
    shown = names[:PANELS]
    columns = min(COLUMNS, len(shown))
    with styled():
        figure = new_figure(width=WIDTH)
        panels = []
        for place, name in enumerate(shown):
            ax = figure.add_subplot(-(-len(shown) // columns), columns, place + 1)
            _draw_panel(ax, name, grid, done, (across, colour, marker), scale)
            panels.append(ax)
        for place, ax in enumerate(panels):
            ax.set_title(
                "\n".join(textwrap.wrap(one_line(shown[place]), int(FRAME[columns] / LETTER))), fontsize=9
            )
            _label(ax, scale, FRAME[columns])
            if place >= len(shown) - columns:
                ax.set_xlabel(_axis_name(grid, grid.axes[across]))
        handles, labels = _legend(grid, colour, marker, "-" if scale.numeric else "none")
        rows = -(-len(handles) // _legend_columns(labels)) if handles else 0
        box = arrange(
            figure, panels, columns, title, _note(done, outcomes, names), height=HEIGHT,
            below=rows * LINE + 2 * PAD if rows else 0.0,
        )  # fmt: skip
        if handles:
            figure.legend(
                handles, labels, ncols=_legend_columns(labels), loc="upper left",
                bbox_to_anchor=fractions(figure, box.x0, box.y0 - PAD, 0, 0)[:2], borderaxespad=0,
            )  # fmt: skip
    return figure


def _roles(grid: Grid) -> tuple[int, int | None, tuple[int, ...]]:
    """Axes of the grid shown by x axis, colours and markers; x has most steps, if possible of numbers."""
    steps = [len(axis.points) for axis in grid.axes]
    numbers = [_numbers(axis) is not None and steps[i] > 2 for i, axis in enumerate(grid.axes)]
    order = sorted(range(len(steps)), key=lambda i: (not numbers[i], -steps[i]))
    varying = [i for i in order[1:] if steps[i] > 1]
    return order[0], (varying[0] if varying else None), tuple(sorted(varying[1:]))


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


def _draw_panel(
    ax: Axes,
    name: str,
    grid: Grid,
    done: Sequence[Outcome],
    roles: tuple[int, int | None, tuple[int, ...]],
    scale: _Scale,
) -> None:
    from matplotlib.ticker import MaxNLocator

    across, colour, marker = roles
    series: dict[tuple[int, int], list[tuple[int, Finding]]] = {}
    for outcome in done:
        found = outcome.findings.get(name)
        if found is None or found.value is None:
            continue
        places = outcome.combination.places
        which = 0 if colour is None else places[colour], _index(grid, marker, places)
        series.setdefault(which, []).append((places[across], found))
    number = _count(grid, () if colour is None else (colour,)) * _count(grid, marker)
    for (hue, form), points in series.items():
        points.sort(key=lambda point: scale.places[point[0]])
        x = np.array([scale.places[step] for step, _ in points])
        x = scale.moved(x, _shift(hue * _count(grid, marker) + form, number))
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
    inches = (scale.along(scale.places) - scale.along(ax.get_xlim())[0]) / np.ptp(scale.along(ax.get_xlim()))
    inches, labels = inches * width, [_cut(label) for label in scale.labels]
    order = np.argsort(inches, kind="stable")
    halves = LETTER / 2 * np.array([len(label) + 1 for label in labels])
    turned = bool((np.diff(inches[order]) < (halves[order][1:] + halves[order][:-1])).any())
    kept: list[int] = []
    for step in order:  # numbers close together share a label
        if not kept or inches[step] - inches[kept[-1]] >= APART:
            kept.append(int(step))
    ax.set_xticks(scale.places[kept])
    ax.minorticks_off()
    ax.set_xticklabels(
        [labels[step] for step in kept], rotation=35 if turned else 0, ha="right" if turned else "center",
        rotation_mode="anchor" if turned else "default",
    )  # fmt: skip


def _cut(label: str) -> str:
    text = one_line(label)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _legend(
    grid: Grid, colour: int | None, marker: tuple[int, ...], line: Literal["-", "none"]
) -> tuple[list[Any], list[str]]:
    """Handles and labels of the colours, then of the markers."""
    from matplotlib.lines import Line2D

    handles: list[Any] = []
    labels: list[str] = []
    for hue in range(_count(grid, () if colour is None else (colour,))):
        if colour is not None:
            color = COLOURS[hue % len(COLOURS)]
            handles.append(Line2D([], [], color=color, marker="o", markersize=4.5, linestyle=line))
            labels.append(_step_name(grid, grid.axes[colour], hue))
    for form in range(_count(grid, marker) if marker else 0):
        shape = MARKERS[form % len(MARKERS)]
        handles.append(Line2D([], [], color=GREY, linestyle="none", marker=shape, markersize=4.5))
        places, rest = [], form
        for axis in reversed(marker):
            places.append((axis, rest % len(grid.axes[axis].points)))
            rest //= len(grid.axes[axis].points)
        labels.append(", ".join(_step_name(grid, grid.axes[a], step) for a, step in reversed(places)))
    return handles, [_cut(label) for label in labels]


def _legend_columns(labels: Sequence[str]) -> int:
    widest = max(map(len, labels), default=1)
    return max(1, min(len(labels), int(WIDTH / (0.45 + 0.075 * widest))))


def _step_name(grid: Grid, axis: Axis, step: int) -> str:
    short = grid.short()
    pairs = zip(axis.fields, axis.points[step], strict=True)
    return ", ".join(f"{short[field]}={shown_value(text)}" for field, text in pairs)


def _axis_name(grid: Grid, axis: Axis) -> str:
    short = grid.short()
    return one_line(", ".join(short[field] for field in axis.fields))


def _index(grid: Grid, axes: tuple[int, ...], places: Mapping[int, int]) -> int:
    index = 0
    for axis in axes:
        index = index * len(grid.axes[axis].points) + places[axis]
    return index


def _count(grid: Grid, axes: tuple[int, ...]) -> int:
    return math.prod(len(grid.axes[axis].points) for axis in axes)


def _shift(place: int, number: int) -> float:
    """Shift of one of several series, from −½ to ½."""
    return 0.0 if number < 2 else place / (number - 1) - 0.5


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
