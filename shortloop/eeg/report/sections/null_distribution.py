"""Null distributions of the largest statistic and cluster mass, with the observed values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.group.settings import NULLS
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import letter_of
from shortloop.eeg.report.sections.section import Section, fields_of, title_of
from shortloop.report.layout import arrange, short
from shortloop.report.page import csv_text
from shortloop.report.style import BLACK, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONG = 1000.0  # from here on, an axis has room for fewer numbers
FAR = 8.0  # times the usual range of the null: values beyond are drawn at the edge

STATISTICS = "alpha clusters level null_mass null_max scores t"


def null_distribution(result: KindResult) -> Figure:
    heads = (
        f"Decoding in {short(result.train_phase, 20)}",
        f"Generalization to {short(result.test_phase, 18)}",
    )
    maps = [stats for stats in (result.curve, result.generalization) if stats is not None]
    letter = letter_of(result.curve)
    with styled():
        figure = new_figure()
        grid = figure.subplots(2, len(maps), squeeze=False)
        for (upper, lower), title, stats in zip(grid.T, heads, maps):
            upper.set_title(title)
            largest, mass = observed_maxima(stats)
            _histogram(upper, stats.null_max, largest, stats, f"Largest |{letter}|")
            _histogram(lower, stats.null_mass, mass, stats, f"Largest cluster mass (sum of |{letter}|)")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        title = title_of(result, "null distributions")
        arrange(figure, list(grid.flat), len(maps), title, height=1.45, below=0.3)
        figure.legend(handles, labels, loc="lower center", ncols=3, borderaxespad=0.2)
    return figure


def observed_maxima(stats: MapStatistics) -> tuple[float, float]:
    """Return the largest observed statistic, and the mass of the heaviest cluster."""
    numbers = np.unique(stats.clusters[stats.clusters != 0])
    mass = max((np.abs(stats.t[stats.clusters == number]).sum() for number in numbers), default=0.0)
    return float(np.abs(stats.t).max()), float(mass)


def critical_value(null: FloatArray, alpha: float, exact: bool = False) -> float | None:
    """Return the value that a statistic must exceed to have p of at most alpha."""
    # p = (1 + number of null values at or above the observed one) / (1 + number of null values): Phipson &
    # Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9(1):39. In an exact distribution, p is the proportion.
    # Number of null values that may be as large as the observed one, which is one of them if exact.
    allowed = int(np.floor(alpha * (len(null) + (not exact)) + 1e-9)) - (not exact)
    if allowed < int(exact) or allowed >= len(null):
        return None
    return float(np.sort(null)[::-1][allowed])


def _histogram(axes: Axes, null: FloatArray, observed: float, stats: MapStatistics, label: str) -> None:
    from matplotlib.ticker import MaxNLocator

    # All sign flips, the observed maps first: shortloop.eeg.group says so of its exact null distributions.
    flips = stats.level == "group" and len(null) == 2 ** len(stats.scores)
    critical = critical_value(null, stats.alpha, flips and bool(np.isclose(null[0], observed)))
    end = FAR * max(float(np.quantile(null, 0.95)), critical or 0.0)
    span = float(null.min()), min(end, float(null.max()))
    if span[1] - span[0] <= 1e-6 * span[1]:  # all equal but for rounding: too narrow for bins
        span = (0.95 * span[0], 1.05 * span[1] or 1.0)
    bins = min(40, max(8, int(1.5 * np.sqrt(null.size))))
    style: dict[str, Any] = {"histtype": "stepfilled", "color": "#B5C7D6", "label": "null"}
    axes.hist(np.minimum(null, span[1]), bins=bins, range=span, **style)
    if critical is not None:
        axes.axvline(critical, color=BLACK, linestyle="--", label=f"to exceed for p ≤ {stats.alpha:g}")
    if observed > end:  # drawn at its value, it would leave no room for the null
        text = f"{observed:,.0f} →"
        axes.text(0.9, 0.9, text, transform=axes.transAxes, ha="right", va="top", color=VERMILION)
    axes.axvline(min(observed, end), color=VERMILION, linewidth=2.0, clip_on=False, label="observed")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.margins(x=0.06)
    axes.set_xlim(left=0)  # neither can be negative
    if axes.get_xlim()[1] >= LONG:
        axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.set(xlabel=label, ylabel="Null maps")


def _caption(result: KindResult, settings: dict[str, Any]) -> str:
    nulls = [f"{len(stats.null_max):,} {NULLS[stats.null]}" for stats in result.maps]
    over = nulls[0] if len(set(nulls)) == 1 else f"{nulls[0]} (left) and {nulls[1]} (right)"
    return (
        "What chance gives: the largest statistic of each whole null map (above) and the mass of its "
        f"heaviest cluster (below), over {over}; observed maxima in orange; any value far beyond the "
        f"edge is drawn at it. Values right of the dashed line have p ≤ {result.curve.alpha:g}."
    )


def _csv(result: KindResult) -> str:
    letter = letter_of(result.curve)
    columns = ["scores", "null map", f"largest |{letter}|", f"largest cluster mass (sum of |{letter}|)"]
    rows: list[list[str | float]] = [
        [what, number, float(largest), float(mass)]
        for what, stats in zip(("decoding", "generalization"), result.maps)
        for number, (largest, mass) in enumerate(zip(stats.null_max, stats.null_mass, strict=True), 1)
    ]
    return csv_text(columns, rows)


READS = f"kind participants test_phase train_phase {fields_of('curve generalization', STATISTICS)}"
SECTION = Section("null_distribution", "Null distributions", null_distribution, READS, _caption, _csv)
