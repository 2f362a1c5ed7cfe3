"""Engine for joblib."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import ShutdownExecutorError

from shortloop.base.errors import TransientError
from shortloop.base.plain import Plain
from shortloop.engines.engine import Asked, Computed, Engine
from shortloop.engines.send_files import Supplies
from shortloop.engines.worker import compute_batch
from shortloop.units.messages import HERE, Reply, Work
from shortloop.units.queue import Batches

NAMES = ("loky", "threading", "sequential")
ENDED = (BrokenProcessPool, ShutdownExecutorError)  # as a worker ended: for one of its users, and the others

# joblib shows its shared workers to other threads before it has completed them.
_starting = threading.Lock()


class JoblibEngine(Engine):
    """joblib's workers on this machine: processes of loky, or threads, each with a process of its own."""

    message = 2e-4  # measured, as those of others: `make bench PARTS=engines`

    def workers(self, asked: Asked) -> int:
        """Return the number of the settings, or else of `joblib.parallel_config`."""
        return self.count if self.settings.workers else int(str(asked.get("n_jobs") or self.count))

    def compute(self, supplies: Supplies, batches: Batches[bytes], asked: Asked) -> Iterator[Computed]:
        """Compute batches; `asked` holds the arguments of `joblib.parallel_config`."""
        if (backend := str(self.settings.backend or asked.get("backend") or "loky")) not in NAMES:
            problem = "unsupported joblib backend"
            hint = "for others, use the engine of that name: `SHORTLOOP_ENGINE=dask`, or ray"
            raise TransientError(problem, found=backend, expected=" or ".join(NAMES[:2]), hint=hint)
        workers = self.workers(asked)
        work = supplies.work._replace(here=("", ""))  # on this machine the project is there
        while batches.has_next():
            yield from _computed(work, batches, backend, workers)

    def described(self) -> dict[str, Plain]:
        return {"version": joblib.__version__, "where": HERE}

    def close(self) -> None:
        # With other arguments, it would wait for all tasks first, and for a thread that waits for its lock.
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _computed(work: Work, batches: Batches[bytes], backend: str, workers: int) -> Iterator[Computed]:
    out: dict[bytes, list[bytes]] = {}  # batches that joblib has, by their first units
    has_ended, lock = threading.Event(), threading.Lock()

    def tasks() -> Iterator[Any]:  # joblib asks for them in several threads, for one more when it has failed
        while True:
            with lock:
                units = [] if has_ended.is_set() else batches.next()
                if not units:
                    return
                out[units[0]] = units
            yield joblib.delayed(_compute)(work, units)

    parallel = joblib.Parallel(
        workers, backend=backend, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs"
    )
    with _starting:
        computed = parallel(tasks())
    try:
        for first, reply in computed:
            yield Computed(out.pop(first), reply)
    except RuntimeError as error:
        if not any(isinstance(each, ENDED) for each in (error, error.__context__)):
            raise
        with lock:
            has_ended.set()
        for units in out.values():  # a worker has ended; the others have been ended with it
            yield Computed(units, Reply(0.0, b"", "a worker ended"))
    finally:
        has_ended.set()
        with contextlib.suppress(RuntimeError):
            for _ in computed:  # closed before its end, it would end the workers, which other jobs have, too
                pass


def _compute(work: Work, units: Sequence[bytes]) -> tuple[bytes, Reply]:
    return units[0], compute_batch(work, units)
