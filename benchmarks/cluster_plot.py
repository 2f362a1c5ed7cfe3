"""The figure of many machines: the thesis's run, and how far messages and bytes let a job scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.loop_tables import noted_figure
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREEN, SKY, PINK = "#009E73", "#56B4E9", "#CC79A7"  # Okabe & Ito
TICKS = (1, 2, 5, 10, 25, 50, 100, 250, 1000)
SHOWN = {
    "participants": ("participants", GREY, "s"),
    "participants train, then permutations": ("participants train, then\npermutations", PINK, "D"),
    "bins, then participants permute": ("bins, then participants\npermute", GREEN, "^"),
    "bins and permutations, one participant after another": (
        "bins and permutations,\none participant after another",
        BLUE,
        "o",
    ),
    "bins and permutations, all participants at once": ("the same, all at once", SKY, "v"),
}
WAYS = {
    "scaled": ("batches that grow with\nthe workers", BLUE, "o"),
    "chunks": ("equal chunks", GREEN, "^"),
    "adaptive": ("batches of 0.5 s at most", VERMILION, "s"),
    "singly": ("one unit a message", GREY, "v"),
}

AGAIN = {
    "the same, 18 participants at once": ("training again, features\non each machine", "-."),
    "features from one place": ("training again, features\nfrom one place", ":"),
}


def draw_cluster(content: dict[str, Any], note: str) -> Figure:
    """Draw what was simulated."""
    about = "Upper: with usual machines and links; shaded: down to computing alone. "
    figure = noted_figure(6.8, "More and more machines of 4 cores, simulated", about + note)
    upper, lower = figure.subplots(2, 1)
    _thesis(upper, content["thesis"])
    _messages(lower, content)
    for axes in (upper, lower):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("machines")
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(_plain)
        axes.yaxis.set_major_formatter(_plain)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def _thesis(axes: Axes, found: dict[str, Any]) -> None:
    first = next(iter(found["divisions"].values()))
    machines = [int(n) for n in first["machines"]]
    perfect = found["divisions"]["100 equal parts of each stage"]["perfect"]
    axes.axhspan(0.85 * found["minutes"], 1.15 * found["minutes"], color="#EEEEEE", zorder=0)
    axes.plot(machines, [25 * perfect / n for n in machines], color=GREY, linestyle="--", label="ideal")
    for name, (label, colour, marker) in SHOWN.items():
        minutes = list(found["divisions"][name]["machines"].values())
        least = list(found["divisions"][name]["perfect machines"].values())
        axes.fill_between(machines, least, minutes, color=colour, alpha=0.15, linewidth=0)
        axes.plot(machines, minutes, color=colour, marker=marker, ms=4, label=label)
    axes.errorbar(
        25,
        found["minutes"],
        0.8,
        color=BLACK,
        marker="*",
        ms=11,
        capsize=3,
        zorder=5,
        linestyle="",
        label=f"measured in the thesis:\n{found['minutes']} ± 0.8 min, Ray",
    )
    axes.set_title("The thesis's work, by what is handed out (grey: its time ± 15 %)")
    axes.set_ylabel("minutes")
    axes.set_yticks([2, 5, 10, 20, 50, 100])
    axes.set_ylim(3, 180)
    axes.set_xticks([n for n in machines if n in TICKS])


def _messages(axes: Axes, content: dict[str, Any]) -> None:
    found = content["units"]["ways"]
    machines = [int(n) for n in next(iter(found.values()))]
    axes.plot(machines, [4 * n for n in machines], color=GREY, linestyle="--", label="ideal")
    for way, (label, colour, marker) in WAYS.items():
        speedup = [each["speedup"] for each in found[way].values()]
        axes.plot(machines, speedup, color=colour, marker=marker, ms=4, label=label)
    for again, (label, line) in AGAIN.items():
        sizes = content["retrained"]["ways"][again]
        points = [(n, sizes[f"{n} × 4"]["speedup"]) for n in machines if f"{n} × 4" in sizes]
        axes.plot(*zip(*points), color=BLACK, marker="D", ms=4, linestyle=line, label=label)
    axes.set_title(
        f"{1000 * content['units']['seconds']:.0f} ms units through one Dask scheduler; training again"
    )
    axes.set_ylabel("speed-up over one core")
    axes.set_xticks([n for n in machines if n in TICKS])


def _plain(value: float, position: float) -> str:
    return f"{value:,g}"
