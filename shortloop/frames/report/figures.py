"""Figures: how long each library takes, and how much memory it needs, a panel for each transformation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shortloop.frames.report.content import Content, Row
from shortloop.frames.work import TRANSFORMATIONS
from shortloop.report.layout import LINE, PAD, arrange
from shortloop.report.style import BLUE, DARK, GREY, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["memory_figure", "times_figure"]

COLOURS = {"one core": DARK, "threads": BLUE, "processes": VERMILION}
MARKERS = {"one core": "D", "threads": "o", "processes": "s"}
"""Told apart without colour, too."""
LEGEND = 2 * LINE  # inches
PER_ROW = 0.19  # inches
WIDE = 50  # times the least, above which powers of ten are ticks enough


def times_figure(content: Content) -> Figure:
    """Seconds of each library: every repeat, and the median.

    Parameters
    ----------
    content : Content
        What is drawn.

    Returns
    -------
    Figure
    """

    def draw(axes: Axes, place: int, row: Row) -> None:
        colour = COLOURS[row.cores]
        axes.plot([min(row.seconds), max(row.seconds)], [place, place], color=colour, linewidth=1.2)
        axes.plot(row.median, place, MARKERS[row.cores], color=colour, markersize=5)
        if row.start is not None:
            whole = row.start + row.median
            axes.plot(whole, place, MARKERS[row.cores], markersize=5, markerfacecolor="none", color=colour)

    note = "Filled: median of the repeats, with their range. Open: the same with the start of the library."
    return _panels(content, "Time from the files to the result", "Time (s)", draw, note)


def memory_figure(content: Content) -> Figure:
    """Most memory of each library.

    Parameters
    ----------
    content : Content
        What is drawn.

    Returns
    -------
    Figure
    """

    def draw(axes: Axes, place: int, row: Row) -> None:
        if row.peak is not None:
            axes.plot(row.peak / 1e6, place, MARKERS[row.cores], color=COLOURS[row.cores], markersize=5)

    return _panels(content, "Most memory of all processes", "Memory (MB)", draw, "")


def _panels(
    content: Content, title: str, label: str, draw: Callable[[Axes, int, Row], None], note: str
) -> Figure:
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(row.title for row in content.shown if row.workers))
    with styled():
        figure = new_figure()
        panels = list(figure.subplots(1, len(content.transformations), squeeze=False, sharey=True).flat)
        for axes, transformation in zip(panels, content.transformations, strict=True):
            _panel(axes, content.of(transformation), names, draw)
            axes.set_title(TITLES[transformation])
            axes.set_xlabel(label)
        arrange(figure, panels, len(panels), title, note, height=0.3 + PER_ROW * len(names), below=LEGEND)
        marks = [
            Line2D([], [], marker=MARKERS[each], color=COLOURS[each], linestyle="none", label=each)
            for each in COLOURS
            if any(row.cores == each for row in content.shown if row.workers)
        ]
        place = (0.5, (PAD + LINE * bool(note)) / figure.get_figheight())
        figure.legend(handles=marks, loc="lower center", bbox_to_anchor=place, ncols=len(marks))
        return figure


TITLES = {"apply": "a function for each row", "column": "a column at once", "groups": "sums by group"}
assert TITLES.keys() == TRANSFORMATIONS.keys()


def _panel(
    axes: Axes, rows: Sequence[Row], names: Sequence[str], draw: Callable[[Axes, int, Row], None]
) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.set_xscale("log")
    axes.margins(x=0.08)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.5)
    axes.tick_params(axis="y", length=0)
    for row in rows:
        if row.is_right:
            draw(axes, names.index(row.title), row)
        elif row.workers:
            axes.annotate(
                row.status,
                (0.03, names.index(row.title)),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8,
                color=DARK,
            )
    axes.minorticks_off()  # else only those have them that span few powers of ten
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(
        LogLocator(subs=(1.0,) if high / low > WIDE else (1.0, 2.0, 5.0), numticks=8)
    )
