"""Figures of one specification: its coefficients over groups, and their p."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shortloop.panel.report.content import BINS, counts_of_p, sorted_estimates
from shortloop.report.layout import arrange, short, subplots
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from shortloop.panel.report.content import Shown


COLUMNS = 3
HEIGHT = 1.4  # inches, of the frame of a panel


def coefficients_figure(shown: Shown) -> Figure:
    """Plot estimates of each group with their intervals, ascending."""
    return _panels(shown, f"coefficients of {_groups(shown)}", _coefficient)


def pvalues_figure(shown: Shown) -> Figure:
    """Plot a histogram of p: uniform if no group has an effect."""
    return _panels(shown, f"p of {_groups(shown)}", _pvalues)


def _groups(shown: Shown) -> str:
    count = int(shown.fitted.sum())
    return "1 group" if count == 1 else f"{count:,} groups"


def _panels(shown: Shown, title: str, draw: Callable[[Axes, Shown, int], None]) -> Figure:
    from matplotlib.ticker import MaxNLocator

    with styled():
        figure = new_figure()
        panels = subplots(figure, len(shown.names), COLUMNS)
        for j, axes in enumerate(panels):
            draw(axes, shown, j)
            axes.set_title(short(shown.names[j], 20))
            # As many for any length: labels are measured before panels have theirs.
            axes.yaxis.set_major_locator(MaxNLocator(5, integer=draw is _pvalues))
        arrange(figure, panels, COLUMNS, f"{shown.name}: {title}", height=HEIGHT)
        return figure


def _coefficient(axes: Axes, shown: Shown, j: int) -> None:
    _, params, lower, upper = sorted_estimates(shown, j)
    place = np.arange(len(params))
    axes.fill_between(place, lower, upper, color=BLUE, alpha=0.25, linewidth=0, step="mid")
    axes.plot(place, params, color=BLUE, linewidth=1.2)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    if len(params):
        axes.axhline(float(np.median(params)), color=VERMILION, linewidth=1.0, linestyle="--")
    axes.set_xlabel("groups, sorted")
    axes.set_ylabel("estimate")


def _pvalues(axes: Axes, shown: Shown, j: int) -> None:
    counts = counts_of_p(shown, j)
    left = np.arange(BINS) / BINS
    axes.bar(left, counts, 1 / BINS, align="edge", color=BLUE, edgecolor="white", linewidth=0.4)
    axes.axhline(counts.mean(), color=BLACK, linewidth=0.8, linestyle=":")
    axes.set_xlabel("p")
    axes.set_ylabel("groups")
    axes.set_xlim(0.0, 1.0)
