"""The figure of the part ``level``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.report.style import BLACK, BLUE, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_level(content: dict[str, Any], note: str) -> Figure:
    """Shares of studies of noise that are significant."""
    levels = content["levels"]
    figure = new_figure(1.4 + 0.36 * len(levels), f"{content['studies']:,} studies of pure noise", note)
    axes = figure.subplots()
    rows = np.arange(len(levels))[::-1]
    for shift, colour, statistic in ((0.12, BLUE, "maximum"), (-0.12, VERMILION, "clusters")):
        each = [both[statistic] for both in levels.values()]
        share = np.array([100 * one["share"] for one in each])
        ends = np.abs(np.array([[100 * one[end] for one in each] for end in ("low", "high")]) - share)
        axes.errorbar(share, rows + shift, xerr=ends, fmt="o", color=colour, capsize=3, label=statistic)
    axes.axvline(5.0, color=BLACK, linestyle="--", linewidth=1.0, label="as it should be")
    axes.set_yticks(rows, [name.replace(": ", ":\n") for name in levels])
    axes.set_xlim(left=0)
    axes.set_xlabel("significant at 0.05, % of studies (95 % interval)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
    return figure
