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
from shortloop.engines.engine import Computed, Engine
from shortloop.engines.messages import Reply, Work
from shortloop.engines.worker import compute_batch
from shortloop.errors import TransientError
from shortloop.plain import Plain
from shortloop.settings.engine import EngineSettings

__all__ = ["RayEngine"]

CONNECT = 8.0  # s that a head may take to answer
AHEAD = 2  # batches for each worker, so that none waits for the next
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

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self._where = settings.address or "this machine"
        more: dict[str, Any] = {"include_dashboard": False, "num_cpus": workers}
        if settings.address is not None:
            _see_that_it_answers(settings.address)
            more = {"address": settings.address}
        else:
            more["_temp_dir"] = tempfile.gettempdir()
        ray.init(log_to_driver=False, **more)
        self._compute = ray.remote(num_cpus=1, max_retries=0)(_compute)

    @property
    def workers(self) -> int:
        """How many batches it computes at a time."""
        return int(ray.cluster_resources().get("CPU", 0))

    def compute(self, work: Work, batches: Batches, asked: Mapping[str, Plain]) -> Iterator[Computed]:
        """Compute batches; see `Engine.compute`."""
        most = AHEAD * max(self.workers, 1)
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


def _see_that_it_answers(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECT).close()
    except (OSError, ValueError) as error:
        raise TransientError(
            "Ray's head cannot be reached",
            field="engine.address",
            found=f"{address}: {error}",
            expected=f"one that answers within {CONNECT:g} s, as HOST:PORT",
            hint="see that it runs (`ray start --head`) and that this machine may reach it",
        ) from None
