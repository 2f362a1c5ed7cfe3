"""Figures of the benchmark, in the report's style, drawn from the JSON files alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.chains_plot import draw_chains
from benchmarks.cluster_plot import draw_cluster
from benchmarks.engines_plot import draw_engines
from benchmarks.ladder_plot import draw_ladder
from benchmarks.level_plot import draw_level
from benchmarks.panel_general import SYSTEMS
from benchmarks.panel_plot import draw_panel
from benchmarks.write import number, read_part
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, new_figure, save, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["write_plots"]

GREEN, SKY = "#009E73", "#56B4E9"  # Okabe & Ito, as the others


def write_plots(folder: Path, part: str) -> list[Path]:
    """Draw what a part found.

    Parameters
    ----------
    folder : Path
        Where its JSON file is; gets the PNG and the PDF.
    part : str

    Returns
    -------
    list of Path
        Empty if the part was skipped or never run.
    """
    content = read_part(folder, part)
    if content is None or "skipped" in content:
        return []
    draw = {
        "workload": _workload,
        "peers": _peers,
        "mne": _mne,
        "slices": _slices,
        "growth": _growth,
        "limits": _limits,
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


def _workload(content: dict[str, Any]) -> Figure:
    figure = new_figure(
        3.4, "The thesis workload, " + _participants(content["participants"]), _sizes(content)
    )
    axes = figure.subplots()
    cases = content["cases"]
    stages = [name for name in cases["cold"] if name.startswith("stage ")]
    colours = [GREY, "#E69F00", SKY, GREEN, BLUE, VERMILION, "#CC79A7", "#F0E442"]
    rows = np.arange(len(cases))[::-1]
    left = np.zeros(len(cases))
    for index, stage in enumerate(stages):
        width = np.array([case[stage]["median"] if stage in case else 0.0 for case in cases.values()])
        axes.barh(rows, width, 0.62, left, color=colours[index % 8], label=stage.removeprefix("stage "))
        left += width
    around = np.array([case["around jobs"]["median"] for case in cases.values()])
    axes.barh(rows, around, 0.62, left, color="white", edgecolor=BLACK, linewidth=0.8, label="around jobs")
    for row, case in zip(rows, cases.values()):
        command = case["command"]
        ends = [[command["median"] - command["min"]], [command["max"] - command["median"]]]
        axes.errorbar(command["median"], row, xerr=ends, color=BLACK, capsize=3)
        text = f"  {command['median']:.1f} s"
        axes.text(command["max"], row, text, va="center", ha="left")
    axes.set_yticks(rows, list(cases))
    axes.set_xlabel("seconds of the whole command (median, and range over runs)")
    axes.set_xlim(0, 1.12 * max(case["command"]["max"] for case in cases.values()))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
    return figure


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


def _mne(content: dict[str, Any]) -> Figure:
    bars = []
    for name, each in content["tasks"].items():
        bars.append((f"{name}: MNE", each["mne"], each["ratio"], False))
        bars.append((f"{name}: Shortloop", each["ours"], None, True))
    note = f"{content['labellings']} label vectors on one core; {content['sampled']} {_sizes(content)}"
    return _bars("Label permutations, everything trained again", note, bars)


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


def _slices(content: dict[str, Any]) -> Figure:
    note = f"Speed-up over one slice with one BLAS thread; bars: 95 % intervals. {_sizes(content)}"
    figure = new_figure(2.6, "Speed-up over slices", note)
    panels = figure.subplots(1, 2, sharey=True)
    titles = {"one": "one BLAS thread in each slice", "default": f"{content['cores']} BLAS threads in each"}
    colours = {"train": BLUE, "apply": GREEN, "permute": VERMILION, "products in cache": BLACK}
    most = content["cores"]
    for axes, (blas, title) in zip(panels, titles.items()):
        axes.plot([1, most], [1, most], color=GREY, linestyle="--", label="ideal")
        for place, (stage, found) in enumerate(content["stages"].items()):
            speed = [found[blas][str(n)]["speedup"] for n in range(1, most + 1)]
            mean = np.array([each["mean"] for each in speed])
            low = np.array([each["low"] if each["low"] is not None else each["mean"] for each in speed])
            high = np.array([each["high"] if each["high"] is not None else each["mean"] for each in speed])
            at = np.arange(1, most + 1) + 0.02 * most * (place - 1.5)
            axes.errorbar(at, mean, [mean - low, high - mean], color=colours[stage], marker="o", ms=4)
            axes.plot([], [], color=colours[stage], marker="o", ms=4, label=stage)
        axes.set_title(title)
        axes.set_xlabel("slices")
        axes.set_xticks(range(1, most + 1, max(1, most // 8)))
        axes.set_xlim(0.7, most + 0.3)
    panels[0].set_ylabel("speed-up")
    panels[0].set_ylim(0, 1.25 * most)  # an interval over few runs may be wider than any machine
    handles = {h.get_label(): h for h in panels[0].get_lines() if not str(h.get_label()).startswith("_")}
    figure.legend(list(handles.values()), list(handles), loc="outside right center")
    return figure


def _growth(content: dict[str, Any]) -> Figure:
    ladders = content["ladders"]
    figure = new_figure(4.2, "Growth", f"Dashed: fitted power law, its exponent. {_sizes(content)}")
    panels = figure.subplots(2, len(ladders), sharey="row")
    for column, (size, ladder) in enumerate(ladders.items()):
        for axes, name, colour in zip(panels[:, column], ("whole", "peak_mb"), (BLUE, VERMILION)):
            _power_law(axes, np.array(ladder["values"]), ladder[name], colour)
        panels[1, column].set_xlabel(size)
    panels[0, 0].set_ylabel("seconds")
    panels[1, 0].set_ylabel("peak memory, MB")
    return figure


def _power_law(axes: Axes, values: np.ndarray, found: dict[str, Any], colour: str) -> None:
    median, low, high = (
        np.array([each[key] for each in found["measured"]]) for key in ("median", "min", "max")
    )
    axes.errorbar(values, median, [median - low, high - median], color=colour, linestyle="", marker="o", ms=4)
    fitted = found["factor"] * values ** found["exponent"]
    axes.plot(values, fitted, color=BLACK, linestyle="--", linewidth=0.9)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(_plain)
    shown = values[:: 2 if len(values) > 3 else 1]
    axes.set_xticks(shown, [f"{value / 1000:g}k" if value >= 1000 else f"{value:g}" for value in shown])
    axes.minorticks_off()
    text = f"n^{found['exponent']:.2f}"
    axes.text(0.05, 0.97, text, transform=axes.transAxes, va="top")


def _limits(content: dict[str, Any]) -> Figure:
    note = f"Of what a stage cannot avoid, on one core. {_sizes(content)}"
    figure = new_figure(2.6, "Distance to the machine's limits", note)
    axes = figure.subplots()
    stages = content["stages"]
    rows = np.arange(len(stages))[::-1]
    for offset, key, colour, label in (
        (0.18, "share_of_gemm", BLUE, "FLOP/s,\nof a matrix product's"),
        (-0.18, "share_of_copy", VERMILION, "bytes/s,\nof a copy's"),
    ):
        share = [100 * each[key]["median"] for each in stages.values()]
        low = [100 * (each[key]["median"] - each[key]["min"]) for each in stages.values()]
        high = [100 * (each[key]["max"] - each[key]["median"]) for each in stages.values()]
        axes.barh(rows + offset, share, 0.34, color=colour, label=label)
        axes.errorbar(share, rows + offset, xerr=[low, high], color=BLACK, linestyle="", capsize=2)
    axes.axvline(100, color=GREY, linestyle="--")
    axes.set_yticks(rows, list(stages))
    axes.set_xlabel("% (median, and range over runs)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
    return figure


def _participants(count: int) -> str:
    return "1 participant" if count == 1 else f"{count} participants"


def _plain(value: float, position: float) -> str:
    return f"{value:,g}"


def _sizes(content: dict[str, Any]) -> str:
    machine, options = content["machine"], content["options"]
    tiny = " Tiny sizes: nothing of this is about speed." if options["quick"] else ""
    runs = "1 run" if options["runs"] == 1 else f"{options['runs']} runs"
    return f"{machine['cores']} cores, {runs}.{tiny}"
