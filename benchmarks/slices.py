"""Speed-up of the stages over 1 … N slices, with one thread of linear algebra each and with all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.measure import interleaved, spread, with_interval
from benchmarks.options import Options, cores
from benchmarks.thesis_data import QUICK, THESIS, Participant, simulate
from benchmarks.workers import seconds_over
from benchmarks.write import figures

__all__ = ["run"]

Stage = tuple[int, Callable[[int], Any]]
GEMM = "products in cache"


def run(options: Options) -> dict[str, Any]:
    """Measure the stages with each number of workers.

    Parameters
    ----------
    options : Options

    Returns
    -------
    dict
        ``stages``: for each stage, number of BLAS threads (``one`` or ``default``) and number of slices the
        spread of seconds and the speed-up over one slice with one thread; ``tables``.
    """
    ours.ready()
    stages = _stages(simulate(1, QUICK if options.quick else THESIS), options.quick)
    most = cores()
    threads = {"one": 1, "default": most}
    reached: dict[str, int] = {}
    works: dict[str, Callable[[int], float]] = {}

    def measure(key: str, slices: int, blas: str, stage: str, run: int) -> float:
        units, work = stages[stage]
        seconds, reached[blas] = seconds_over(slices, units, work, threads[blas])
        return seconds

    for stage in stages:
        for blas in threads:
            for slices in range(1, most + 1):
                key = f"{stage}/{blas}/{slices}"
                works[key] = partial(measure, key, slices, blas, stage)
    for stage in stages:
        works[f"{stage}/one/1"](0)  # what is done once is done
    seconds = interleaved(works, options.runs)
    found: dict[str, Any] = {}
    for stage in stages:
        alone = np.array(seconds[f"{stage}/one/1"])
        found[stage] = {
            blas: {
                str(slices): {
                    "seconds": spread(seconds[f"{stage}/{blas}/{slices}"]),
                    "speedup": with_interval(alone / np.array(seconds[f"{stage}/{blas}/{slices}"])),
                }
                for slices in range(1, most + 1)
            }
            for blas in threads
        }
    result = {"cores": most, "threads": reached, "stages": found}
    return {**result, "tables": [_table(result)]}


def _stages(person: Participant, quick: bool) -> dict[str, Stage]:
    """Number of units of each stage, and what one of them is."""
    labels, folds = person.labels, ours.folds_of(person.labels)
    bins = len(person.study)
    models = ours.applied_models([ours.train(x, labels, folds) for x in person.study])
    votes = np.stack([ours.apply(x, models) for x in person.test])
    repeats = 1 if quick else 2  # short stages are repeated, so that starting does not count
    return {
        "train": (repeats * bins, lambda unit: ours.train(person.study[unit % bins], labels, folds)),
        "apply": (repeats * bins, lambda unit: ours.apply(person.test[unit % bins], models)),
        "permute": (100 * repeats, lambda unit: ours.permute(votes, labels, ours.PER_UNIT)),
        GEMM: (40 * repeats, _products()),
    }


def _products() -> Callable[[int], Any]:
    """Work that needs nothing but a core: products of matrices that stay in its cache."""
    a = np.random.default_rng(0).standard_normal((200, 200))

    def work(unit: int) -> None:
        out = np.empty_like(a)
        for _ in range(50):
            np.matmul(a, a, out=out)

    return work


def _table(result: dict[str, Any]) -> dict[str, Any]:
    rows = []
    for stage, by_blas in result["stages"].items():
        for blas, by_slices in by_blas.items():
            for slices, each in by_slices.items():
                speedup = each["speedup"]
                interval = "–" if speedup["low"] is None else f"{speedup['low']:.2f}–{speedup['high']:.2f}"
                efficiency = f"{100 * speedup['mean'] / int(slices):.0f} %"
                seconds = figures(each["seconds"], "s")
                rows.append([stage, blas, slices, seconds, f"{speedup['mean']:.2f}", interval, efficiency])
    return {
        "title": "Speed-up over slices",
        "columns": ["stage", "BLAS threads", "slices", "seconds", "speed-up", "95 % interval", "efficiency"],
        "rows": rows,
        "note": "Speed-up over one slice with one BLAS thread: geometric mean over runs, Student's t "
        "interval of the logarithms. 'default' is as many BLAS threads in each slice as the machine has "
        f"cores ({result['threads'].get('default', 0)} were reached). "
        f"'{GEMM}' needs nothing but a core: this machine gives no more than its speed-up.",
    }
