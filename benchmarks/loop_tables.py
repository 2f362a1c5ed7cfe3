"""Tables and the figure of the loop: seconds of both commits, ratios, and where the time goes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING, Any

from benchmarks.write import figures, number
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NONE = "–"
CHANGED = 0.05  # a ratio nearer to 1 is drawn as no change


def tables_of(result: dict[str, Any], cold: str, watched: str, exax: str) -> list[dict[str, Any]]:
    """Tables of what was measured."""
    found = [
        _seconds(result),
        _toys(result, exax),
        _spans(result),
        _cold(result, cold, watched),
        _stages(result),
    ]
    return [table for table in found if table["rows"]]


def _seconds(result: dict[str, Any]) -> dict[str, Any]:
    sides = result["sides"]
    both = len(sides) == 2
    rows = [
        [
            case,
            *(_cell(each, side, "seconds", "s") for side in sides),
            *([number(each["ratio"]["median"]) + "×" if "ratio" in each else NONE] if both else []),
            _jobs(each, sides),
            *([_processor(each, sides)] if both else []),
        ]
        for case, each in result["cases"].items()
    ]
    failed = "".join(f" Failed: {each}." for each in result["failed"])
    people = f"{result['participants']} participant{'' if result['participants'] == 1 else 's'}"
    return {
        "name": "seconds",
        "title": f"The loop: {people} of the thesis workload, and toy jobs",
        "columns": ["case", *sides, *(["ratio"] if both else []), "jobs", *(["processor"] if both else [])],
        "rows": rows,
        "note": "Seconds of the whole command: `ax run build_pipeline` with a server that runs, from .mat "
        "files in the page cache to the report; `shortloop run`, which starts a server, for 'no server' "
        "and 'new project' (2 participants). Cold: nothing in the project, machine code of this user "
        "there, unless a version keeps it in the project. ratio: HEAD over the other commit, median "
        "within runs. jobs: built by each. processor: ratio of processor time of the command and the "
        "server, which other work on the machine disturbs less." + failed,
    }


def _toys(result: dict[str, Any], exax: str) -> dict[str, Any]:
    cases = {case: each for case, each in result["cases"].items() if exax in each}
    rows = []
    for side in (exax, *result["sides"]):
        cells = []
        for each in cases.values():
            over = NONE
            if side in each:
                over = number(each[side]["seconds"]["median"] / each[exax]["seconds"]["median"])
            cells += [_cell(each, side, "seconds", "s"), over]
        rows.append([side, *cells])
    return {
        "name": "toys",
        "title": "A chain of toy jobs against plain exax",
        "columns": ["", *(column for case in cases for column in (case, f"over {exax}"))],
        "rows": rows if cases else [],
        "note": "`ax run` with a server that runs; each job is made from the one before.",
    }


def _spans(result: dict[str, Any]) -> dict[str, Any]:
    toys, sides = result["toys"], result["sides"]
    cases = {case: each for case, each in result["cases"].items() if " jobs that " in case}
    least = toys["independent"] * toys["seconds"] / result["cores"]
    return {
        "name": "independent",
        "title": "Independent jobs without units, from the start of the first to the end of the last",
        "columns": ["case", *sides],
        "rows": [[case, *(_cell(each, side, "span", "s") for side in sides)] for case, each in cases.items()],
        "note": f"The seconds above are of the whole command and hold the start of the engine. With "
        f"{result['cores']} cores always at work these are {number(least)} s.",
    }


def _cold(result: dict[str, Any], cold: str, watched: str) -> dict[str, Any]:
    sides, cases = result["sides"], result["cases"]
    rows = []
    if cold in cases:
        rows = [
            [what, *(_cell(cases[cold], side, key, unit, scale) for side in sides)]
            for what, key, unit, scale in (
                ("cores at work between the first and the last job", "busy", "%", 100.0),
                ("from the start of the first job to the end of the last", "span", "s", 1.0),
                ("processor time of the whole command", "processor", "s", 1.0),
            )
        ]
    if watched in cases:
        peak = [_cell(cases[watched], side, "peak_mb", "MB") for side in sides]
        rows.append([f"peak memory, {watched}", *peak])
    return {
        "name": "cold",
        "title": "The cold run",
        "columns": ["", *sides],
        "rows": rows,
        "note": "Cores at work: processor time of the server, the command and all that these start, sampled "
        f"five times a second, over {result['cores']} cores times the seconds between the start of the first "
        "job and the end of the last, as exax writes them into `post.json`. Memory without pages of files; "
        "what processes share counts once.",
    }


def _stages(result: dict[str, Any]) -> dict[str, Any]:
    sides, stages = result["sides"], result["stages"]
    names = dict.fromkeys(name for side in sides for name in stages.get(side, {}))
    rows = []
    for name in names:
        each = [stages.get(side, {}).get(name) for side in sides]
        rows.append([name, *(NONE if one is None else _stage(one) for one in each)])
    return {
        "name": "stages",
        "title": "Processor time of the stages of the cold run",
        "columns": ["stage", *sides],
        "rows": rows,
        "note": "Of the last run, as manifests say. Jobs that overlap may count processes of each other.",
    }


def _stage(found: dict[str, float]) -> str:
    unknown = f" and {found['unknown']} unknown" if found["unknown"] else ""
    return f"{found['jobs']} job{'' if found['jobs'] == 1 else 's'}, {number(found['processor'])} s{unknown}"


def _cell(case: dict[str, Any], side: str, what: str, unit: str, scale: float = 1.0) -> str:
    if what not in case.get(side, {}):
        return NONE
    found = {key: scale * case[side][what][key] for key in ("median", "min", "max")}
    one_run = len(case[side][what]["values"]) == 1
    return f"{number(found['median'])} {unit}" if one_run else figures(found, unit)


def _jobs(case: dict[str, Any], sides: Sequence[str]) -> str:
    counts = [f"{case[side]['jobs']['median']:.0f}" for side in sides if side in case]
    return counts[0] if len(set(counts)) == 1 else " → ".join(counts)


def _processor(case: dict[str, Any], sides: Sequence[str]) -> str:
    spent = [case.get(side, {}).get("processor", {}).get("median") for side in sides]
    return NONE if None in spent or not spent[0] else f"{number(spent[1] / spent[0])}×"


def noted_figure(height: float, title: str, note: str) -> Figure:
    """A figure with a title, and with a note below."""
    lines = textwrap.wrap(note, 102)
    figure = new_figure(height + 0.18 * len(lines), title)
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=9, color="#333333")
    return figure


def draw_loop(content: dict[str, Any], note: str) -> Figure:
    """Draw seconds of each case, and ratios if two commits were compared."""
    cases, sides = content["cases"], content["sides"]
    both = len(sides) == 2
    title = f"The loop at {sides[-1]}" + (f", against {sides[0]}" if both else "")
    figure = noted_figure(1.6 + 0.25 * len(cases), title, note)
    ratios = [1.25, 1] if both else [1]
    panels = figure.subplots(1, len(ratios), sharey=True, squeeze=False, width_ratios=ratios)[0]
    _draw_seconds(panels[0], cases, sides)
    if both:
        _draw_ratios(panels[1], cases)
    panels[0].set_yticks(range(len(cases)), list(cases))
    panels[0].set_ylim(len(cases) - 0.5, -0.5)
    panels[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    return figure


def _draw_seconds(axes: Axes, cases: dict[str, Any], sides: Sequence[str]) -> None:
    looks = [(GREY, "o", 5.5), (BLUE, "D", 4.5)][-len(sides) :]
    for side, (colour, marker, size) in zip(sides, looks):
        there = [(row, each[side]["seconds"]) for row, each in enumerate(cases.values()) if side in each]
        median = [each["median"] for _, each in there]
        ends = [
            [each["median"] - each["min"] for _, each in there],
            [each["max"] - each["median"] for _, each in there],
        ]
        axes.errorbar(
            median, [row for row, _ in there], xerr=ends, color=colour, linestyle="", marker=marker,
            ms=size, capsize=2, label=side,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, position: f"{value:g}")
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.set_xlabel("seconds of the command (number: HEAD)")
    axes.margins(x=0.2)
    for row, each in enumerate(cases.values()):  # at HEAD
        if sides[-1] in each:
            right = max(each[side]["seconds"]["max"] for side in sides if side in each)
            text = f"{number(each[sides[-1]]['seconds']['median'])} s"
            axes.annotate(
                text, (right, row), (6, 0), textcoords="offset points", va="center", fontsize="small"
            )


def _draw_ratios(axes: Axes, cases: dict[str, Any]) -> None:
    for row, each in enumerate(cases.values()):
        if "ratio" not in each:
            continue
        found = each["ratio"]["median"]
        colour = GREY if abs(found - 1) < CHANGED else BLUE if found < 1 else VERMILION
        axes.barh(row, found - 1, 0.6, 1, color=colour)
        side = "left" if found >= 1 else "right"
        axes.annotate(
            f"{number(found)}×", (found, row), (4 if found >= 1 else -4, 0), textcoords="offset points",
            va="center", ha=side, fontsize="small",
        )  # fmt: skip
    axes.axvline(1, color=BLACK, linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, position: f"{value:g}×")
    # As far on both sides, with room for the numbers.
    most = max([abs(log2(each["ratio"]["median"])) for each in cases.values() if "ratio" in each], default=0)
    axes.set_xlim(2 ** -(1.4 * most + 1), 2 ** (1.4 * most + 1))
    far = max(1, int(most))
    axes.set_xticks([2.0**-far, 1, 2.0**far])
    axes.set_xlabel("ratio (left: faster)")
