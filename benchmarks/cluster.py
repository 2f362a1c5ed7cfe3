"""What limits 25 and 1,000 machines: constants measured on this one, runs simulated with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from benchmarks import cluster_thesis as thesis
from benchmarks.cluster_constants import Constants, measure, median_of
from benchmarks.cluster_model import Outcome
from benchmarks.cluster_tables import tables_of
from benchmarks.cluster_workloads import (
    AGAIN,
    MODES,
    PUBLISHED,
    SMALL_UNITS,
    WAYS,
    around,
    many_units,
    retrained,
    saturation,
    task_seconds_for,
)
from benchmarks.measure import spread
from benchmarks.options import Options

MACHINES = (1, 2, 5, 10, 15, 20, 25, 50, 100)
MANY_MACHINES = (1, 5, 25, 100, 250, 1000)
CORES = 4
SEEDS = 10
TASKS = (0.1, 0.25, 0.5, 1.0)
PLACES = {
    "2 cores of one machine": (1, 2),
    "32 cores of one machine": (1, 32),
    "25 machines × 4 cores": (25, 4),
}


def run(options: Options) -> dict[str, Any]:
    """Measure the constants, and simulate."""
    measured = measure(options)
    used = median_of(measured)
    quick = options.quick
    result = {
        "constants": measured,
        "used": asdict(used),
        "thesis": _thesis(MACHINES[4::2] if quick else MACHINES, 1 if quick else SEEDS, quick),
        "scheduler": _scheduler(used, TASKS[:1] if quick else TASKS),
        "around": {
            place: {mode: around(used, *size, mode) for mode in MODES} for place, size in PLACES.items()
        },
        "retrained": _retrained(used, MANY_MACHINES[:3] if quick else MANY_MACHINES, 50 if quick else 1000),
        "units": _units(
            used, MANY_MACHINES[1:3] if quick else MANY_MACHINES, 20_000 if quick else SMALL_UNITS[0]
        ),
    }
    return {**result, "tables": tables_of(measured, result, used)}


def _thesis(machines: Iterable[int], seeds: int, quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"minutes": thesis.MINUTES, "divisions": {}}
    for division in thesis.DIVISIONS:
        few = quick and division is not thesis.DIVISIONS[0]  # the others are as good as this one
        changed = dict(list(thesis.VARIANTS.items())[: 1 if quick else None])
        found["divisions"][division.name] = {
            "jobs": len(division.jobs(thesis.PERFECT)),
            "largest": division.largest,
            "perfect": thesis.minutes(division, thesis.PERFECT),
            "usual": spread([thesis.minutes(division, thesis.USUAL, seed=seed) for seed in range(seeds)]),
            "machines": {str(n): thesis.minutes(division, thesis.USUAL, n) for n in machines},
            "perfect machines": {str(n): thesis.minutes(division, thesis.PERFECT, n) for n in machines},
            "variants": {
                name: spread([thesis.minutes(division, each, seed=seed) for seed in range(min(3, seeds))])
                for name, each in changed.items()
            },
            "needed": {"serial": None, "gigabits": None} if few else thesis.needed(division),
        }
    return found


def _scheduler(used: Constants, tasks: Iterable[float]) -> dict[str, Any]:
    return {
        "cost": used.dask_task,
        "published": PUBLISHED,
        "task for published": task_seconds_for(PUBLISHED, used.dask_task),
        "tasks": {str(task): saturation(task, used.dask_task) for task in tasks},
    }


def _retrained(used: Constants, machines: Iterable[int], permutations: int) -> dict[str, Any]:
    sizes = {f"{n} × {CORES}": (n, CORES) for n in machines} | {"1 × 32": (1, 32)}
    found: dict[str, Any] = {again: {} for again in AGAIN}
    for again, by_size in found.items():
        for name, size in sizes.items():
            by_size[name] = _figures(retrained(used, *size, again, permutations))
    return {"permutations": permutations, "ways": found}


def _units(used: Constants, machines: Iterable[int], units: int) -> dict[str, Any]:
    found: dict[str, Any] = {way: {} for way in WAYS}
    for way, by_machines in found.items():
        for count in machines:
            by_machines[str(count)] = _figures(many_units(used, count, CORES, way, units))
    return {"units": units, "seconds": SMALL_UNITS[1], "ways": found}


def _figures(run: Outcome) -> dict[str, float]:
    return {
        "seconds": run.seconds,
        "workers": run.workers,
        "speedup": run.computing / run.seconds,
        "link": run.link_out / run.seconds,
        "scheduler": run.scheduler / run.seconds,
    }
