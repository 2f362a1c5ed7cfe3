"""Engine for Ray: on this machine, or a running cluster."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # who asks when it has ended is not to start another one
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from shortloop.base.errors import TransientError
from shortloop.base.plain import Plain
from shortloop.engines.engine import Asked, Computed, Engine, connected
from shortloop.engines.send_files import AGAIN, Supplies
from shortloop.engines.worker import compute_batch, keep_parcel
from shortloop.settings.engine import EngineSettings
from shortloop.units.messages import HERE, Reply, Work
from shortloop.units.queue import Batches

AHEAD = 2  # batches for each worker, so that none waits for the next
HINT = (
    "see that it runs (`ray start --head`) and that this machine may reach it; unless the address begins "
    "with ray://, this machine must be one of its nodes (`ray start --address=HOST:PORT --num-cpus=0`)"
)
NOWHERE = "nowhere"
MOMENT = 0.02  # s
Out = tuple[list[bytes], float, str]  # a batch that is handed out, since when, and to which node; empty: any


class RayEngine(Engine):
    """Workers of Ray; `workers` are started unless the settings give the address of a head."""

    message = 6e-4

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self._where = settings.address or HERE
        if (address := settings.address) is None:
            folder = tempfile.gettempdir()
            ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        else:
            connected("Ray's head", address, HINT, lambda: _connect(address))
        self._compute = ray.remote(num_cpus=1, max_retries=0)(_compute)
        self._keep = ray.remote(num_cpus=0, max_retries=0)(keep_parcel)

    def workers(self, asked: Asked) -> int:
        return int(ray.cluster_resources().get("CPU", 0))

    def compute(self, supplies: Supplies, batches: Batches[bytes], asked: Asked) -> Iterator[Computed]:
        most = AHEAD * max(self.workers(asked), 1)
        work, put = supplies.work, ray.put(supplies.work)
        out: dict[Any, Out] = {}
        sending: dict[Any, str] = {}  # parcels, to which cache
        again: list[list[bytes]] = []  # batches that came to a node that lacked something
        try:
            while True:
                sending |= self._sent(supplies)
                if supplies.work is not work:
                    work, put = supplies.work, ray.put(supplies.work)
                while len(out) < most:
                    if (node := self._where_to(supplies, out)) == NOWHERE:
                        break
                    units = again.pop() if again else batches.next()
                    if not units:
                        break
                    compute = self._compute.options(scheduling_strategy=_only(node) if node else "DEFAULT")
                    since = time.monotonic()
                    out[compute.remote(put, units)] = units, since, node
                if not out and not again and not (supplies.under_way and batches.has_next()):
                    return
                if not out and not sending:
                    time.sleep(MOMENT)
                    continue
                timeout = MOMENT if supplies.under_way else None
                ready, _ = ray.wait([*out, *sending], num_returns=1, timeout=timeout)
                for done in ready:
                    if done in sending:
                        supplies.came(sending.pop(done), self._kept(done))
                        continue
                    units, since, _ = out.pop(done)
                    reply = self._reply(done)
                    if reply.missing is not None:
                        supplies.lacks(reply, since)
                        again.append(units)
                    else:
                        yield Computed(units, reply)
        finally:
            with contextlib.suppress(ray.exceptions.RayError, RuntimeError):  # it may have ended
                for each in [*out, *sending]:
                    ray.cancel(each, force=True)

    def _sent(self, supplies: Supplies) -> dict[Any, str]:
        """Send nodes what they lack; return the cache that each parcel goes to."""
        sending = {}
        for cache, nodes, parcel in supplies.parcels(lambda parcel, _: ray.put(parcel)):
            keep = self._keep.options(scheduling_strategy=_only(next(iter(nodes))))
            sending[keep.remote(parcel)] = cache
        return sending

    def _where_to(self, supplies: Supplies, out: Mapping[Any, Out]) -> str:
        """Return the node that may get a batch now; empty: any."""
        if not (waiting := supplies.waiting()):
            return ""
        there = Counter(node for _, _, node in out.values())
        ready = {
            each["NodeID"]: int(each["Resources"].get("CPU", 0))
            for each in ray.nodes()
            if each["Alive"] and each["NodeID"] not in waiting
        }
        free = {node: cores for node, cores in ready.items() if there[node] < AHEAD * cores}
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
            reply: Reply = ray.get(done)
        except (
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.OutOfMemoryError,
            ray.exceptions.TaskUnschedulableError,
        ):
            return Reply(0.0, b"", "the worker that computed it ended")
        except ray.exceptions.RaySystemError as error:
            problem = "the connection to Ray is lost"
            raise TransientError(problem, found=f"{self._where}: {error}", hint=AGAIN) from None
        return reply


def _compute(work: Work, units: list[bytes]) -> Reply:
    reply = compute_batch(work, units)
    return reply if reply.missing is None else reply._replace(worker=ray.get_runtime_context().get_node_id())


def _only(node: str) -> Any:
    return NodeAffinitySchedulingStrategy(node, soft=False)


def _connect(address: str) -> None:
    """Connect only if somebody listens, because Ray would try for a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    socket.create_connection((host, int(port))).close()
    ray.init(address=address, log_to_driver=False)
