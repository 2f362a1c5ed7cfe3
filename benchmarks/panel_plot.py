"""The figure of the part ``panel``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.report.style import BLACK, BLUE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_panel(content: dict[str, Any], note: str) -> Figure:
    """How many times as long the other ways take."""
    sizes = content["sizes"]
    figure = new_figure(1.2 + 1.5 * len(sizes), "Least squares in every group, one core", note)
    for ax, (name, found) in zip(
        figure.subplots(len(sizes), 1, squeeze=False)[:, 0], sizes.items(), strict=True
    ):
        ways = list(found["over_ours"])
        rows = np.arange(len(ways))[::-1]
        for row, way in zip(rows, ways, strict=True):
            each = found["over_ours"][way]
            ax.barh(row, each["median"], 0.6, color=BLUE)
            ends = [[each["median"] - each["min"]], [each["max"] - each["median"]]]
            ax.errorbar(each["median"], row, xerr=ends, color=BLACK, capsize=3)
            ax.text(1.15 * each["max"], row, f"{each['median']:.3g}", va="center")
        ax.set_yticks(rows, ways)
        ax.set_xscale("log")
        ax.set_xlim(0.8, 3.0 * max(each["max"] for each in found["over_ours"].values()))
        groups, _, length = name.partition(" × ")
        ax.set_title(f"{int(groups):,} groups of {int(length):,} rows")
        ax.set_xlabel("times as long as shortloop takes")
    return figure
