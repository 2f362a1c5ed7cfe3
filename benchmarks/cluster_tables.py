"""Tables of what was measured and simulated for many machines."""

from __future__ import annotations

from typing import Any

from benchmarks import cluster_thesis as thesis
from benchmarks.cluster_constants import Constants
from benchmarks.cluster_thesis import BIN_BYTES, BINS, MACHINES, MINUTES, PERMUTE, POWER, TRAIN
from benchmarks.cluster_workloads import SMALL_UNITS, WAYS, breaks_even, fed_workers
from benchmarks.write import figures, number

Table = dict[str, Any]
FACTORS = {"bytes_per_second": (1e-6, "MB/s"), "start": (1.0, "s")}
SAYS = {
    "dask_task": "a task of Dask: seconds of its scheduler",
    "dask_driver": "a task of Dask: seconds of the driver",
    "dask_wall": "a task of Dask that does nothing, from the driver's view",
    "dask_start": "Dask, until its first workers are there",
    "ray_task": "a task of Ray: seconds of the driver",
    "ray_wall": "a task of Ray that does nothing, from the driver's view",
    "ray_start": "Ray, until its first workers have answered",
    "bytes_per_second": "arrays, pickled, through a loopback socket, unpickled",
    "train_power": "training a bin of power",
    "train_amplitude": "training a bin of amplitude",
    "apply": "applying all classifiers to a test bin",
    "permute": "fifty permutations",
    "job": "a job: key, fork, evidence, seal",
    "opening": "a worker opens the inputs of a job",
}


def tables_of(measured: dict[str, Any], found: dict[str, Any], used: Constants) -> list[Table]:
    """All tables, in their order."""
    return [
        _constants(measured, found["used"]),
        _divisions(found["thesis"]),
        _variants(found["thesis"]),
        _needs(found["thesis"]),
        _scheduler(found["scheduler"]),
        _bytes_of_units(used),
        _units(found["units"]),
        _retrained(found["retrained"]),
        _around(found["around"]),
        _break_even(used),
    ]


def _constants(measured: dict[str, Any], used: dict[str, float]) -> Table:
    """What was measured, and what was taken as given."""
    rows = []
    for name, each in measured.items():
        kind, _, workers = name.partition(", ")
        factor, unit = FACTORS.get(kind, FACTORS["start"] if kind.endswith("_start") else (1000.0, "ms"))
        scaled = {key: factor * each[key] for key in ("median", "min", "max")}
        with_ = workers or ("1 worker" if kind.startswith(("dask_", "ray_")) else "–")
        rows.append([SAYS[kind], with_, figures(scaled, unit), "measured"])
    for name, value in used.items():
        if name not in measured:
            rows.append([SAYS[name], "–", f"{number(1000 * value)} ms", "given"])
    return {
        "title": "Constants",
        "columns": ["what", "with", "median (smallest–largest)", "from"],
        "rows": rows,
        "note": "Seconds of a process are those in which it computed. The simulation takes the medians, of "
        "Dask and Ray those with 1 worker.",
    }


def _divisions(found: dict[str, Any]) -> Table:
    """Minutes of each way to divide the thesis's work."""
    each = found["divisions"]
    machines = [n for n in next(iter(each.values()))["machines"] if n != str(MACHINES)]
    rows = [
        [
            name,
            division["jobs"],
            _agreeing(division["perfect"]),
            f"{_agreeing(division['usual']['median'])} "
            f"({division['usual']['min']:.1f}–{division['usual']['max']:.1f})",
            *(f"{division['machines'][n]:.1f}" for n in machines),
        ]
        for name, division in each.items()
    ]
    return {
        "title": f"The thesis on 25 machines × 4 cores: {MINUTES} ± 0.8 minutes",
        "columns": [
            "the work is divided into",
            "jobs",
            "computing alone, min",
            "usual, min",
            *(f"usual, {_machines(n)}" for n in machines),
        ],
        "rows": rows,
        "note": "Bold: within 15 %. Usual: machines and tasks differ by 5 %, a task costs the driver 1 ms, "
        "0.5 s before each job, features over 10 Gbit/s to each task that trains or applies, and once to "
        "each machine that permutes; median over seeds.",
    }


def _variants(found: dict[str, Any]) -> Table:
    """Minutes of each way when one assumption is another one."""
    each = found["divisions"]
    names = list(next(iter(each.values()))["variants"])
    rows = [["usual", *(_agreeing(division["usual"]["median"]) for division in each.values())]]
    rows += [
        [name, *(_agreeing(division["variants"][name]["median"]) for division in each.values())]
        for name in names
    ]
    return {
        "title": "The same, minutes, with one assumption changed",
        "columns": ["assumed", *each],
        "rows": rows,
        "note": "Bold: within 15 % of the thesis's.",
    }


def _needs(found: dict[str, Any]) -> Table:
    """What each way would need besides computing, if it were one thing."""
    rows = []
    for name, division in found["divisions"].items():
        needed = division["needed"]
        rows.append(
            [
                name,
                f"{division['perfect']:.1f}",
                _range(needed["serial"], " s before each job"),
                _range(needed["gigabits"], " Gbit/s"),
            ]
        )
    return {
        "title": "What would make each way as long as the thesis's run",
        "columns": ["the work is divided into", "computing alone, min", "serial", "or a link of"],
        "rows": rows,
        "note": "To be within 15 %, and nothing else cost anything. The largest link that was looked at has "
        "100 Gbit/s.",
    }


def _scheduler(found: dict[str, Any]) -> Table:
    """How many workers Dask's scheduler can feed."""
    counts = list(next(iter(found["tasks"].values()))["efficiency"])
    rows = [
        [f"{task} s", f"{each['workers']:.0f}", *(f"{100 * each['efficiency'][n]:.0f} %" for n in counts)]
        for task, each in found["tasks"].items()
    ]
    return {
        "title": "One Dask scheduler: how many workers it keeps at work",
        "columns": ["task", "most busy workers", *(f"efficiency of {n}" for n in counts)],
        "rows": rows,
        "note": f"At {1000 * found['cost']:.2f} ms a task. {found['published']} workers, as published by "
        f"Silvr, are its limit with tasks of {found['task for published']:.2f} s.",
    }


def _bytes_of_units(used: Constants) -> Table:
    """How many workers a link can feed."""
    kinds = {
        "thesis: training a bin of power": (POWER * TRAIN / BINS, BIN_BYTES),
        "thesis: a permutation, features sent with it": (PERMUTE / 100, BINS * BIN_BYTES),
        "ours: training a bin of power": (used.train_power, BIN_BYTES),
        "ours: applying to a test bin": (used.apply, BIN_BYTES),
        "ours: training again, a permutation, features sent with it": (
            BINS * (used.train_power + used.apply),
            2 * BINS * BIN_BYTES,
        ),
    }
    rows = [
        [
            name,
            f"{number(seconds)} s",
            f"{number(held / 1e6)} MB",
            *(number(fed_workers(seconds, held, gigabits * 1.25e8)) for gigabits in (1, 10)),
        ]
        for name, (seconds, held) in kinds.items()
    ]
    return {
        "title": "Bytes of a unit, and how many workers a link feeds",
        "columns": ["unit", "computes", "reads", "workers, 1 Gbit/s", "workers, 10 Gbit/s"],
        "rows": rows,
        "note": "Below 1, a single core computes faster than the link brings what it computes on.",
    }


def _units(found: dict[str, Any]) -> Table:
    """Speed-up of many small units, by how they are put into messages."""
    counts = list(next(iter(found["ways"].values())))
    rows = []
    for way, by_machines in found["ways"].items():
        cells = []
        for count in counts:
            each = by_machines[count]
            cells.append(f"{each['speedup']:,.0f} ({100 * each['speedup'] / each['workers']:.0f} %)")
        rows.append([WAYS[way], *cells])
    return {
        "title": f"{found['units']:,} units of {1000 * SMALL_UNITS[1]:.0f} ms: speed-up (and efficiency)",
        "columns": ["messages", *map(_machines, counts)],
        "rows": rows,
        "note": "4 cores a machine, one Dask scheduler, no bytes.",
    }


def _retrained(found: dict[str, Any]) -> Table:
    """Runs that train everything again, on more and more machines."""
    rows = [
        [
            again,
            name,
            f"{each['seconds'] / 60:.1f}",
            f"{each['speedup']:.1f}",
            f"{100 * each['speedup'] / each['workers']:.0f} %",
            f"{100 * each['link']:.0f} %",
            f"{100 * each['scheduler']:.0f} %",
        ]
        for again, by_size in found["ways"].items()
        for name, each in by_size.items()
    ]
    measures = ["minutes", "speed-up", "efficiency", "link is busy", "scheduler is busy"]
    return {
        "title": f"18 participants, {found['permutations']:,} permutations that train again",
        "columns": ["features", "machines × cores", *measures],
        "rows": rows,
        "note": "From one place: every machine reads the features of each participant once, over 10 Gbit/s.",
    }


def _around(found: dict[str, Any]) -> Table:
    """Seconds of the thesis workload that are not computing."""
    rows = []
    for place, modes in found.items():
        for mode, each in modes.items():
            seconds, ideal = each["seconds"], each["ideal"]
            rows.append([place, mode, *(f"{value:.1f} s" for value in (seconds, ideal, seconds - ideal))])
    return {
        "title": "The thesis workload as our jobs, 18 participants: what is not computing",
        "columns": ["where", "jobs", "run", "if only computing took time", "not computing"],
        "rows": rows,
        "note": "Reading and hashing the input files is not in it.",
    }


def _break_even(used: Constants) -> Table:
    """From how much work more machines are faster than one."""
    rows = []
    for cluster, more in (("25 × 4", 100), ("100 × 4", 400), ("1000 × 4", 4000)):
        for jobs in (1, 54):
            for engine, start in (("Dask", used.dask_start), ("Ray", used.ray_start)):
                extra = start + jobs * used.opening
                seconds = breaks_even(32, more, extra)
                cells = (f"{extra:.1f} s", f"{seconds / 60:.0f} min", f"{seconds / 32:.0f} s")
                rows.append([cluster, jobs, engine, *cells])
    return {
        "title": "From how much work a cluster is faster than 32 cores of one machine",
        "columns": [
            "machines × cores",
            "jobs",
            "engine",
            "costs more",
            "minutes of one core",
            "on the 32 cores",
        ],
        "rows": rows,
        "note": "Starting the engine, as on one machine, and opening each job's inputs; bytes come on top. "
        "54 jobs of the thesis workload have units.",
    }


def _agreeing(minutes: float) -> str:
    return f"**{minutes:.1f}**" if thesis.agrees(minutes) else f"{minutes:.1f}"


def _machines(count: str) -> str:
    return "1 machine" if count == "1" else f"{int(count):,} machines"


def _range(ends: tuple[float, float] | None, unit: str) -> str:
    return "–" if ends is None else f"{number(ends[0])}–{number(ends[1])}{unit}"
