"""Code compiled by numba, which needs no interpreter, so that threads share the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shortloop.frames.runners.base import Found, Runner
from shortloop.frames.work import ADDED, APPLY, COLUMN, GROUPS, KEY, Aggregates, X

if TYPE_CHECKING:
    from shortloop.types import FloatArray

__all__ = ["RUNNER", "NumbaThreads"]


class NumbaThreads(Runner):
    """A thread for each core; each takes the next file."""

    def start(self) -> None:
        """As of `Runner`."""
        import pyarrow as pa

        pa.set_cpu_count(1)  # as threads share the work already
        self._kernels = _compiled()
        self._threads = ThreadPoolExecutor(self.work.workers)

    def run(self, transformation: str, parts: Sequence[int]) -> Found:
        """As of `Runner`."""
        if transformation == GROUPS:
            made = Aggregates(
                np.zeros(self.work.groups, np.int64), np.zeros((self.work.groups, len(self.work.columns)))
            )
            for counts, sums in self._threads.map(self._groups, parts):
                np.add(made.counts, counts, out=made.counts)
                np.add(made.sums, sums, out=made.sums)
            return made
        kernel = self._kernels[transformation]

        def new(part: int) -> FloatArray:
            (x,) = self._read(part, [X])
            made = np.empty(len(x))
            kernel(x, self.work.generator(part), made)
            return made

        return np.concatenate(list(self._threads.map(new, parts)))

    def _groups(self, part: int) -> Aggregates:
        made = Aggregates(
            np.zeros(self.work.groups, np.int64), np.zeros((self.work.groups, len(self.work.columns)))
        )
        keys, *columns = self._read(part, [KEY, *self.work.columns])
        for number, column in enumerate(columns):
            self._kernels[GROUPS](keys, column, made.sums[:, number])
        made.counts[:] = np.bincount(keys, minlength=self.work.groups)
        return made

    def _read(self, part: int, columns: list[str]) -> list[np.ndarray]:
        import pyarrow.parquet as pq

        table = pq.read_table(self.work.file(part), columns=columns, use_threads=False)
        return [table[name].to_numpy() for name in columns]

    def values(self, found: Found) -> FloatArray:
        """As of `Runner`."""
        return cast("FloatArray", found)

    def aggregates(self, found: Found) -> Aggregates:
        """As of `Runner`."""
        return cast("Aggregates", found)

    def close(self) -> None:
        """As of `Runner`."""
        self._threads.shutdown()


def _compiled() -> dict[str, Callable[..., Any]]:
    import numba

    @numba.njit(nogil=True)
    def of_row(x: Any, drawn: Any) -> Any:
        return x + ADDED + drawn

    @numba.njit(nogil=True)
    def apply(x: Any, rng: Any, made: Any) -> None:
        for row in range(len(x)):
            made[row] = of_row(x[row], rng.random())

    @numba.njit(nogil=True)
    def column(x: Any, rng: Any, made: Any) -> None:
        for row in range(len(x)):
            made[row] = x[row] + ADDED + rng.random()

    @numba.njit(nogil=True)
    def groups(keys: Any, values: Any, sums: Any) -> None:
        for row in range(len(keys)):
            sums[keys[row]] += values[row]

    return {APPLY: apply, COLUMN: column, GROUPS: groups}


RUNNER = NumbaThreads
