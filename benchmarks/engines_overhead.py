"""What a unit costs beside its work: on each engine, and with the same libraries as their users call them."""

from __future__ import annotations

import hashlib
import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import Any

from benchmarks.engines_plain import PEERS, not_installed, plain
from benchmarks.engines_project import ENGINES, EngineProject, Job
from benchmarks.engines_spin import bytes_for, spin
from benchmarks.measure import interleaved, spread
from benchmarks.options import Options, cores
from shortloop.units.messages import SLICES

UNIT = 1e-3  # s
UNITS, QUICK_UNITS = 100_000, 300
FEWER = 10  # times fewer units, of a peer to which each costs milliseconds
FITS, QUICK_FITS = 500, 50
WORKERS = 2
FLOOR_SHARE = 10  # units of the plain forks before and after each measurement: this part of all
TARGETS = {"slices": 10.0, "joblib": 20.0, "joblib:threading": 20.0, "dask": 100.0, "ray": 100.0}
"""µs a unit that an engine may cost."""
COUNTERPARTS = {
    "slices": "Pool.imap_unordered, large chunks",
    "joblib": "joblib.Parallel (loky)",
    "joblib:threading": "joblib.Parallel (loky)",
    "dask": "Dask: Client.map, gather",
    "ray": "Ray: a task a unit, ray.get",
}
"""Plain use that each engine is compared with."""


def measure_overhead(options: Options, project: EngineProject) -> dict[str, Any]:
    """Measure all engines and peers that are installed, in turn."""
    workers = min(WORKERS, cores())
    most, fits = (QUICK_UNITS, QUICK_FITS) if options.quick else (UNITS, FITS)
    size = bytes_for(UNIT)
    units = dict.fromkeys(ENGINES, most)
    units |= {name: max(most // FEWER, workers) if peer.is_slow else most for name, peer in PEERS.items()}
    libraries = {**ENGINES, **{name: peer.library for name, peer in PEERS.items()}}
    left_out = not_installed(libraries)
    floors: list[float] = []

    def between_floors(name: str, measure: Callable[[], dict[str, float]], run: int) -> dict[str, float]:
        share = max(workers, units[name] // FLOOR_SHARE)
        around = [floor_seconds(workers, share, partial(spin, size=size))]
        found = measure()
        around.append(floor_seconds(workers, share, partial(spin, size=size)))
        floors.append(fmean(around))
        each = 1e6 * found["seconds"] / units[name]
        return {**found, "each": each, "overhead": overhead(found["seconds"], units[name], fmean(around))}

    works = {}
    for name in libraries:
        if name not in left_out:
            measure = partial(_ours, project, workers, fits) if name in ENGINES else partial(_plain, workers)
            works[name] = partial(between_floors, name, partial(measure, name, units[name], size))
    measured = interleaved(works, options.runs)
    found = {name: {"units": units[name], **_spreads(runs)} for name, runs in measured.items()}
    return {
        "workers": workers,
        "fits": fits,
        "unit_ms": spread([1e3 * workers * floor for floor in floors]),
        "left_out": left_out,
        "engines": {name: each for name, each in found.items() if name in ENGINES},
        "plain": {name: each for name, each in found.items() if name in PEERS},
    }


def overhead(seconds: float, units: int, floor: float) -> float:
    """What a unit costs beside its work."""
    return 1e6 * (seconds / units - floor)


def floor_seconds(workers: int, units: int, work: Callable[[int], Any]) -> float:
    """Seconds a unit that plain forks need, each of which has its share and asks nobody."""
    context = multiprocessing.get_context("fork")
    start = context.Barrier(workers)
    spent = context.Array("d", workers)
    share = -(-units // workers)

    def body(number: int) -> None:
        work(0)
        start.wait(timeout=60)
        began = time.perf_counter()
        for unit in range(share):
            work(unit)
        spent[number] = time.perf_counter() - began

    forks = [context.Process(target=body, args=(number,)) for number in range(workers)]
    for fork in forks:
        fork.start()
    for fork in forks:
        fork.join()
    if any(fork.exitcode != 0 for fork in forks):
        raise RuntimeError("a plain fork failed; its message is above")
    return 1 / sum(share / each for each in spent[:])


def _ours(
    project: EngineProject, workers: int, fits: int, engine: str, units: int, size: int
) -> dict[str, float]:
    """A small job that starts the engine, the same once more, and the units; of slices also units that do
    nothing. Other engines would compute some of those early, while the job before them runs.
    """
    small = ("fit", {"count": fits})
    spins = [("spin", {"count": units, "size": each}) for each in ([size, 0] if engine == SLICES else [size])]
    first, again, job, *idle = project.build(engine, workers, [small, small, *spins])
    for each in (job, *idle):
        _check(engine, _content(each), units)
    found = {"seconds": job.seconds, "start": first.seconds - again.seconds, "fits": again.seconds}
    return {**found, "idle": 1e6 * idle[0].seconds / units} if idle else found


def _plain(workers: int, peer: str, units: int, size: int) -> dict[str, float]:
    found = plain(peer, workers, units, {"size": size})
    _check(peer, found["content"], units)
    return {"seconds": found["seconds"], "start": found["start"]}


def _content(job: Job) -> str:
    import numpy as np

    return hashlib.sha256(np.load(job.folder / "values.npy").tobytes()).hexdigest()


def _check(name: str, content: str, units: int) -> None:
    import numpy as np

    if content != hashlib.sha256(np.arange(units).tobytes()).hexdigest():
        raise RuntimeError(f"{name} left out units, or computed something else")


def _spreads(runs: list[dict[str, float]]) -> dict[str, Any]:
    return {what: spread([run[what] for run in runs]) for what in runs[0]}
