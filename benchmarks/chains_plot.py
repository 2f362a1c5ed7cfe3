"""The figure of the chains: seconds of each tool, a panel for each case, a colour for each length."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from benchmarks.chains_project import CASES
from shortloop.report.style import BLUE, GREY, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (GREY, BLUE, VERMILION)


def draw_chains(content: dict[str, Any], note: str) -> Figure:
    """Draw what was measured."""
    tools = list(next(iter(content["sizes"].values())))
    figure = new_figure(2.0 + 0.28 * len(tools), "Chains of toy jobs", note)
    panels = figure.subplots(1, len(CASES), sharex=True, sharey=True)
    for axes, case in zip(panels, CASES):
        for colour, (size, found) in zip(COLOURS, content["sizes"].items()):
            there = [
                (row, found[tool][case]["seconds"])
                for row, tool in enumerate(tools)
                if case in found.get(tool, {})
            ]
            rows = [row for row, _ in there]
            median = [each["median"] for _, each in there]
            below = [each["median"] - each["min"] for _, each in there]
            above = [each["max"] - each["median"] for _, each in there]
            axes.errorbar(
                median,
                rows,
                xerr=[below, above],
                color=colour,
                linestyle="",
                marker="o",
                ms=4,
                label=f"{int(size):,} jobs",
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, position: f"{value:,g}")
        axes.set_title(case)
        axes.set_xlabel("seconds")
        axes.set_yticks(range(len(tools)), tools)
    low, high = panels[0].get_xlim()
    panels[0].set_xlim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure
