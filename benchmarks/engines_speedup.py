"""Speed-up of engines over 1 … N workers: the thesis workload and a heavier one, beside a plain Pool."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.engines_decode import FOLDS, WORKS
from benchmarks.engines_plain import not_installed, plain
from benchmarks.engines_project import ENGINES, EngineProject
from benchmarks.measure import interleaved, spread, with_interval
from benchmarks.options import Options, cores
from benchmarks.thesis_data import QUICK, THESIS, Size, simulate

POOL = "multiprocessing.Pool"
SYSTEMS = {"slices": "slices", "joblib": "joblib", "dask": "dask", "ray": "ray", POOL: ""}
"""What is compared, and the engine that it is; "" is plain use."""
PARTICIPANTS = 4  # at most; 0.3 GB of disk each
BLOCKS, QUICK_BLOCKS = 200, 3  # of fifty permutations, for each participant
LABELLINGS, QUICK_LABELLINGS = 300, 6
STARTING = 2  # units for each worker, of a first job: workers then have loaded what they need


class Decoding:
    """Data for all kinds of work, as files in a folder.

    size: of a participant.
    blocks, labellings: units of ``permute`` for each participant, and of ``retrain``.
    """

    def __init__(self, folder: Path, participants: int, size: Size, blocks: int, labellings: int) -> None:
        trials = 3 * size.trials
        self.files = {work: folder / f"{work}.npy" for work in WORKS}
        self.units = {
            "train": participants * size.bins,
            "permute": participants * blocks,
            "retrain": labellings,
        }
        shape = (participants * size.bins, trials, size.power_features)
        votes = []
        # Not through a map: while one is there, Shortloop reads the file again for each job.
        with self.files["train"].open("wb") as study:
            header = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(study, header)
            for number in range(participants):
                person = simulate(number + 1, size)
                np.ascontiguousarray(person.study, "<f8").tofile(study)
                folds = ours.folds_of(person.labels)
                trained = [ours.train(x, person.labels, folds) for x in person.study]
                weights, models = trained[0].weights.shape, ours.applied_models(trained)
                votes.append(np.stack([ours.apply(x, models) for x in person.test]))
        np.save(self.files["permute"], np.stack(votes))
        np.save(self.files["retrain"], person.amplitude[len(person.amplitude) // 3])
        self.shapes = {
            "train": list(weights),
            "permute": [ours.PER_UNIT, *votes[0].shape[:-2]],
            "retrain": [FOLDS],
        }

    def options(self, work: str, units: int | None = None) -> dict[str, Any]:
        """Options of a job of this work."""
        count = self.units[work] if units is None else units
        return {"work": work, "count": count, "shape": self.shapes[work], "file": str(self.files[work])}

    def read(self) -> None:
        """Have the files in memory, for everybody alike: systems forget what nobody has read for minutes."""
        for file in self.files.values():
            with file.open("rb") as stream:
                while stream.read(1 << 24):
                    pass


def measure_speedup(options: Options, project: EngineProject) -> dict[str, Any]:
    """Measure each kind of work with each number of workers, in turn."""
    ours.ready()
    participants = 1 if options.quick else min(options.participants, PARTICIPANTS)
    sizes = (QUICK, QUICK_BLOCKS, QUICK_LABELLINGS) if options.quick else (THESIS, BLOCKS, LABELLINGS)
    decoding = Decoding(project.folder, participants, *sizes)
    left_out = not_installed({name: ENGINES.get(engine, "") for name, engine in SYSTEMS.items()})
    known: dict[str, str] = {}

    def measure(system: str, workers: int, run: int) -> dict[str, float]:
        found = _ours(project, system, workers, decoding) if SYSTEMS[system] else _pool(workers, decoding)
        for work, (_, content) in found.items():
            if known.setdefault(work, content) != content:
                raise RuntimeError(f"{system} with {workers} workers computes other bits: {WORKS[work]}")
        return {work: seconds for work, (seconds, _) in found.items()}

    steps = ladder(min(cores(), 2) if options.quick else cores())
    works = {
        f"{system}/{workers}": partial(measure, system, workers)
        for workers in steps
        for system in SYSTEMS
        if system not in left_out
    }
    measured = interleaved(works, options.runs)
    seconds = {
        work: {
            system: {n: [run[work] for run in measured[f"{system}/{n}"]] for n in steps}
            for system in SYSTEMS
            if system not in left_out
        }
        for work in WORKS
    }
    return {
        "participants": participants,
        "units": decoding.units,
        "left_out": left_out,
        "ladder": steps,
        "works": {work: speedups(each, each["slices"][1]) for work, each in seconds.items()},
    }


def ladder(most: int) -> list[int]:
    """Numbers of workers to measure: each up to four, then twice as many, and all."""
    doubled = [2**power for power in range(most.bit_length())]
    return sorted({n for n in [*doubled, 3, most] if n <= most})


def speedups(
    seconds: Mapping[str, Mapping[int, Sequence[float]]], alone: Sequence[float]
) -> dict[str, dict[str, Any]]:
    """Seconds and speed-up of each system with each number of workers."""
    return {
        system: {
            str(n): {"seconds": spread(each), "speedup": with_interval(np.array(alone) / np.array(each))}
            for n, each in by_workers.items()
        }
        for system, by_workers in seconds.items()
    }


def _ours(
    project: EngineProject, system: str, workers: int, decoding: Decoding
) -> dict[str, tuple[float, str]]:
    first = [("decode", decoding.options(work, STARTING * workers)) for work in WORKS]
    whole = [("decode", decoding.options(work)) for work in WORKS]
    decoding.read()
    jobs = project.build(SYSTEMS[system], workers, [*first, *whole])
    return {
        work: (job.seconds, hashlib.sha256(np.load(job.folder / "values.npy").tobytes()).hexdigest())
        for work, job in zip(WORKS, jobs[len(first) :])
    }


def _pool(workers: int, decoding: Decoding) -> dict[str, tuple[float, str]]:
    found = {}
    decoding.read()
    for work, file in decoding.files.items():
        asked = {"work": work, "file": str(file)}
        each = plain("Pool.imap_unordered, large chunks", workers, decoding.units[work], asked)
        found[work] = (each["seconds"], each["content"])
    return found
