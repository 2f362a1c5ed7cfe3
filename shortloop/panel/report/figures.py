"""Figures of one specification: its coefficients over groups, and their p."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, new_figure, styled
from shortloop.text import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortloop.panel.report.content import Shown

__all__ = ["coefficients_figure", "pvalues_figure"]

COLUMNS = 3
BINS = 20


def coefficients_figure(shown: Shown) -> Figure:
    """Estimates of each group with their intervals, from the smallest to the largest.

    Parameters
    ----------
    shown : Shown
        What is drawn.

    Returns
    -------
    Figure
    """
    with styled():
        figure, axes = _panels(shown, f"{shown.name}: coefficients of {int(shown.fitted.sum())} groups")
        for j, ax in enumerate(axes):
            params, lower, upper = (
                np.asarray(shown.arrays[name])[shown.fitted, j] for name in ("params", "lower", "upper")
            )
            some = np.isfinite(params)
            order = np.argsort(params[some], kind="stable")
            params, lower, upper = (each[some][order] for each in (params, lower, upper))
            place = np.arange(len(params))
            ax.fill_between(place, lower, upper, color=BLUE, alpha=0.25, linewidth=0, step="mid")
            ax.plot(place, params, color=BLUE, linewidth=1.2)
            ax.axhline(0.0, color=GREY, linewidth=0.8)
            if len(params):
                ax.axhline(float(np.median(params)), color=VERMILION, linewidth=1.0, linestyle="--")
            ax.set_xlabel("groups, sorted")
            ax.set_ylabel("estimate")
        return figure


def pvalues_figure(shown: Shown) -> Figure:
    """How often p falls between 0 and 1, in twentieths: alike where no group has an effect.

    Parameters
    ----------
    shown : Shown
        What is drawn.

    Returns
    -------
    Figure
    """
    with styled():
        figure, axes = _panels(shown, f"{shown.name}: p of {int(shown.fitted.sum())} groups")
        for j, ax in enumerate(axes):
            pvalues = np.asarray(shown.arrays["pvalues"])[shown.fitted, j]
            pvalues = pvalues[np.isfinite(pvalues)]
            ax.hist(pvalues, bins=BINS, range=(0.0, 1.0), color=BLUE, edgecolor="white", linewidth=0.4)
            ax.axhline(len(pvalues) / BINS, color=BLACK, linewidth=0.8, linestyle=":")
            ax.set_xlabel("p")
            ax.set_ylabel("groups")
            ax.set_xlim(0.0, 1.0)
        return figure


def _panels(shown: Shown, title: str) -> tuple[Figure, list[Any]]:
    rows = math.ceil(len(shown.names) / COLUMNS)
    figure = new_figure(height=0.5 + 1.9 * rows, title=title)
    axes = [figure.add_subplot(rows, COLUMNS, j + 1) for j in range(len(shown.names))]
    for name, ax in zip(shown.names, axes, strict=True):
        ax.set_title(one_line(name))
    return figure, axes
