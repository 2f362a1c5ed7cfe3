"""What a simulated run is made of: machines, what messages cost, and jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shortloop.base.types import FloatArray


@dataclass(frozen=True)
class Cluster:
    """Machines, a scheduler that does one thing at a time, and a link between it and the machines.

    machines, cores: number of machines, and of the workers on each: one a core.
    spread: coefficient of variation of the machines' speeds, whose mean is 1. A slow one stays slow.
    noise: coefficient of variation of a unit's seconds, whichever machine computes it.
    assign, collect: seconds that the scheduler needs to send a batch, and to take its results.
    bandwidth: bytes per second towards the machines.
    back: bytes per second of results, from the machines to the driver that unpacks them.
    latency: seconds that a message is on its way.
    """

    machines: int
    cores: int
    spread: float = 0.0
    noise: float = 0.0
    assign: float = 0.0
    collect: float = 0.0
    bandwidth: float = math.inf
    back: float = math.inf
    latency: float = 0.0

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self.machines * self.cores


@dataclass(frozen=True, eq=False)
class Job:
    """Units that are shared out, and what is done around them.

    costs: float, (units,). Seconds of each unit on a worker of mean speed.
    begin, end: seconds of the driver before the first unit and after the last one.
    finish: seconds that the job's own process computes when all units are done; others may compute meanwhile.
    opening: seconds that each worker needs before its first unit of the job.
    bytes_in, bytes_out: of each unit, sent with it and sent back.
    bytes_machine: sent once to each machine that computes a unit of the job.
    """

    name: str
    costs: FloatArray = field(default_factory=lambda: np.zeros(0))
    begin: float = 0.0
    end: float = 0.0
    finish: float = 0.0
    opening: float = 0.0
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    bytes_machine: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What a simulated run came to.

    seconds: from the first job's begin to the last one's end.
    computed: dict of str to array of int, (units,). How often each unit of each job was computed.
    computing, opening: seconds of all workers together.
    driver: seconds that the driver was at work.
    scheduler, link_out, link_in: seconds that each was busy.
    messages: messages that the scheduler handled: two for each batch.
    """

    seconds: float
    computed: dict[str, np.ndarray]
    computing: float
    opening: float
    driver: float
    scheduler: float
    link_out: float
    link_in: float
    messages: int
    workers: int

    @property
    def efficiency(self) -> float:
        """Share of the workers' time in which they compute."""
        return self.computing / (self.workers * self.seconds) if self.seconds else 1.0


def equal(name: str, units: int, cost: float, **more: float) -> Job:
    """A job of equal units."""
    return Job(name, np.full(units, cost), **more)
