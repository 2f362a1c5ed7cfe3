"""Engine for Dask: a local cluster, or a running scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import dask
import distributed
from distributed.security import Security

from shortloop.base.errors import TransientError
from shortloop.base.plain import Plain
from shortloop.engines.engine import BUSY, Asked, Computed, Engine, Resources, connected
from shortloop.engines.handed_out import HandedOut
from shortloop.engines.probe import CALL, arguments, reply_of
from shortloop.engines.send_files import AGAIN, Supplies
from shortloop.engines.worker import compute_batch, keep_parcel
from shortloop.settings.engine import EngineSettings
from shortloop.units.messages import HERE, Parcel, Reply, Work
from shortloop.units.queue import Batches

if TYPE_CHECKING:
    Future = distributed.Future[Any]

ANSWER = 8.0  # s that the scheduler may take to answer
PATIENCE = 5.0  # s that it may take for a result, the first time that it is asked
AT_A_TIME = 16  # results that are fetched, or wait to be taken
SLOW, QUIET = 10.0, 20.0  # s after which a worker is given nothing more, and after which it is named
AHEAD = 2  # batches for each worker, so that none waits for the next
LOOK_EVERY = 1.0  # s: how many workers there are
MOMENT = 0.01  # s
FIRST = 10  # before batches
GPU = "GPU"  # resource of workers that have some, as Dask's documentation calls it
REACH = 1.0  # s that a worker may take to answer this machine
QUIETLY = {  # monitoring that a cluster for a run does without; it takes a tenth of a core
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
}
LOST = (OSError, asyncio.CancelledError, CancelledError, distributed.client.ClosedClientError)
T = TypeVar("T")


class DaskEngine(Engine):
    """Workers of Dask; `workers` are started unless the settings give the address of a scheduler."""

    message = 1.4e-3

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self._cluster: Any = None
        if settings.address is None:
            with dask.config.set(QUIETLY):
                self._cluster = distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=False
                )
        self._where = settings.address or HERE
        self._is_elastic = settings.address is not None  # as far as can be known
        self._client = _client(settings, self._cluster)
        self._known: dict[str, Resources] = {}  # of each worker, by its address
        # When each was heard of, by the scheduler's clock, and by ours when that was new.
        self._heard: dict[str, tuple[float, float]] = {}
        self._until = 0.0
        self._reached: dict[str, bool] = {}  # whether this machine can call a worker

    def workers(self, asked: Asked) -> int:
        if time.monotonic() > self._until or not self._known:
            self._look(self._answered(lambda: self._client.sync(self._client.scheduler.identity)))
            self._until = time.monotonic() + LOOK_EVERY
        return _room(self._known.values(), asked)

    def _look(self, scheduler: Any) -> None:
        """Take over what a scheduler knows of its workers."""
        known, now, before = scheduler["workers"], time.monotonic(), self._heard
        seen = {address: (each["last_seen"], now) for address, each in known.items()}
        same = {address for address in seen.keys() & before.keys() if seen[address][0] == before[address][0]}
        self._known = _known(scheduler)
        self._heard = {address: before[address] if address in same else new for address, new in seen.items()}

    def compute(self, supplies: Supplies, batches: Batches[bytes], asked: Asked) -> Iterator[Computed]:
        out: HandedOut[Any] = HandedOut(batches)
        sending: dict[Any, str] = {}  # parcels, to which cache
        results = Results(self._client)
        try:
            while True:
                self._send(supplies, sending, results)
                self._hand_out(supplies, batches, out, results, asked)
                if out.is_over and not (supplies.under_way and batches.has_next()):
                    return
                if (found := results.next(MOMENT if supplies.under_way else LOOK_EVERY)) is None:
                    continue
                future, result = found
                if future not in sending and future not in out:  # it was given up
                    continue
                self._check(future, result)
                # At once: what its worker holds when that is killed is computed again for whoever wants it.
                future.release()
                if future in sending:
                    supplies.came(sending.pop(future), result if isinstance(result, tuple) else None)
                    continue
                computed = out.came(future, _reply(result), supplies)
                if superfluous := out.superfluous():
                    self._client.cancel(superfluous)
                if computed is not None:
                    yield computed
        finally:
            with contextlib.suppress(Exception):  # it may have ended
                self._client.cancel([*out, *sending])

    def _hand_out(
        self, supplies: Supplies, batches: Batches[bytes], out: HandedOut[Any], results: Results, asked: Asked
    ) -> None:
        """Submit batches for all workers that may have some; a cluster that grows begins with none."""
        workers, where = self.workers(asked), None
        batches.resize(workers)
        if avoided := supplies.waiting() | self._quiet(SLOW):
            where = [each for each in self._known if each not in avoided]
            workers = _room([self._known[each] for each in where], asked)
        else:
            workers = max(workers, 1)
        more: dict[str, Any] = {"workers": where, "allow_other_workers": where is not None}
        if gpus := Resources.of(asked).gpus:
            more["resources"] = {GPU: gpus}
        # Dask counts neither memory nor several threads of a task: then no batch may wait at a worker.
        counts = asked.keys().isdisjoint(("cores", "memory"))
        idle = bool(self._known) and not results.has_ready()  # what has come may be what is late
        while out.has_room(workers, AHEAD if counts else 1, self._is_elastic and counts):
            if (batch := out.next(again=idle)) is None:
                return
            given = (*arguments(_compute, supplies.work), batch.units)
            key = f"compute_batch-{uuid.uuid4()}"
            future = self._client.submit(eval, CALL, {"given": given}, key=key, **more)
            out.add(future, batch)
            results.add(future)

    def _quiet(self, seconds: float) -> set[str]:
        """Workers of which nobody has heard for a while; none if that is true of all."""
        since = time.monotonic() - seconds
        found = {address for address, (_, when) in self._heard.items() if when < since}
        return found if len(found) < len(self._heard) else set()

    def _send(self, supplies: Supplies, sending: dict[Any, str], results: Results) -> None:
        for cache, workers, parcel in supplies.parcels(self._shared):
            there = [*workers & self._known.keys()] or [*workers]
            future = self._client.submit(keep_parcel, parcel, pure=False, priority=FIRST, workers=there)
            sending[future] = cache
            results.add(future)
        for future, cache in [*sending.items()]:
            if not supplies.workers_of(cache) & self._known.keys():  # the task would wait forever
                del sending[future]
                self._client.cancel([future])
                supplies.came(cache, None)

    def _shared(self, parcel: Parcel, workers: set[str]) -> Any:
        """Put a parcel into the memory of a worker, from which others fetch it; else return the parcel."""
        worker = next(iter(workers & self._known.keys() or workers))
        with contextlib.suppress(KeyError, *LOST):  # the worker has ended, or takes nothing for a while
            (shared,) = self._client.scatter(
                [parcel], workers=[worker], hash=False, direct=self._reaches(worker), timeout=LOOK_EVERY
            )
            return shared
        return parcel

    def _reaches(self, worker: str) -> bool:
        """True if this machine can call a worker; else all data goes through the scheduler."""

        async def call() -> None:
            arguments = self._client.security.get_connection_args("client")
            await (await distributed.comm.connect(worker, REACH, **arguments)).close()

        if worker not in self._reached:
            try:
                self._client.sync(call)
                self._reached[worker] = True
            except LOST:
                self._reached[worker] = False
        return self._reached[worker]

    def described(self) -> dict[str, Plain]:
        return {"version": distributed.__version__, "where": self._where}

    def close(self) -> None:
        self._client.close(timeout=5)
        if self._cluster is not None:
            self._cluster.close(timeout=10)

    def _check(self, future: Any, result: Any) -> None:
        """Raise what the scheduler says instead of a result."""
        if not isinstance(result, BaseException) or isinstance(result, distributed.KilledWorker):
            return
        if future.status != "error" and isinstance(result, LOST):
            raise self._lost() from result
        raise RuntimeError(f"a worker of Dask has failed: {result!r}") from result

    def _answered(self, ask: Callable[[], T]) -> T:
        """Ask the scheduler; raise TransientError if the connection is lost."""
        try:
            return ask()
        except LOST as error:
            raise self._lost() from error

    def _lost(self) -> TransientError:
        return TransientError("the connection to Dask's scheduler is lost", found=self._where, hint=AGAIN)

    def silent(self, asked: Asked) -> str:
        def ask() -> Any:
            with contextlib.suppress(TimeoutError):  # an OSError, which would count as a lost connection
                return self._client.sync(self._client.scheduler.identity, callback_timeout=ANSWER)

        if (known := self._answered(ask)) is None:
            return f"Dask's scheduler at {self._where} does not answer"
        self._look(known)
        if not self._heard:
            return f"Dask's scheduler at {self._where} has no workers: start some"
        if lacking := Resources(gpus=Resources.of(asked).gpus).lacking(self._known.values()):
            start = f"start some with `--resources {GPU}=…`"
            return f"no worker of Dask's scheduler at {self._where} has {lacking}: {start}"
        ago = {address: time.monotonic() - when for address, (_, when) in self._heard.items()}
        if min(ago.values()) < QUIET:  # others compute what these have
            return ""
        first = max(ago, key=lambda address: ago[address])
        when = time.strftime("%H:%M:%S", time.localtime(time.time() - ago[first]))
        return f"no worker of Dask's scheduler at {self._where} is heard of; {first} was at {when}"


class Results:
    """What came of each task, fetched side by side: one that its worker does not give holds up no other."""

    def __init__(self, client: distributed.Client) -> None:
        self._client: Any = client
        self._came: SimpleQueue[tuple[Future, object]] = SimpleQueue()
        self._slots = asyncio.Semaphore(AT_A_TIME)

    def add(self, future: Future) -> None:
        self._client.loop.add_callback(self._follow, future)

    def has_ready(self) -> bool:
        return not self._came.empty()

    def next(self, seconds: float) -> tuple[Future, object] | None:
        """Return the next task and its result; None if there is none within so many seconds."""
        try:
            future, result = self._came.get(timeout=seconds)
        except Empty:
            return None
        if not isinstance(result, BaseException):
            self._client.loop.add_callback(self._slots.release)
        return future, result

    async def _follow(self, future: Future) -> None:
        try:
            result = await self._result(future)
        except BaseException as error:
            result = error
        self._came.put((future, result))

    async def _result(self, future: Future) -> object:
        """Wait for a task, and ask for its result until it comes; then a slot is taken.

        Its worker may be stopped or gone. The scheduler would go on asking that for minutes; asked again, it
        asks another one, which may have computed the task meanwhile. A client's own `gather` asks for results
        together, so that all of them would wait.
        """
        seconds = PATIENCE
        while True:
            await distributed.wait([future])
            if future.status == "error":
                return await future.exception()
            await self._slots.acquire()
            answer: Any = {}
            try:
                async with asyncio.timeout(seconds):
                    answer = await self._client.scheduler.gather(keys=[future.key])
            except TimeoutError:
                seconds *= 2
            finally:
                if answer.get("status") != "OK":
                    self._slots.release()
            if answer.get("status") == "OK":
                return answer["data"][future.key]
            await asyncio.sleep(seconds / PATIENCE)


def _reply(result: Any) -> Reply:
    killed = isinstance(result, distributed.KilledWorker)
    return Reply(0.0, b"", "the worker that computed it ended") if killed else reply_of(result)


def _known(scheduler: Any) -> dict[str, Resources]:
    return {
        address: Resources(each["nthreads"], each["memory_limit"] or math.inf, each["resources"].get(GPU, 0))
        for address, each in scheduler["workers"].items()
    }


def _room(workers: Collection[Resources], asked: Asked) -> int:
    """How many batches there is room for; one that needs more than there is has the workers alone."""
    return max(Resources(*map(sum, zip(*workers))).times(Resources.of(asked)), 1) if workers else 0


def _compute(work: Work, units: list[bytes]) -> Reply:
    worker = distributed.get_worker()
    limit = getattr(worker.memory_manager, "memory_limit", None)
    reply = compute_batch(work, units, limit / worker.state.nthreads if limit else None)
    return reply if reply.missing is None else reply._replace(worker=worker.address)


def _client(settings: EngineSettings, cluster: Any) -> Any:
    if cluster is not None:
        return distributed.Client(cluster)
    ca, certificate, key = settings.ca, settings.certificate, settings.key
    given = {"tls_ca_file": ca, "tls_client_cert": certificate, "tls_client_key": key}
    for name, file in given.items():
        if file is not None and not file.is_file():
            raise TransientError("a file for TLS is missing", field=f"engine: {name}", file=file)
    files = {name: str(file) for name, file in given.items() if file is not None}
    security = Security(require_encryption=True, **files) if files else Security()
    hint = "see that it runs and that this machine may reach it"
    if str(settings.address).startswith("tls://"):
        hint = "see that it takes this ca, certificate and key"
        if missing := [name for name in ("ca", "certificate", "key") if name not in _names(files, security)]:
            hint = f"set {', '.join(missing)} in the table [engine]: its addresses are of TLS"
    return connected(
        "Dask's scheduler",
        settings,
        hint,
        lambda: distributed.Client(settings.address, security=security, timeout=BUSY),
    )


def _names(files: Mapping[str, str], security: Security) -> set[str]:
    """Files for TLS that are known, from the settings or from Dask's own."""
    fields = {"ca": "tls_ca_file", "certificate": "tls_client_cert", "key": "tls_client_key"}
    return {name for name, field in fields.items() if field in files or getattr(security, field, None)}
