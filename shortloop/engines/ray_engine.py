"""Units computed by Ray: on this machine, or on any cluster by the address of its head."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # who asks when it has ended is not to start another one

import ray

from shortloop.engines.batches import Batches
from shortloop.engines.connecting import connected
from shortloop.engines.engine import Computed, Engine
from shortloop.engines.messages import HERE, Reply, Work
from shortloop.engines.worker import compute_batch
from shortloop.errors import TransientError
from shortloop.plain import Plain
from shortloop.settings.engine import EngineSettings

__all__ = ["RayEngine"]

AHEAD = 2  # batches for each worker, so that none waits for the next
HINT = (
    "see that it runs (`ray start --head`) and that this machine may reach it; unless the address begins "
    "with ray://, this machine must be one of its nodes (`ray start --address=HOST:PORT --num-cpus=0`)"
)
AGAIN = "run again: units that are done are kept"


class RayEngine(Engine):
    """Ray's workers.

    Parameters
    ----------
    settings : EngineSettings
        May give the address of a head.
    workers : int
        How many are started, without an address.

    Raises
    ------
    TransientError
        If the head cannot be reached.
    """

    message = 6e-4

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self._where = settings.address or HERE
        address = settings.address
        if address is None:
            folder = tempfile.gettempdir()
            ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        else:
            connected("Ray's head", address, HINT, lambda: _connect(address))
        self._compute = ray.remote(num_cpus=1, max_retries=0)(_compute)

    def workers(self, asked: Mapping[str, Plain]) -> int:
        """See `Engine.workers`."""
        return int(ray.cluster_resources().get("CPU", 0))

    def compute(self, work: Work, batches: Batches, asked: Mapping[str, Plain]) -> Iterator[Computed]:
        """Compute batches; see `Engine.compute`."""
        most = AHEAD * max(self.workers(asked), 1)
        sent = ray.put(work)
        out: dict[Any, list[int]] = {}
        try:
            while True:
                while len(out) < most and (units := batches.next()):
                    out[self._compute.remote(sent, units)] = units
                if not out:
                    return
                (done, *_), _ = ray.wait([*out], num_returns=1)
                yield Computed(out.pop(done), self._reply(done))
        finally:
            with contextlib.suppress(ray.exceptions.RayError, RuntimeError):  # it may have ended
                for each in out:
                    ray.cancel(each, force=True)

    def described(self) -> dict[str, Plain]:
        """See `Engine.described`."""
        return {"version": ray.__version__, "where": self._where}

    def close(self) -> None:
        """End what was started for the run."""
        ray.shutdown()

    def _reply(self, done: Any) -> Reply:
        try:
            reply: Reply = ray.get(done)
        except (
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.ObjectLostError,
        ):
            return Reply(0.0, b"", "the worker that computed it ended")
        except ray.exceptions.RaySystemError as error:
            raise TransientError(
                "the connection to Ray is lost", found=f"{self._where}: {error}", hint=AGAIN
            ) from None
        return reply


def _compute(work: Work, units: list[int]) -> Reply:
    return compute_batch(work, units)


def _connect(address: str) -> None:
    """Ray itself tries for a minute where nobody is."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    socket.create_connection((host, int(port))).close()
    ray.init(address=address, log_to_driver=False)
