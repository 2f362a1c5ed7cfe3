"""The thesis's run on 25 machines: which ways to divide its work take as long as it took, and which cannot.

How the thesis divided its work is not known here; its seconds are. Nothing is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cluster_batches import Singly
from benchmarks.cluster_model import Cluster, Job, equal
from benchmarks.cluster_simulation import simulate

MINUTES, TOLERANCE = 15.8, 0.15
MACHINES, CORES = 25, 4
PARTICIPANTS, BINS, AMPLITUDE_BINS, FOLDS, PERMUTATIONS = 18, 20, 40, 10, 100

# On 4 slices of one such machine. Times four they are seconds of one core, if no slice idled.
SLICES = 4
TRAIN, APPLY, PERMUTE = (60.0 * SLICES * each / PARTICIPANTS for each in (61.0, 0.81, 60.0))
"""Seconds of one core for one participant."""
POWER = (168.0 + 30.0) / (168.0 + 18.0 + 30.0 + 16.0)
"""Share of power in training; the rest is amplitude. From its code, run again in 2026."""

BIN_BYTES = 240 * 6510 * 8.0
"""Features of a bin of power, study or test."""
AMPLITUDE_BYTES = 240 * 341 * 8.0


@dataclass(frozen=True)
class Assumed:
    """What is not known of the thesis's machines.

    spread: of the machines' speeds.
    noise: of a task's seconds.
    bandwidth: bytes per second from where the features are; 10 Gbit/s.
    shipped: features are sent with each task that trains or applies, and once to each machine that permutes;
        or once to each machine for each job; or are there already. "each task" sends them to every
        permutation.
    task: seconds of the driver for each task, half before and half after.
    serial: seconds before each job in which nothing is computed.
    work: factor of the seconds of one core: below 1, if slices idled in the run on 4.
    group: share of permuting that is done by the driver alone.
    """

    spread: float = 0.05
    noise: float = 0.05
    bandwidth: float = 1.25e9
    shipped: str = "task"
    task: float = 0.001
    serial: float = 0.5
    work: float = 1.0
    group: float = 0.0


PERFECT = Assumed(0.0, 0.0, np.inf, "nothing", 0.0, 0.0)
"""Nothing costs anything but computing."""

USUAL = Assumed()

VARIANTS = {
    "all machines alike": replace(USUAL, spread=0.0, noise=0.0),
    "spread of machines 5 → 20 %": replace(USUAL, spread=0.2),
    "features are there": replace(USUAL, shipped="nothing"),
    "features once to each machine": replace(USUAL, shipped="machine"),
    "features to each permutation": replace(USUAL, shipped="each task"),
    "link 10 → 1 Gbit/s": replace(USUAL, bandwidth=1.25e8),
    "a task 1 → 10 ms": replace(USUAL, task=0.01),
    "before each job 0.5 → 5 s": replace(USUAL, serial=5.0),
    "10 % of the 4 slices idled": replace(USUAL, work=0.9),
    "5 % of permuting is serial": replace(USUAL, group=0.05),
}
"""One assumption after the other, changed as far as is likely."""


@dataclass(frozen=True)
class Division:
    """A way to divide the work into tasks.

    largest: what is computed by one core at most, in words.
    jobs: makes the jobs, of what is assumed; each begins when the one before has ended.
    """

    name: str
    largest: str
    jobs: Callable[[Assumed], Sequence[Job]]


def minutes(division: Division, assumed: Assumed, machines: int = MACHINES, seed: int = 0) -> float:
    """Simulated minutes of the thesis's workload."""
    cluster = Cluster(
        machines,
        CORES,
        spread=assumed.spread,
        noise=assumed.noise,
        assign=assumed.task / 2,
        collect=assumed.task / 2,
        bandwidth=assumed.bandwidth,
        latency=0.0005,
    )
    jobs = [replace(job, begin=job.begin + assumed.serial) for job in division.jobs(assumed)]
    return simulate(cluster, [jobs], Singly, seed=seed).seconds / 60


def agrees(found: float) -> bool:
    """Whether minutes are within 15 % of the thesis's."""
    return abs(found / MINUTES - 1) <= TOLERANCE


def needed(division: Division) -> dict[str, tuple[float, float] | None]:
    """What a division would need besides computing to be within 15 % of the thesis, if it were one thing."""
    low, high = ((1 + sign * TOLERANCE) * MINUTES for sign in (-1, 1))
    perfect = minutes(division, PERFECT)
    jobs = len(division.jobs(PERFECT))
    serial = 60 * max(0.0, low - perfect) / jobs, 60 * (high - perfect) / jobs
    rates = [10 ** (step / 10) for step in range(-5, 21)]
    shipped = [minutes(division, replace(PERFECT, shipped="task", bandwidth=1.25e8 * rate)) for rate in rates]
    agreeing = [rate for rate, found in zip(rates, shipped) if agrees(found)]
    return {
        "serial": serial if high >= perfect else None,
        "gigabits": (min(agreeing), max(agreeing)) if agreeing else None,
    }


def _job(
    name: str,
    tasks: int,
    participants: int,
    seconds: float,
    held: float,
    assumed: Assumed,
    permutes: bool = False,
) -> Job:
    """Equal tasks that together need so many seconds and bytes of features for each participant."""
    serial = assumed.group if permutes else 0.0
    cost = assumed.work * (1 - serial) * participants * seconds / tasks
    job = equal(name, tasks, cost, end=serial * participants * seconds / SLICES)
    if assumed.shipped == "nothing":
        return job
    total = participants * held
    if assumed.shipped == "each task" and permutes:  # each predicts again, from all of a participant's bins
        return replace(job, bytes_in=held)
    if assumed.shipped == "machine" or permutes:
        return replace(job, bytes_machine=total)
    return replace(job, bytes_in=total / tasks)


def _participants_alone(assumed: Assumed) -> list[Job]:
    held = 2 * BINS * BIN_BYTES + AMPLITUDE_BINS * AMPLITUDE_BYTES
    return [_job("all", PARTICIPANTS, PARTICIPANTS, TRAIN + APPLY + PERMUTE, held, assumed)]


def _one_after_another(train: int, permute: int) -> Callable[[Assumed], list[Job]]:
    """Stages of one participant after those of another; tasks of a bin of power, and of permuting."""

    def jobs(assumed: Assumed) -> list[Job]:
        made = []
        for number in range(PARTICIPANTS):
            power = BINS * BIN_BYTES
            amplitude = AMPLITUDE_BINS * AMPLITUDE_BYTES
            trained = train * BINS, 1, POWER * TRAIN, power, assumed
            made.append(_job(f"train power {number}", *trained))
            trained = train * AMPLITUDE_BINS, 1, (1 - POWER) * TRAIN, amplitude, assumed
            made.append(_job(f"train amplitude {number}", *trained))
            made.append(_job(f"apply {number}", BINS, 1, APPLY, power, assumed))
            made.append(_job(f"permute {number}", permute, 1, PERMUTE, power, assumed, permutes=True))
        return made

    return jobs


def _stage_by_stage(train: int, permute: int) -> Callable[[Assumed], list[Job]]:
    """Each stage of all participants at once; tasks of each, for a participant."""

    def jobs(assumed: Assumed) -> list[Job]:
        power, amplitude = BINS * BIN_BYTES, AMPLITUDE_BINS * AMPLITUDE_BYTES
        many = PARTICIPANTS
        if train == 1:
            trained = [_job("train", many, many, TRAIN, power + amplitude, assumed)]
        else:
            trained = [
                _job("train power", many * BINS, many, POWER * TRAIN, power, assumed),
                _job("train amplitude", many * AMPLITUDE_BINS, many, (1 - POWER) * TRAIN, amplitude, assumed),
            ]
        return [
            *trained,
            _job("apply", many * min(train, BINS), many, APPLY, power, assumed),
            _job("permute", many * permute, many, PERMUTE, power, assumed, permutes=permute > 1),
        ]

    return jobs


DIVISIONS = (
    Division(
        "100 equal parts of each stage",
        "a hundredth of a stage",
        lambda assumed: [
            _job(name, MACHINES * CORES, PARTICIPANTS, seconds, BINS * BIN_BYTES, assumed, name == "permute")
            for name, seconds in (("train", TRAIN), ("apply", APPLY), ("permute", PERMUTE))
        ],
    ),
    Division("bins and permutations, all participants at once", "a bin", _stage_by_stage(BINS, PERMUTATIONS)),
    Division(
        "folds and permutations, one participant after another",
        "a fold of a bin",
        _one_after_another(FOLDS, PERMUTATIONS),
    ),
    Division(
        "participants, each on the 4 cores of a machine",
        "a quarter of a participant",
        lambda assumed: [
            replace(job, costs=np.repeat(job.costs / CORES, CORES), bytes_in=job.bytes_in / CORES)
            for job in _participants_alone(assumed)
        ],
    ),
    Division(
        "bins and permutations, one participant after another", "a bin", _one_after_another(1, PERMUTATIONS)
    ),
    Division("bins, then participants permute", "a participant's permutations", _stage_by_stage(BINS, 1)),
    Division(
        "participants train, then permutations", "a participant's training", _stage_by_stage(1, PERMUTATIONS)
    ),
    Division("bins, also to permute, one participant after another", "a bin", _one_after_another(1, BINS)),
    Division("participants", "a participant", _participants_alone),
)
"""From the shortest to the longest."""
