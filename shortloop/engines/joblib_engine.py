"""Engine for joblib."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import joblib
from joblib.externals.loky.process_executor import ShutdownExecutorError

from shortloop.base.errors import TransientError
from shortloop.base.plain import Plain
from shortloop.engines.engine import Computed, Engine
from shortloop.engines.supply import Supplies
from shortloop.engines.worker import compute_batch
from shortloop.settings.engine import EngineSettings
from shortloop.units.messages import HERE, Reply, Work
from shortloop.units.queue import Batches

NAMES = ("loky", "threading", "sequential")
ENDED = (BrokenProcessPool, ShutdownExecutorError)  # as a worker ended: for one of its users, and the others

# joblib shows its shared workers to other threads before it has completed them.
_starting = threading.Lock()


class JoblibEngine(Engine):
    """joblib's workers on this machine: processes of loky, or threads, each with a process of its own."""

    message = 2e-4  # measured, as those of others: `make bench PARTS=engines`

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self._backend = settings.backend
        self._is_given = settings.workers is not None
        self._workers = workers

    def workers(self, asked: Mapping[str, Plain]) -> int:
        """Return the number of the settings, or else of `joblib.parallel_config`."""
        return self._workers if self._is_given else int(str(asked.get("n_jobs") or self._workers))

    def compute(
        self, supplies: Supplies, batches: Batches[bytes], asked: Mapping[str, Plain]
    ) -> Iterator[Computed]:
        """Compute batches; `asked` holds the arguments of `joblib.parallel_config`."""
        backend = str(self._backend or asked.get("backend") or "loky")
        if backend not in NAMES:
            raise TransientError(
                "unsupported joblib backend",
                found=backend,
                expected=" or ".join(NAMES[:2]),
                hint="for others, use the engine of that name: `SHORTLOOP_ENGINE=dask`, or ray",
            )
        workers = self.workers(asked)
        work = supplies.work._replace(here=("", ""))  # on this machine the project is there
        while batches.has_next():
            yield from _computed(work, batches, backend, workers)

    def described(self) -> dict[str, Plain]:
        return {"version": joblib.__version__, "where": HERE}

    def close(self) -> None:
        from joblib.externals.loky import get_reusable_executor

        # With other arguments, it would wait for all tasks first, and for a thread that waits for its lock.
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _computed(work: Work, batches: Batches[bytes], backend: str, workers: int) -> Iterator[Computed]:
    out = _HandedOut(batches)

    def tasks() -> Iterator[Any]:  # joblib asks for them in several threads
        for units in iter(out.next, []):
            yield joblib.delayed(_compute)(work, units)

    parallel = joblib.Parallel(
        workers, backend=backend, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs"
    )
    with _starting:
        computed = parallel(tasks())
    try:
        for first, reply in computed:
            yield Computed(out.done(first), reply)
    except RuntimeError as error:
        if not any(isinstance(each, ENDED) for each in (error, error.__context__)):
            raise
        # A worker has ended; the others have been ended with it.
        for units in out.end():
            yield Computed(units, Reply(0.0, b"", "a worker ended"))
    finally:
        out.end()
        with contextlib.suppress(RuntimeError):
            for _ in computed:  # closed before its end, it would end the workers, which other jobs have, too
                pass


class _HandedOut:
    """Batches that joblib has; it may ask for one more after it has failed."""

    def __init__(self, batches: Batches[bytes]) -> None:
        self._batches = batches
        self._lock = threading.Lock()
        self._out: dict[bytes, list[bytes]] = {}  # by their first units
        self._has_ended = False

    def next(self) -> list[bytes]:
        with self._lock:
            units = [] if self._has_ended else self._batches.next()
            if units:
                self._out[units[0]] = units
            return units

    def done(self, first: bytes) -> list[bytes]:
        with self._lock:
            return self._out.pop(first)

    def end(self) -> list[list[bytes]]:
        with self._lock:
            self._has_ended = True
            return [*self._out.values()]


def _compute(work: Work, units: Sequence[bytes]) -> tuple[bytes, Reply]:
    return units[0], compute_batch(work, units)
