"""Units computed by Dask: a cluster on this machine, or any scheduler by its address."""

from __future__ import annotations

import contextlib
import time
from asyncio import CancelledError as Cancelled
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from typing import Any, TypeVar

import distributed
from distributed.security import Security

from shortloop.engines.batches import Batches
from shortloop.engines.connecting import CONNECT, connected
from shortloop.engines.engine import Computed, Engine
from shortloop.engines.messages import HERE, Reply, Work
from shortloop.engines.worker import compute_batch
from shortloop.errors import TransientError
from shortloop.plain import Plain
from shortloop.settings.engine import EngineSettings

__all__ = ["DaskEngine"]

WAIT_FOR_WORKERS = 60.0  # s until there is one
AHEAD = 2  # batches for each worker, so that none waits for the next
PATIENCE = 5.0  # s that the scheduler may take for what was computed, the first time that it is asked
LOOK_EVERY = 1.0  # s: how many workers there are
AGAIN = "run again: units that are done are kept"
T = TypeVar("T")


class DaskEngine(Engine):
    """Dask's workers.

    Parameters
    ----------
    settings : EngineSettings
        May give the address of a scheduler, and files for TLS.
    workers : int
        How many are started, without an address.

    Raises
    ------
    TransientError
        If the scheduler cannot be reached, or refuses this client.
    """

    message = 1.4e-3

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self._cluster: Any = None
        if settings.address is None:
            self._cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=False
            )
        self._where = settings.address or HERE
        self._client = _client(settings, self._cluster)
        self._workers, self._until = 0, 0.0

    def workers(self, asked: Mapping[str, Plain]) -> int:
        """See `Engine.workers`."""
        if time.monotonic() > self._until or not self._workers:
            self._workers = sum(self._answered(self._client.nthreads).values())
            self._until = time.monotonic() + LOOK_EVERY
        return self._workers

    def compute(self, work: Work, batches: Batches, asked: Mapping[str, Plain]) -> Iterator[Computed]:
        """Compute batches; see `Engine.compute`."""
        self._wait_for_workers()
        out: dict[Any, list[int]] = {}
        patience: dict[Any, float] = {}
        done = distributed.as_completed(with_results=False)
        try:
            while True:
                while len(out) < AHEAD * max(self.workers(asked), 1) and (units := batches.next()):
                    future = self._client.submit(compute_batch, work, units, pure=False)
                    out[future] = units
                    done.add(future)
                if not out:
                    return
                future = next(done)
                seconds = patience.pop(future, PATIENCE)
                reply = self._reply(future, seconds)
                if reply is None:  # perhaps it is large, perhaps its worker is gone, and another computes it
                    patience[future] = 2 * seconds
                    done.add(future)
                else:
                    yield Computed(out.pop(future), reply)
        finally:
            with contextlib.suppress(Exception):  # it may have ended
                self._client.cancel([*out])

    def described(self) -> dict[str, Plain]:
        """See `Engine.described`."""
        return {"version": distributed.__version__, "where": self._where}

    def close(self) -> None:
        """End the cluster, if it was started for the run."""
        self._client.close(timeout=5)
        if self._cluster is not None:
            self._cluster.close(timeout=10)

    def _reply(self, future: Any, seconds: float) -> Reply | None:
        """What came of a batch; None, if it is not here in time.

        A scheduler asks for it where it was when it was asked itself, for minutes, also if that worker is
        gone. Asked again, it knows better.
        """
        ended = Reply(0.0, b"", "the worker that computed it ended")
        if future.status == "error":
            error = self._answered(future.exception)
            if isinstance(error, distributed.KilledWorker):
                return ended
            raise RuntimeError(f"a worker of Dask has failed: {error!r}") from error

        def asked() -> Reply | None:
            with contextlib.suppress(TimeoutError):
                reply: Reply = future.result(timeout=seconds)
                return reply
            return None

        try:
            return self._answered(asked)
        except distributed.KilledWorker:
            return ended

    def _answered(self, ask: Callable[[], T]) -> T:
        """What the scheduler says."""
        try:
            return ask()
        except (OSError, Cancelled, CancelledError, distributed.client.ClosedClientError) as error:
            raise TransientError(
                "the connection to Dask's scheduler is lost", found=self._where, hint=AGAIN
            ) from error

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + WAIT_FOR_WORKERS
        while not self.workers({}):
            if time.monotonic() > deadline:
                raise TransientError(
                    "Dask's scheduler has no workers", found=self._where, hint=f"start some; {AGAIN}"
                )
            time.sleep(0.1)


def _client(settings: EngineSettings, cluster: Any) -> Any:
    if cluster is not None:
        return distributed.Client(cluster)
    files = _files(settings)
    security = Security(require_encryption=True, **files) if files else Security()
    return connected(
        "Dask's scheduler",
        str(settings.address),
        "see that it runs and that this machine may reach it; with TLS, its ca, certificate and key",
        lambda: distributed.Client(settings.address, security=security, timeout=CONNECT),
    )


def _files(settings: EngineSettings) -> dict[str, str]:
    given = {
        "tls_ca_file": settings.ca,
        "tls_client_cert": settings.certificate,
        "tls_client_key": settings.key,
    }
    for name, file in given.items():
        if file is not None and not file.is_file():
            raise TransientError("a file for TLS is not there", field=f"engine: {name}", file=file)
    return {name: str(file) for name, file in given.items() if file is not None}
