"""Engine for Ray: on this machine, or a running cluster."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # who asks when it has ended is not to start another one
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from shortloop.base.errors import TransientError
from shortloop.base.plain import Plain
from shortloop.engines.engine import Asked, Computed, Engine, Resources, connected
from shortloop.engines.handed_out import Batch, HandedOut
from shortloop.engines.probe import arguments, checked, reply_of
from shortloop.engines.send_files import AGAIN, Supplies
from shortloop.engines.worker import compute_batch, keep_parcel
from shortloop.settings.engine import EngineSettings
from shortloop.units.messages import HERE, Parcel, Reply, Work
from shortloop.units.queue import Batches

AHEAD = 2  # batches for each worker, so that none waits for the next
HINT = (
    "see that it runs (`ray start --head`) and that this machine may reach it; unless the address begins "
    "with ray://, this machine must be one of its nodes (`ray start --address=HOST:PORT --num-cpus=0`)"
)
NOWHERE = "nowhere"
MOMENT, LOOK_EVERY = 0.02, 1.0  # s; the latter: how many workers there are


class RayEngine(Engine):
    """Workers of Ray; `workers` are started unless the settings give the address of a head."""

    message = 6e-4

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self._where = settings.address or HERE
        self._is_elastic = settings.address is not None  # as far as can be known
        if (address := settings.address) is None:
            folder = tempfile.gettempdir()
            ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        else:
            connected("Ray's head", settings, HINT, lambda: ray.init(address=address, log_to_driver=False))
        self._compute = ray.remote(num_cpus=1, max_retries=0)(checked())
        self._keep = ray.remote(num_cpus=0, max_retries=0)(keep_parcel)
        self._hold = ray.remote(num_cpus=0, max_retries=0)(_hold)

    def workers(self, asked: Asked) -> int:
        return sum(each.times(Resources.of(asked)) for each in _nodes().values())

    def compute(self, supplies: Supplies, batches: Batches[bytes], asked: Asked) -> Iterator[Computed]:
        work, put = supplies.work, _put(supplies.work)
        out: HandedOut[Any] = HandedOut(batches)
        sending: dict[Any, str] = {}  # parcels, to which cache
        looked, workers = -LOOK_EVERY, 1
        ready: list[Any] = []
        try:
            while True:
                if time.monotonic() > looked + LOOK_EVERY:
                    looked, workers = time.monotonic(), max(self.workers(asked), 1)
                    batches.resize(workers)
                sending |= self._sent(supplies)
                if supplies.work is not work:
                    work, put = supplies.work, _put(supplies.work)
                self._hand_out(supplies, put, out, workers, Resources.of(asked), again=not ready)
                if out.is_over and not (supplies.under_way and batches.has_next()):
                    return
                if not [*out, *sending]:
                    time.sleep(MOMENT)
                    continue
                timeout = MOMENT if supplies.under_way else LOOK_EVERY
                ready, _ = ray.wait([*out, *sending], num_returns=1, timeout=timeout)
                for done in ready:
                    if done in sending:
                        supplies.came(sending.pop(done), self._kept(done))
                        continue
                    if (computed := out.came(done, self._reply(done), supplies)) is not None:
                        yield computed
        finally:
            with contextlib.suppress(ray.exceptions.RayError, RuntimeError):  # it may have ended
                for each in [*out, *sending]:
                    ray.cancel(each, force=True)

    def _hand_out(
        self,
        supplies: Supplies,
        given: Sequence[Any],
        out: HandedOut[Any],
        workers: int,
        needed: Resources,
        again: bool,
    ) -> None:
        """Submit batches to all nodes that may have some."""
        more = {"num_cpus": needed.cores, "num_gpus": needed.gpus or None, "memory": needed.memory or None}
        while out.has_room(workers, AHEAD, self._is_elastic):
            if (node := self._where_to(supplies, out, needed)) == NOWHERE:
                return
            if (batch := out.next(again)) is None:
                return
            if batch.keys and not node:
                node = _elsewhere(batch, out, needed)
            compute = self._compute.options(scheduling_strategy=_only(node) if node else "DEFAULT", **more)
            batch.where = node
            out.add(compute.remote(*given, batch.units), batch)

    def _sent(self, supplies: Supplies) -> dict[Any, str]:
        """Send nodes what they lack; return the cache that each parcel goes to."""
        sending = {}
        for cache, nodes, parcel in supplies.parcels(self._shared):
            keep = self._keep.options(scheduling_strategy=_only(next(iter(nodes))))
            sending[keep.remote(parcel)] = cache
        return sending

    def _shared(self, parcel: Parcel, nodes: set[str]) -> Any:
        """Put a parcel into the memory of a node, from which others fetch it: it leaves this machine once."""
        return self._hold.options(scheduling_strategy=_only(next(iter(nodes)))).remote(parcel)

    def silent(self, asked: Asked) -> str:
        if not (alive := _nodes()):
            return f"no node of Ray at {self._where} is alive"
        if not any(each.cores for each in alive.values()):
            return f"Ray at {self._where} has no CPUs: start a node with some (`ray start --address=…`)"
        lacking = Resources.of(asked).lacking(alive.values())
        return f"no node of Ray at {self._where} has {lacking}, as the stage asks for" if lacking else ""

    def _where_to(self, supplies: Supplies, out: HandedOut[Any], needed: Resources) -> str:
        """Return the node that may get a batch now; empty: any."""
        if not (waiting := supplies.waiting()):
            return ""
        there = Counter(each.where for each in out.batches())
        ready = {node: each.times(needed) for node, each in _nodes().items() if node not in waiting}
        free = {node: room for node, room in ready.items() if there[node] < AHEAD * room}
        return min(free, key=lambda node: there[node] / free[node], default=NOWHERE)

    def _kept(self, done: Any) -> tuple[str, str] | None:
        """Return a node's answer to a parcel; None if the node is gone."""
        try:
            answer: tuple[str, str] = ray.get(done)
        except ray.exceptions.RayError:
            return None
        return answer

    def described(self) -> dict[str, Plain]:
        return {"version": ray.__version__, "where": self._where}

    def close(self) -> None:
        ray.shutdown()

    def _reply(self, done: Any) -> Reply:
        try:
            return reply_of(ray.get(done))
        except (
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.LocalRayletDiedError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.OutOfMemoryError,
            ray.exceptions.TaskUnschedulableError,
        ):
            return Reply(0.0, b"", "the worker that computed it ended")
        except ray.exceptions.RaySystemError as error:
            problem = "the connection to Ray is lost"
            raise TransientError(problem, found=f"{self._where}: {error}", hint=AGAIN) from None


def _put(work: Work) -> tuple[Any, ...]:
    return tuple(map(ray.put, arguments(_compute, work)))


def _compute(work: Work, units: list[bytes]) -> Reply:
    reply = compute_batch(work, units)
    return reply if reply.missing is None else reply._replace(worker=ray.get_runtime_context().get_node_id())


def _hold(parcel: Parcel) -> Parcel:
    return parcel


def _nodes() -> dict[str, Resources]:
    """Nodes that are alive."""
    return {
        each["NodeID"]: Resources(*(each["Resources"].get(name, 0) for name in ("CPU", "memory", "GPU")))
        for each in ray.nodes()
        if each["Alive"]
    }


def _elsewhere(batch: Batch[Any], out: HandedOut[Any], needed: Resources) -> str:
    """Return a node for a batch that is late; empty: any.

    Ray waits for ever for a node that was stopped when it was asked to take a task. Other tasks for any node
    wait behind that one; those for a certain node do not.
    """
    there = Counter(each.where for each in out.batches())
    room = [node for node, each in _nodes().items() if each.times(needed)]
    return min(room, key=lambda node: (node == batch.where, there[node]), default="")


def _only(node: str) -> Any:
    return NodeAffinitySchedulingStrategy(node, soft=False)
