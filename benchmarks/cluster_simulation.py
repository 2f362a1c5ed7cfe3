"""A run on many machines as a simulation of discrete events.

Jobs begin one after another, or several at once; workers draw batches of units; every batch is two messages
that one scheduler handles, one after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
import simpy

from benchmarks.cluster_batches import Batches, Policy
from benchmarks.cluster_model import Cluster, Job, Outcome
from shortloop.base.types import FloatArray

Steps = Generator[simpy.Event, Any, None]
Lane = Sequence[Job]


def simulate(
    cluster: Cluster,
    lanes: Sequence[Lane],
    policy: Policy,
    *,
    at_once: int = 1,
    last: Lane = (),
    one_driver: bool = True,
    seed: int = 0,
) -> Outcome:
    """Simulate a run."""
    return _Run(cluster, policy, one_driver, np.random.default_rng(seed)).outcome(lanes, at_once, last)


class _Serial:
    """Does one thing at a time, in the order in which it is asked."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._free = 0.0
        self.busy = 0.0

    def use(self, seconds: float) -> simpy.Event:
        """An event that happens when this was done."""
        # With nothing to choose, when it is done is known at once: one event, not the three of a resource.
        self._free = max(self._env.now, self._free) + seconds
        self.busy += seconds
        return self._env.timeout(self._free - self._env.now)


class _Active:
    """A job whose units are handed out."""

    def __init__(self, env: simpy.Environment, job: Job, batches: Batches, actual: FloatArray) -> None:
        self.job = job
        self.batches = batches
        self.until = np.concatenate([[0.0], np.cumsum(actual[batches.order])])
        self.computed = np.zeros(len(job.costs), dtype=int)
        self.left = len(job.costs)
        self.finished = env.event()
        self.opened: set[int] = set()
        self.arrivals: dict[int, simpy.Event] = {}


Drawn = tuple[_Active, int, int]


class _Run:
    def __init__(self, cluster: Cluster, policy: Policy, one_driver: bool, rng: np.random.Generator) -> None:
        self.env = simpy.Environment()
        self.cluster = cluster
        self.policy = policy
        self.rng = rng
        self.scheduler, self.link_out, self.link_in = (_Serial(self.env) for _ in range(3))
        self.driver = _Serial(self.env) if one_driver else None
        self.driving = self.computing = self.opening = 0.0
        self.messages = 0
        self.waiting: deque[simpy.Event] = deque()
        self.active: deque[_Active] = deque()
        self.computed: dict[str, np.ndarray] = {}
        speeds = _lognormal(rng, cluster.spread, cluster.machines)
        slowness = speeds.mean() / speeds  # together as fast as equal machines
        for worker in range(cluster.workers):
            machine = worker % cluster.machines  # the first units go to different machines
            self.env.process(self._worker(worker, machine, float(slowness[machine])))

    def outcome(self, lanes: Sequence[Lane], at_once: int, last: Lane) -> Outcome:
        self.env.run(self.env.process(self._all(deque(lanes), at_once, last)))
        assert self.scheduler.busy <= self.env.now + 1e-6
        return Outcome(
            self.env.now,
            self.computed,
            self.computing,
            self.opening,
            self.driving,
            self.scheduler.busy,
            self.link_out.busy,
            self.link_in.busy,
            self.messages,
            self.cluster.workers,
        )

    def _all(self, queue: deque[Lane], at_once: int, last: Lane) -> Steps:
        yield self.env.all_of([self.env.process(self._lanes(queue)) for _ in range(at_once)])
        for job in last:
            yield from self._job(job)

    def _lanes(self, queue: deque[Lane]) -> Steps:
        while queue:
            for job in queue.popleft():
                yield from self._job(job)

    def _job(self, job: Job) -> Steps:
        assert job.name not in self.computed, f"two jobs are called {job.name}"
        yield self._drive(job.begin)
        active = self._active(job, self.policy(job.costs, self.cluster.workers))
        if active.left:
            self.active.append(active)
            self._wake()
            yield active.finished
        if job.finish:
            yield self.env.timeout(job.finish)
        yield self._drive(job.end)

    def _active(self, job: Job, batches: Batches) -> _Active:
        actual = job.costs * _lognormal(self.rng, self.cluster.noise, len(job.costs))
        active = _Active(self.env, job, batches, actual)
        self.computed[job.name] = active.computed
        return active

    def _wake(self) -> None:
        """Give batches to workers that wait."""
        while self.waiting and (drawn := self._draw()) is not None:
            self.waiting.popleft().succeed(drawn)

    def _drive(self, seconds: float) -> simpy.Event:
        self.driving += seconds
        return self.driver.use(seconds) if self.driver else self.env.timeout(seconds)

    def _draw(self) -> Drawn | None:
        """The next batch of the job that is at work for longest."""
        while self.active and not self.active[0].batches:
            self.active.popleft()
        if not self.active:
            return None
        return self.active[0], *self.active[0].batches.draw()

    def _worker(self, worker: int, machine: int, slowness: float) -> Steps:
        cluster, env = self.cluster, self.env
        while True:
            drawn = self._draw()
            if drawn is None:
                asked = env.event()
                self.waiting.append(asked)
                drawn = yield asked
                assert drawn is not None
            active, first, behind = drawn
            job, units = active.job, behind - first
            yield self.scheduler.use(cluster.assign)
            if job.bytes_in:
                yield self.link_out.use(units * job.bytes_in / cluster.bandwidth)
            if job.bytes_machine:
                yield self._arrival(active, machine)
            opening = 0.0
            if worker not in active.opened:
                active.opened.add(worker)
                opening = job.opening * slowness
            computing = float(active.until[behind] - active.until[first]) * slowness
            self.opening += opening
            self.computing += computing
            yield env.timeout(2 * cluster.latency + opening + computing)
            if job.bytes_out:
                yield self.link_in.use(units * job.bytes_out / cluster.back)
            yield self.scheduler.use(cluster.collect)
            self.messages += 2
            active.computed[active.batches.order[first:behind]] += 1
            active.left -= units
            if not active.left:
                active.finished.succeed()

    def _arrival(self, active: _Active, machine: int) -> simpy.Event:
        """When the files of a job are on a machine; the first of its workers asks for them."""
        if machine not in active.arrivals:
            seconds = active.job.bytes_machine / self.cluster.bandwidth
            active.arrivals[machine] = self.link_out.use(seconds)
        return active.arrivals[machine]


def _lognormal(rng: np.random.Generator, variation: float, size: int) -> FloatArray:
    """Factors of mean 1 with this coefficient of variation."""
    if variation == 0:
        return np.ones(size)
    variance = np.log1p(variation**2)
    return rng.lognormal(-variance / 2, np.sqrt(variance), size)
