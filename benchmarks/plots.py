"""Figures of the benchmark, in the report's style, drawn from the JSON files alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.chains_plot import draw_chains
from benchmarks.cluster_plot import draw_cluster
from benchmarks.engines_plot import draw_engines
from benchmarks.ladder_plot import draw_ladder
from benchmarks.level_plot import draw_level
from benchmarks.loop_tables import draw_loop
from benchmarks.panel_general import SYSTEMS
from benchmarks.panel_plot import draw_panel
from benchmarks.write import number, read_part
from shortloop.report.style import BLACK, BLUE, GREY, new_figure, save, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_plots(folder: Path, part: str) -> list[Path]:
    """Draw what a part found."""
    content = read_part(folder, part)
    if content is None or "skipped" in content:
        return []
    draw = {
        "loop": lambda content: draw_loop(content, _sizes(content)),
        "peers": _peers,
        "chains": lambda content: draw_chains(content, _sizes(content)),
        "cluster": lambda content: draw_cluster(content, _sizes(content)),
        "engines": lambda content: draw_engines(content, _sizes(content)),
        "ladder": lambda content: draw_ladder(content, _sizes(content)),
        "level": lambda content: draw_level(content, _sizes(content)),
        "panel": lambda content: draw_panel(content, _sizes(content)),
        "general": _general,
        "diagnostics": _diagnostics,
    }[part]
    with styled():
        return save(draw(content), folder, part)


def _peers(content: dict[str, Any]) -> Figure:
    names = {
        "thesis": "scikit-learn, as the thesis",
        "vectorised": "scikit-learn, vectorised",
        "vectorised, all cores": f"the same, joblib, {content['cores']} cores",
        "ours": "Shortloop",
        "ours, all cores": f"Shortloop, {content['cores']} cores",
    }
    note = f"{content['permutations']} permutations; scikit-learn from samples, scaled up. {_sizes(content)}"
    bars = [
        (label, content["seconds"][name], content["over_ours"][name], name.startswith("ours"))
        for name, label in names.items()
    ]
    return _bars("One participant of the thesis workload", note, bars)


def _diagnostics(content: dict[str, Any]) -> Figure:
    seconds, over = content["seconds"], content["over_ours"]
    bars = [(name, each, over[name], name.startswith("shortloop")) for name, each in seconds.items()]
    return _bars(f"{content['pages']} pages of four plots, one for each group", _sizes(content), bars)


def _general(content: dict[str, Any]) -> Figure:
    bars = [
        (f"{size}: {name}", each, found["best_over"][name] if name in SYSTEMS else None, name in SYSTEMS)
        for size, found in content["sizes"].items()
        for name, each in found["seconds"].items()
    ]
    return _bars("Groups × rows fitted by statsmodels, all cores", _sizes(content), bars)


def _bars(title: str, note: str, bars: list[tuple[str, Any, Any, bool]]) -> Figure:
    figure = new_figure(0.6 + 0.36 * len(bars), title, note)
    axes = figure.subplots()
    for row, (_, seconds, over, own) in enumerate(reversed(bars)):
        ends = [[seconds["median"] - seconds["min"]], [seconds["max"] - seconds["median"]]]
        axes.barh(row, seconds["median"], 0.62, color=BLUE if own else GREY)
        axes.errorbar(seconds["median"], row, xerr=ends, color=BLACK, capsize=3)
        times = "" if over is None or own else f", {number(over['median'])} ×"
        axes.text(1.15 * seconds["max"], row, f"{number(seconds['median'])} s{times}", va="center")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(_plain)
    axes.set_yticks(range(len(bars)), [label for label, *_ in reversed(bars)])
    axes.set_xlabel("seconds (median, and range over runs)")
    low, high = min(s["min"] for _, s, _, _ in bars), max(s["max"] for _, s, _, _ in bars)
    axes.set_xlim(low / 3, high * (high / low) ** 0.4 * 4)
    return figure


def _plain(value: float, position: float) -> str:
    return f"{value:,g}"


def _sizes(content: dict[str, Any]) -> str:
    machine, options = content["machine"], content["options"]
    tiny = " Tiny sizes: nothing of this is about speed." if options["quick"] else ""
    runs = "1 run" if options["runs"] == 1 else f"{options['runs']} runs"
    return f"{machine['cores']} cores, {runs}.{tiny}"
