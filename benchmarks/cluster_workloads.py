"""This library's own runs on many cores: the thesis workload, training again and again, many small units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.cluster_batches import Adaptive, Chunks, Policy, Singly, scaled
from benchmarks.cluster_constants import RESULT_BYTES, Constants
from benchmarks.cluster_model import Cluster, Job, Outcome, equal
from benchmarks.cluster_simulation import simulate
from benchmarks.cluster_thesis import AMPLITUDE_BINS, AMPLITUDE_BYTES, BIN_BYTES, BINS, PARTICIPANTS

Lanes = list[list[Job]]
LINK = 1.25e9  # 10 Gbit/s
IMPORT, REPORT, OTHER = 0.1, 2.5, 0.04
"""Seconds of an import of features, the report, and a short job, in the job's own process."""

SMALL_UNITS = 1_000_000, 0.05
"""Units of a job, and seconds of each, with which messages are looked at: 14 hours of one core."""


@dataclass(frozen=True)
class Mode:
    """How the jobs of a run follow each other.

    at_once: participants that share the workers.
    one_driver: whether one process begins and ends the jobs of all.
    ends, opens: factors of what ends a job, and of opening its inputs: 0 where that is done beside other
        work.
    """

    at_once: int = 1
    one_driver: bool = True
    ends: float = 1.0
    opens: float = 1.0


MODES = {
    "one after another": Mode(),
    "3 participants at once": Mode(3),
    "18 participants at once": Mode(18),
    "18 at once, a driver each": Mode(18, one_driver=False),
    "one after another; jobs end in the background": Mode(ends=0),
    "one after another; inputs opened early": Mode(opens=0),
    "one after another; both": Mode(ends=0, opens=0),
    "18 at once; both": Mode(18, ends=0, opens=0),
}
AGAIN = {
    "features from one place": (True, 1),
    "features on each machine": (False, 1),
    "the same, 18 participants at once": (False, PARTICIPANTS),
}
"""Whether each machine must fetch the features of each participant, and how many participants are at once."""

WAYS = {
    "singly": "one unit a message",
    "chunks": "equal chunks, one a worker",
    "adaptive": "batches of 0.5 s at most",
    "scaled": "batches that grow with the workers",
}


def cluster_of(machines: int, cores: int, constants: Constants) -> Cluster:
    """Machines as they are likely to be, with Dask's scheduler."""
    return Cluster(1, cores, noise=0.05) if machines == 1 else _with_dask(machines, cores, constants)


def _thesis_lanes(constants: Constants, shipped: bool, mode: Mode) -> Lanes:
    """The thesis workload as our jobs, a lane for each participant; `shipped`: features are read from another
    machine."""
    each = constants
    held = float(shipped)
    around = {"begin": each.job / 2, "end": mode.ends * each.job / 2}
    spread_out = {**around, "opening": mode.opens * each.opening}

    def alone(name: str, seconds: float) -> Job:
        return Job(name, begin=around["begin"], end=around["end"], finish=seconds)

    return [
        [
            alone(f"import power {number}", IMPORT),
            alone(f"import amplitude {number}", IMPORT),
            equal(
                f"train power {number}",
                BINS,
                each.train_power,
                bytes_in=held * BIN_BYTES,
                bytes_out=RESULT_BYTES,
                **spread_out,
            ),
            equal(
                f"train amplitude {number}",
                AMPLITUDE_BINS,
                each.train_amplitude,
                bytes_in=held * AMPLITUDE_BYTES,
                bytes_out=RESULT_BYTES * AMPLITUDE_BYTES / BIN_BYTES,
                **spread_out,
            ),
            equal(
                f"apply {number}",
                BINS,
                each.apply,
                bytes_in=held * BIN_BYTES,
                bytes_out=14_400,
                **spread_out,
            ),
            alone(f"permute power {number}", 2 * each.permute + OTHER),
            alone(f"permute amplitude {number}", OTHER),
        ]
        for number in range(PARTICIPANTS)
    ]


def around(constants: Constants, machines: int, cores: int, mode: str) -> dict[str, float]:
    """Seconds of the thesis workload, and of the same if only computing took time (ideal)."""
    chosen = MODES[mode]
    lanes = _thesis_lanes(constants, machines > 1, chosen)
    last = [
        Job(name, begin=constants.job / 2, end=chosen.ends * constants.job / 2, finish=seconds)
        for name, seconds in (
            ("check", OTHER),
            ("group power", OTHER),
            ("group amplitude", OTHER),
            ("report", REPORT),
        )
    ]
    cluster = cluster_of(machines, cores, constants)
    free = Cluster(machines, cores, cluster.spread, cluster.noise)

    def seconds(cluster: Cluster, lanes: Lanes, last: list[Job]) -> float:
        run = simulate(
            cluster, lanes, Adaptive, at_once=chosen.at_once, last=last, one_driver=chosen.one_driver
        )
        return run.seconds

    bare = [[_bare(job) for job in lane] for lane in lanes]
    ideal = seconds(free, bare, [_bare(job) for job in last])
    return {"seconds": seconds(cluster, lanes, last), "ideal": ideal}


def retrained(
    constants: Constants, machines: int, cores: int, again: str, permutations: int = 1000
) -> Outcome:
    """Simulate permutations that train everything again."""
    each = constants
    shipped, at_once = AGAIN[again]
    held = float(shipped and machines > 1)

    def job(name: str, seconds: float, bytes_machine: float) -> Job:
        around = {"begin": each.job / 2, "end": each.job / 2, "opening": each.opening}
        more = {"bytes_machine": held * bytes_machine, "bytes_out": 3400.0}
        return equal(name, permutations, seconds, **around, **more)

    power = BINS * (each.train_power + each.apply), 2 * BINS * BIN_BYTES
    amplitude = AMPLITUDE_BINS * each.train_amplitude, AMPLITUDE_BINS * AMPLITUDE_BYTES
    lanes = [[job(f"power {n}", *power), job(f"amplitude {n}", *amplitude)] for n in range(PARTICIPANTS)]
    return simulate(cluster_of(machines, cores, each), lanes, scaled(each.dask_task), at_once=at_once)


def many_units(
    constants: Constants, machines: int, cores: int, way: str, units: int = SMALL_UNITS[0]
) -> Outcome:
    """Simulate one job of many small units, with Dask's scheduler."""
    policies: dict[str, Policy] = {
        "singly": Singly,
        "chunks": Chunks,
        "adaptive": Adaptive,
        "scaled": scaled(constants.dask_task),
    }
    number = units // 25 if way == "singly" else units
    job = equal("units", number, SMALL_UNITS[1])
    return simulate(_with_dask(machines, cores, constants), [[job]], policies[way])


def breaks_even(fewer: int, more: int, start: float) -> float:
    """Seconds of one core from which more cores are faster, if they need some time to start."""
    return start / (1 / fewer - 1 / more)


def fed_workers(unit: float, held: float, bandwidth: float = LINK) -> float:
    """How many workers a link can feed."""
    return unit * bandwidth / held


def _bare(job: Job) -> Job:
    return Job(job.name, job.costs, finish=job.finish)


def _with_dask(machines: int, cores: int, constants: Constants) -> Cluster:
    half, back = constants.dask_task / 2, min(LINK, constants.bytes_per_second)
    return Cluster(machines, cores, 0.05, 0.05, half, half, LINK, back, 0.0005)


PUBLISHED = 480
"""Workers at which Silvr, with tasks of less than a second, found one Dask scheduler to be full."""


def saturation(
    task: float, cost: float, counts: tuple[int, ...] = (120, 240, 480, 960, 1920)
) -> dict[str, Any]:
    """How many workers one scheduler keeps at work, and the efficiency of some numbers of them."""
    workers = _at_work(task, cost, round(4 * task / cost) + 4)[0]
    efficiency = {count: _at_work(task, cost, count)[1] for count in counts}
    return {"task": task, "workers": workers, "efficiency": efficiency}


def task_seconds_for(workers: int, cost: float) -> float:
    """How long a task must be for a scheduler to be full with just so many workers."""
    return workers * cost


def _at_work(task: float, cost: float, workers: int) -> tuple[float, float]:
    """How many workers compute in the mean, and which share of them that is."""
    cluster = Cluster(workers, 1, noise=0.2, assign=cost / 2, collect=cost / 2, latency=0.0005)
    found = simulate(cluster, [[equal("tasks", 10 * workers, task)]], Singly)
    return found.computing / found.seconds, found.efficiency
