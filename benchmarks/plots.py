"""Figures of the benchmark, in the report's style, drawn from the JSON files alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.chains_project import CASES
from benchmarks.cluster_plot import draw_cluster
from benchmarks.engines_decode import WORKS
from benchmarks.engines_speedup import SYSTEMS as ENGINES
from benchmarks.loop_tables import draw_loop, noted_figure
from benchmarks.panel_general import SYSTEMS
from benchmarks.write import number, read_part
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, save, styled

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


def write_plots(folder: Path, part: str) -> list[Path]:
    """Draw what a part found."""
    content = read_part(folder, part)
    if content is None or "skipped" in content:
        return []
    with styled():
        return save(DRAW[part](content, _sizes(content)), folder, part)


def _peers(content: dict[str, Any], note: str) -> Figure:
    names = {
        "thesis": "scikit-learn, as the thesis",
        "vectorised": "scikit-learn, vectorised",
        "vectorised, all cores": f"the same, joblib, {content['cores']} cores",
        "ours": "Shortloop",
        "ours, all cores": f"Shortloop, {content['cores']} cores",
    }
    about = f"{content['permutations']} permutations; scikit-learn from samples, scaled up. {note}"
    bars = [
        (label, content["seconds"][name], content["over_ours"][name], name.startswith("ours"))
        for name, label in names.items()
    ]
    return _bars("One participant of the thesis workload", about, bars)


def _diagnostics(content: dict[str, Any], note: str) -> Figure:
    seconds, over = content["seconds"], content["over_ours"]
    bars = [(name, each, over[name], name.startswith("shortloop")) for name, each in seconds.items()]
    return _bars(f"{content['pages']} pages of four plots, one for each group", note, bars)


def _general(content: dict[str, Any], note: str) -> Figure:
    bars = [
        (f"{size}: {name}", each, found["best_over"][name] if name in SYSTEMS else None, name in SYSTEMS)
        for size, found in content["sizes"].items()
        for name, each in found["seconds"].items()
    ]
    return _bars("Groups × rows fitted by statsmodels, all cores", note, bars)


def _files(content: dict[str, Any], note: str) -> Figure:
    bars = [
        (f"{found['shape']}: {name}", each, found["over_ours"][name], name == "fit_frame")
        for found in content["files"]
        for name, each in found["seconds"].items()
    ]
    return _bars("From a file to a table in a new process, groups × rows", note, bars)


def _units(content: dict[str, Any], note: str) -> Figure:
    bars = [
        (f"{name}: {case}", each["seconds"][case], each["over_ours"][case], name == "Shortloop")
        for name, each in content["tools"].items()
        for case in each["seconds"]
    ]
    return _bars(f"{content['units']:,} small fits, all cores", note, bars)


def _bars(title: str, note: str, bars: list[tuple[str, Any, Any, bool]]) -> Figure:
    figure = noted_figure(0.6 + 0.36 * len(bars), title, note)
    axes = figure.subplots()
    for row, (_, seconds, over, own) in enumerate(reversed(bars)):
        axes.barh(row, seconds["median"], 0.62, color=BLUE if own else GREY)
        axes.errorbar(seconds["median"], row, xerr=_ends([seconds]), color=BLACK, capsize=3)
        times = "" if over is None or own else f", {number(over['median'])} ×"
        axes.text(1.15 * seconds["max"], row, f"{number(seconds['median'])} s{times}", va="center")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(_plain)
    axes.set_yticks(range(len(bars)), [label for label, *_ in reversed(bars)])
    axes.set_xlabel("seconds (median, and range over runs)")
    low, high = min(s["min"] for _, s, _, _ in bars), max(s["max"] for _, s, _, _ in bars)
    axes.set_xlim(low / 3, high * (high / low) ** 0.4 * 4)
    return figure


def _chains(content: dict[str, Any], note: str) -> Figure:
    """Draw what was measured."""
    tools = list(next(iter(content["sizes"].values())))
    figure = noted_figure(2.0 + 0.28 * len(tools), "Chains of toy jobs", note)
    panels = figure.subplots(1, len(CASES), sharex=True, sharey=True)
    for axes, case in zip(panels, CASES):
        for colour, (size, found) in zip((GREY, BLUE, VERMILION), content["sizes"].items()):
            there = [
                (row, found[tool][case]["seconds"])
                for row, tool in enumerate(tools)
                if case in found.get(tool, {})
            ]
            rows = [row for row, _ in there]
            seconds = [each for _, each in there]
            look: dict[str, Any] = {"color": colour, "linestyle": "", "marker": "o", "ms": 4}
            median = [each["median"] for each in seconds]
            axes.errorbar(median, rows, xerr=_ends(seconds), label=f"{int(size):,} jobs", **look)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(_plain)
        axes.set_title(case)
        axes.set_xlabel("seconds")
        axes.set_yticks(range(len(tools)), tools)
    low, high = panels[0].get_xlim()
    panels[0].set_xlim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _engines(content: dict[str, Any], note: str) -> Figure:
    """Draw what was measured."""
    speedup = content["speedup"]
    about = (
        f"Left and middle: the thesis workload, {speedup['participants']} participants; right: logistic "
        "regression of scikit-learn's. Whole jobs, over the same job on one slice; bars: 95 % intervals over "
        "runs. "
    )
    figure = noted_figure(2.9, "Speed-up over workers, on each engine", about + note)
    panels = figure.subplots(1, len(WORKS), sharey=True)
    for axes, (work, title) in zip(panels, WORKS.items()):
        _speedup(axes, speedup["works"][work], speedup["ladder"])
        axes.set_title(title.replace(", ", ",\n").replace("bin of", "bin\nof").replace("ions of", "ions\nof"))
        axes.set_xlabel("workers (processes)")
    panels[0].set_ylabel("speed-up (1 = one slice)")
    panels[0].set_ylim(0, 1.5 * max(speedup["ladder"]))  # an interval over few runs may be wider
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _speedup(axes: Axes, systems: dict[str, Any], ladder: list[int]) -> None:
    places = np.arange(len(ladder))
    axes.plot(places, ladder, color=GREY, linestyle="--", label="ideal")
    for row, system in enumerate(ENGINES):
        if system not in systems:
            continue
        speed = [systems[system][str(n)]["speedup"] for n in ladder]
        mean = np.array([each["mean"] for each in speed])
        low, high = (
            np.array([each["mean"] if each[end] is None else each[end] for each in speed])
            for end in ("low", "high")
        )
        label, colour, marker = LOOKS[system]
        at = places + APART * (row - (len(ENGINES) - 1) / 2)
        axes.errorbar(
            at, mean, [mean - low, high - mean], color=colour, marker=marker, ms=4, capsize=2, label=label
        )
    axes.set_xticks(places, list(map(str, ladder)))
    axes.set_xlim(-0.4, len(ladder) - 0.6)


def _ladder(content: dict[str, Any], note: str) -> Figure:
    """Seconds of each step, and its factor over the one before."""
    steps = content["steps"]
    title = f"Least squares in {content['groups']:,} groups of {content['rows']} rows"
    figure = noted_figure(1.2 + 0.42 * len(steps), title, note)
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
    axes.xaxis.set_major_formatter(_plain)
    low = min(step["seconds"]["min"] for step in steps.values())
    high = max(step["seconds"]["max"] for step in steps.values())
    axes.set_xlim(low / 2, high * 200)  # room for what is written
    axes.set_xlabel("seconds for all groups")
    return figure


def _level(content: dict[str, Any], note: str) -> Figure:
    """Shares of studies of noise that are significant."""
    levels = content["levels"]
    figure = noted_figure(1.4 + 0.36 * len(levels), f"{content['studies']:,} studies of pure noise", note)
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


def _panel(content: dict[str, Any], note: str) -> Figure:
    """How many times as long the other ways take."""
    sizes = content["sizes"]
    figure = noted_figure(1.2 + 1.5 * len(sizes), "Least squares in every group, one core", note)
    for ax, (name, found) in zip(
        figure.subplots(len(sizes), 1, squeeze=False)[:, 0], sizes.items(), strict=True
    ):
        ways = list(found["over_ours"])
        rows = np.arange(len(ways))[::-1]
        for row, way in zip(rows, ways, strict=True):
            each = found["over_ours"][way]
            ax.barh(row, each["median"], 0.6, color=BLUE)
            ax.errorbar(each["median"], row, xerr=_ends([each]), color=BLACK, capsize=3)
            ax.text(1.15 * each["max"], row, f"{each['median']:.3g}", va="center")
        ax.set_yticks(rows, ways)
        ax.set_xscale("log")
        ax.set_xlim(0.8, 3.0 * max(each["max"] for each in found["over_ours"].values()))
        groups, _, length = name.partition(" × ")
        ax.set_title(f"{int(groups):,} groups of {int(length):,} rows")
        ax.set_xlabel("times as long as shortloop takes")
    return figure


def _ends(spreads: list[dict[str, float]]) -> list[list[float]]:
    """Distances of the smallest and the largest values from the medians."""
    below = [each["median"] - each["min"] for each in spreads]
    return [below, [each["max"] - each["median"] for each in spreads]]


def _plain(value: float, position: float) -> str:
    return f"{value:,g}"


def _sizes(content: dict[str, Any]) -> str:
    machine, options = content["machine"], content["options"]
    tiny = " Tiny sizes: nothing of this is about speed." if options["quick"] else ""
    runs = "1 run" if options["runs"] == 1 else f"{options['runs']} runs"
    return f"{machine['cores']} cores, {runs}.{tiny}"


DRAW = {
    "loop": draw_loop,
    "peers": _peers,
    "chains": _chains,
    "cluster": draw_cluster,
    "engines": _engines,
    "files": _files,
    "ladder": _ladder,
    "level": _level,
    "panel": _panel,
    "general": _general,
    "units": _units,
    "diagnostics": _diagnostics,
}
"""How each part is drawn, from what it found and a note on sizes."""
