"""Dask's data frame, on its threads, or on its processes."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shortloop.frames.runners.base import Found, Runner
from shortloop.frames.runners.pandas_parts import COUNT, aggregates_of, one_thread
from shortloop.frames.work import ADDED, APPLY, COLUMN, KEY, Aggregates, Work, X

if TYPE_CHECKING:
    import pandas as pd

    from shortloop.types import FloatArray

__all__ = ["RUNNER", "DaskFrame"]


class DaskFrame(Runner):
    """A lazy frame over all files."""

    def start(self) -> None:
        """As of `Runner`."""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

        import dask.dataframe  # noqa: F401

        one_thread()
        workers = self.work.workers
        self._pool: ProcessPoolExecutor | ThreadPoolExecutor
        self._how: dict[str, Any]
        if self.work.library == "dask-processes":
            context = multiprocessing.get_context("spawn")  # as Dask has it
            self._pool = ProcessPoolExecutor(workers, context, one_thread)
            # One at a time: of batches of six, as Dask has it, there are too few for all workers.
            self._how = {"scheduler": "processes", "pool": self._pool, "num_workers": workers, "chunksize": 1}
        else:
            self._pool = ThreadPoolExecutor(workers)
            self._how = {"scheduler": "threads", "pool": self._pool, "num_workers": workers}

    def run(self, transformation: str, parts: Sequence[int]) -> Found:
        """As of `Runner`."""
        import dask
        import dask.dataframe as dd

        frame = dd.read_parquet([*map(glob.escape, self.work.files(parts))], engine="pyarrow")
        if transformation == APPLY:
            made = frame.map_partitions(_apply, self.work, meta=(None, "f8"))
        elif transformation == COLUMN:
            made = frame[[X]].map_partitions(_column, self.work, meta=(X, "f8"))
        else:
            made = frame.assign(**{COUNT: 1}).groupby(KEY).sum()
        with dask.config.set(self._how):
            # Without `optimize`, reading is a task of its own: from a process, all that was read comes back
            # here, and goes to a process again with the next task.
            return made.optimize().compute()

    def values(self, found: Found) -> FloatArray:
        """As of `Runner`."""
        return np.asarray(found, np.float64)

    def aggregates(self, found: Found) -> Aggregates:
        """As of `Runner`."""
        return aggregates_of(cast("pd.DataFrame", found), self.work)

    def close(self) -> None:
        """As of `Runner`."""
        self._pool.shutdown()


def _apply(frame: pd.DataFrame, work: Work, partition_info: Any = None) -> pd.Series:
    rng = work.generator(_number(partition_info))
    return frame.apply(lambda row: row[X] + ADDED + rng.random(), axis=1)


def _column(frame: pd.DataFrame, work: Work, partition_info: Any = None) -> pd.Series:
    return frame[X] + ADDED + work.generator(_number(partition_info)).random(len(frame))


def _number(partition_info: Any) -> int:
    assert partition_info is not None  # else all partitions would draw the same numbers
    return int(partition_info["number"])


RUNNER = DaskFrame
