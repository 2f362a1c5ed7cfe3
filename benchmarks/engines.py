"""Engines: what a unit costs on each of them and in plain use of the same library, and how they scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.engines_decode import WORKS
from benchmarks.engines_overhead import COUNTERPARTS, TARGETS, measure_overhead
from benchmarks.engines_project import ENGINES, EngineProject
from benchmarks.engines_speedup import measure_speedup
from benchmarks.measure import ratio
from benchmarks.options import Options
from benchmarks.write import figures, number


def run(options: Options) -> dict[str, Any]:
    """Measure engines in a project of their own."""
    with EngineProject(options.folder / "engines") as project:
        overhead = measure_overhead(options, project)
        speedup = measure_speedup(options, project)
    tables = [*tables_of_overhead(overhead), table_of_speedup(speedup)]
    return {"overhead": overhead, "speedup": speedup, "tables": tables}


def tables_of_overhead(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables of what `engines_overhead.measure_overhead` found."""
    return [_of_engines(result), _of_plain_use(result), _of_fits(result)]


def table_of_speedup(result: Mapping[str, Any]) -> dict[str, Any]:
    """Table of what `engines_speedup.measure_speedup` found."""
    rows = []
    for work, systems in result["works"].items():
        for system, by_workers in systems.items():
            for workers, each in by_workers.items():
                speedup = each["speedup"]
                interval = "–" if speedup["low"] is None else f"{speedup['low']:.2f}–{speedup['high']:.2f}"
                efficiency = f"{100 * speedup['mean'] / int(workers):.0f} %"
                cells = [figures(each["seconds"], "s"), f"{speedup['mean']:.2f}", interval, efficiency]
                rows.append([WORKS[work], system, workers, *cells])
    rows += [["", name, f"left out: {why}", *["–"] * 4] for name, why in result["left_out"].items()]
    units = ", ".join(f"{WORKS[work]}: {count:,}" for work, count in result["units"].items())
    return {
        "title": "Speed-up over workers, on each engine",
        "columns": ["a unit", "on", "workers", "seconds", "speed-up", "95 % interval", "efficiency"],
        "rows": rows,
        "note": f"Units: {units}. Whole jobs, on workers that are there and have loaded what they need, over "
        "the same job on one slice in the same run: geometric mean over runs, Student's t interval of the "
        "logarithms. The Pool computes the units alone, forked from a process that has opened everything; it "
        "keeps nothing. All compute the same bits.",
    }


def _of_engines(result: Mapping[str, Any]) -> dict[str, Any]:
    columns = ["engine", "units", "start-up", "overhead a unit", "target", "met"]
    rows = []
    for name, each in result["engines"].items():
        target = TARGETS[name]
        met = "yes" if each["overhead"]["median"] <= target else "no"
        beside = _beside(each, result["plain"].get(COUNTERPARTS[name]))
        rows.append([name, *_cells(each), f"{target:.0f} µs", met, *beside])
    return {
        "title": "Engines: what a unit costs",
        "columns": [*columns, "plain use: overhead", "ours ÷ plain"],
        "rows": [*rows, *_absent(result, True, 8)],
        "note": f"Units of {number(result['unit_ms']['median'])} ms of one core (sha256 of a buffer), "
        f"{result['workers']} workers. Overhead: seconds a unit, less those of plain forks that do the same "
        "work and nothing else, measured right before and after; on a machine that others use it can be less "
        "than nothing. As many units that do nothing take slices "
        f"{figures(result['engines']['slices']['idle'], 'µs')} each. "
        "Start-up: a small first job less the same once more. Plain use is that of the next table: for "
        "slices a Pool with large chunks, for threads of joblib loky. ours ÷ plain: of the seconds a unit "
        "with its work.",
    }


def _of_plain_use(result: Mapping[str, Any]) -> dict[str, Any]:
    rows = [[name, *_cells(each), figures(each["each"], "µs")] for name, each in result["plain"].items()]
    return {
        "title": "The same units in plain use",
        "columns": ["library", "units", "start-up", "overhead a unit", "a unit with its work"],
        "rows": [*rows, *_absent(result, False, 5)],
        "note": "Each in a process of its own. Start-up: until the first few units were there. Where a unit "
        "costs much, there are fewer of them.",
    }


def _of_fits(result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": f"{result['fits']} small fits as one job",
        "columns": ["engine", "seconds"],
        "rows": [[name, figures(each["fits"], "s")] for name, each in result["engines"].items()],
        "note": "Least squares of 40 rows each; the whole job, on workers that are there already "
        "(slices are forked for each job).",
    }


def _cells(each: Mapping[str, Any]) -> list[str]:
    return [f"{each['units']:,}", figures(each["start"], "s"), figures(each["overhead"], "µs")]


def _beside(ours: Mapping[str, Any], peer: Mapping[str, Any] | None) -> list[str]:
    if peer is None:
        return ["–", "–"]
    return [figures(peer["overhead"], "µs"), figures(ratio(ours["each"]["values"], peer["each"]["values"]))]


def _absent(result: Mapping[str, Any], engines: bool, columns: int) -> list[list[str]]:
    return [
        [name, f"left out: {why}", *["–"] * (columns - 2)]
        for name, why in result["left_out"].items()
        if (name in ENGINES) == engines
    ]
