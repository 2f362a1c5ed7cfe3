"""Units computed through joblib."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import joblib

from shortloop.engines.batches import Batches
from shortloop.engines.engine import Computed, Engine
from shortloop.engines.messages import Reply, Work
from shortloop.engines.worker import compute_batch
from shortloop.errors import TransientError
from shortloop.plain import Plain
from shortloop.settings.engine import EngineSettings

__all__ = ["JoblibEngine"]

NAMES = ("loky", "threading", "sequential")


class JoblibEngine(Engine):
    """joblib's workers on this machine: processes of loky, or threads, each with a process of its own.

    Parameters
    ----------
    settings : EngineSettings
        May name a backend.
    workers : int
        How many, if `joblib.parallel_config` says nothing.
    """

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self._backend = settings.backend
        self._is_given = settings.workers is not None
        self._workers = workers

    @property
    def workers(self) -> int:
        """How many batches it computes at a time."""
        return self._workers

    def compute(self, work: Work, batches: Batches, asked: Mapping[str, Plain]) -> Iterator[Computed]:
        """Compute batches; see `Engine.compute`. What `joblib.parallel_config` said comes as `asked`."""
        backend = self._backend or asked.get("backend") or "loky"
        if backend not in NAMES:
            raise TransientError(
                "joblib is asked for a backend that no job can have",
                found=backend,
                expected=" or ".join(NAMES[:2]),
                hint="for others, use the engine of that name: `SHORTLOOP_ENGINE=dask`, or ray",
            )
        workers = self._workers if self._is_given else int(str(asked.get("n_jobs") or self._workers))
        while batches.has_next():
            yield from _computed(work, batches, str(backend), workers)

    def described(self) -> dict[str, Plain]:
        """See `Engine.described`."""
        return {"version": joblib.__version__, "where": "this machine"}

    def close(self) -> None:
        """End loky's workers."""
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _computed(work: Work, batches: Batches, backend: str, workers: int) -> Iterator[Computed]:
    out: dict[int, list[int]] = {}

    def tasks() -> Iterator[Any]:
        for number, units in enumerate(iter(batches.next, [])):
            out[number] = units
            yield joblib.delayed(_compute)(work, number, units)

    parallel = joblib.Parallel(
        workers, backend=backend, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs"
    )
    try:
        for number, reply in parallel(tasks()):
            yield Computed(out.pop(number), reply)
    except BrokenProcessPool:  # a worker has ended; the others have been ended with it
        for units in out.values():
            yield Computed(units, Reply(0.0, b"", "a worker ended"))


def _compute(work: Work, number: int, units: Sequence[int]) -> tuple[int, Reply]:
    return number, compute_batch(work, units)
