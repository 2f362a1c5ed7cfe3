"""The figure of the part ``ladder``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.write import number
from shortloop.report.style import BLACK, BLUE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_ladder(content: dict[str, Any], note: str) -> Figure:
    """Seconds of each step, and its factor over the one before."""
    steps = content["steps"]
    title = f"Least squares in {content['groups']:,} groups of {content['rows']} rows"
    figure = new_figure(1.2 + 0.42 * len(steps), title, note)
    axes = figure.subplots()
    place = np.arange(len(steps))[::-1]
    for row, step in zip(place, steps.values(), strict=True):
        seconds = step["seconds"]
        axes.plot([seconds["min"], seconds["max"]], [row, row], color=BLACK, linewidth=1)
        axes.plot(seconds["median"], row, "o", color=BLUE)
        said = f" {number(seconds['median'])} s, {number(step['day']['median'])} runs a day"
        if row != place[0]:
            said += f", {number(step['factor']['median'])}× faster"
        axes.text(seconds["max"] * 1.2, row, said, va="center")
    axes.set_ylim(-0.5, len(steps) - 0.5)
    axes.set_yticks(place, list(steps))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    low = min(step["seconds"]["min"] for step in steps.values())
    high = max(step["seconds"]["max"] for step in steps.values())
    axes.set_xlim(low / 2, high * 200)  # room for what is written
    axes.set_xlabel("seconds for all groups")
    return figure
