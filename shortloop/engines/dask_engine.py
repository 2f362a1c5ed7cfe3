"""Units computed by Dask: a cluster on this machine, or any scheduler by its address."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

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

    def workers(self, asked: Mapping[str, Plain]) -> int:
        """See `Engine.workers`."""
        return sum(self._client.nthreads().values())

    def compute(self, work: Work, batches: Batches, asked: Mapping[str, Plain]) -> Iterator[Computed]:
        """Compute batches; see `Engine.compute`."""
        self._wait_for_workers()
        out: dict[Any, list[int]] = {}
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
                units = out.pop(future)
                yield Computed(units, self._reply(future))
        finally:
            self._client.cancel([*out])

    def described(self) -> dict[str, Plain]:
        """See `Engine.described`."""
        return {"version": distributed.__version__, "where": self._where}

    def close(self) -> None:
        """End the cluster, if it was started for the run."""
        self._client.close(timeout=5)
        if self._cluster is not None:
            self._cluster.close(timeout=10)

    def _reply(self, future: Any) -> Reply:
        if future.status == "cancelled":
            raise TransientError("the connection to Dask's scheduler is lost", found=self._where, hint=AGAIN)
        try:
            reply: Reply = future.result()
        except distributed.KilledWorker:
            return Reply(0.0, b"", "the worker that computed it ended")
        return reply

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + WAIT_FOR_WORKERS
        while not self.workers({}):
            if time.monotonic() > deadline:
                raise TransientError(
                    "Dask's scheduler has no workers", found=self._where, hint=f"start some; {AGAIN}"
                )
            time.sleep(0.1)


AGAIN = "run again: units that are done are kept"


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
