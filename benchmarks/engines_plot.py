"""The figure of engines: speed-up over workers, a panel for each kind of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.engines_decode import WORKS
from benchmarks.engines_speedup import SYSTEMS
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREEN, PINK = "#009E73", "#CC79A7"  # Okabe & Ito
LOOKS = {
    "slices": ("slices", BLUE, "o"),
    "joblib": ("joblib (loky)", VERMILION, "s"),
    "dask": ("Dask", GREEN, "^"),
    "ray": ("Ray", PINK, "D"),
    "multiprocessing.Pool": ("plain Pool", BLACK, "x"),
}
APART = 0.06  # of one step between numbers of workers, so that error bars do not hide each other


def draw_engines(content: dict[str, Any], note: str) -> Figure:
    """Draw what was measured."""
    speedup = content["speedup"]
    about = (
        f"Left and middle: the thesis workload, {speedup['participants']} participants; right: logistic "
        "regression of scikit-learn's. Whole jobs, over the same job on one slice; bars: 95 % intervals over "
        "runs. "
    )
    figure = new_figure(2.9, "Speed-up over workers, on each engine", about + note)
    panels = figure.subplots(1, len(WORKS), sharey=True)
    for axes, (work, title) in zip(panels, WORKS.items()):
        _draw(axes, speedup["works"][work], speedup["ladder"])
        axes.set_title(title.replace(", ", ",\n").replace("bin of", "bin\nof").replace("ions of", "ions\nof"))
        axes.set_xlabel("workers (processes)")
    panels[0].set_ylabel("speed-up (1 = one slice)")
    panels[0].set_ylim(0, 1.5 * max(speedup["ladder"]))  # an interval over few runs may be wider
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _draw(axes: Axes, systems: dict[str, Any], ladder: list[int]) -> None:
    places = np.arange(len(ladder))
    axes.plot(places, ladder, color=GREY, linestyle="--", label="ideal")
    for number, system in enumerate(SYSTEMS):
        if system not in systems:
            continue
        speed = [systems[system][str(n)]["speedup"] for n in ladder]
        mean = np.array([each["mean"] for each in speed])
        low, high = (
            np.array([each["mean"] if each[end] is None else each[end] for each in speed])
            for end in ("low", "high")
        )
        label, colour, marker = LOOKS[system]
        at = places + APART * (number - (len(SYSTEMS) - 1) / 2)
        axes.errorbar(
            at, mean, [mean - low, high - mean], color=colour, marker=marker, ms=4, capsize=2, label=label
        )
    axes.set_xticks(places, list(map(str, ladder)))
    axes.set_xlim(-0.4, len(ladder) - 0.6)
