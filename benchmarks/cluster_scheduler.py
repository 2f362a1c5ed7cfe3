"""How many workers one scheduler can keep at work, by the length of a task."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.cluster_batches import Singly
from benchmarks.cluster_model import Cluster, equal
from benchmarks.cluster_simulation import simulate

PUBLISHED = 480
"""Workers at which Silvr, with tasks of less than a second, found one Dask scheduler to be full."""


@dataclass(frozen=True)
class Saturation:
    """Where a scheduler is full.

    task: seconds of a task.
    workers: how many workers it keeps at work, however many there are.
    efficiency: share of the time in which workers compute, for numbers of workers.
    """

    task: float
    workers: float
    efficiency: dict[int, float]


def saturation(task: float, cost: float, counts: tuple[int, ...] = (120, 240, 480, 960, 1920)) -> Saturation:
    """Simulate one scheduler with more and more workers."""
    return Saturation(
        task,
        _at_work(task, cost, round(4 * task / cost) + 4)[0],
        {count: _at_work(task, cost, count)[1] for count in counts},
    )


def task_seconds_for(workers: int, cost: float) -> float:
    """How long a task must be for a scheduler to be full with just so many workers."""
    return workers * cost


def _at_work(task: float, cost: float, workers: int) -> tuple[float, float]:
    """How many workers compute in the mean, and which share of them that is."""
    cluster = Cluster(workers, 1, noise=0.2, assign=cost / 2, collect=cost / 2, latency=0.0005)
    found = simulate(cluster, [[equal("tasks", 10 * workers, task)]], Singly)
    return found.computing / found.seconds, found.efficiency
