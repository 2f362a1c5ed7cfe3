"""Modin on Ray, in an environment of its own: it needs an older pandas than all others here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from shortloop.frames.runners.base import Found, Runner
from shortloop.frames.runners.pandas_parts import COUNT, aggregates_of
from shortloop.frames.work import ADDED, APPLY, COLUMN, KEY, Aggregates, X
from shortloop.types import FloatArray

__all__ = ["RUNNER", "ModinRay"]


class ModinRay(Runner):
    """A frame that Ray's workers hold. Functions draw the numbers of the worker's own state: a generator of
    this process would reach each worker as a copy."""

    def start(self) -> None:
        """As of `Runner`."""
        import modin.config
        import ray

        modin.config.Engine.put("Ray")
        modin.config.CpuCount.put(self.work.workers)
        modin.config.NPartitions.put(self.work.workers)
        ray.init(num_cpus=self.work.workers, include_dashboard=False, log_to_driver=False)

    def run(self, transformation: str, parts: Sequence[int]) -> Found:
        """As of `Runner`."""
        import modin.pandas as pd

        every = len(parts) == len(self.work.rows)
        files = str(self.work.folder) if every else self.work.file(parts[0])
        frame = cast("Any", pd.read_parquet)(
            files, engine="pyarrow", columns=[X] if transformation == COLUMN else None
        )
        if transformation == APPLY:
            return frame.apply(_of_row, axis=1).modin.to_pandas()
        if transformation == COLUMN:
            return (frame[X] + ADDED + self.work.generator().random(len(frame))).modin.to_pandas()
        return frame.assign(**{COUNT: 1}).groupby(KEY).sum().modin.to_pandas()

    def values(self, found: Found) -> FloatArray:
        """As of `Runner`."""
        return np.asarray(found, np.float64)

    def aggregates(self, found: Found) -> Aggregates:
        """As of `Runner`."""
        return aggregates_of(cast("Any", found), self.work)

    def close(self) -> None:
        """As of `Runner`."""
        import ray

        ray.shutdown()


def _of_row(row: Any) -> Any:
    import random  # each of Ray's workers is started anew, and seeds this by itself

    return row[X] + ADDED + random.random()


RUNNER = ModinRay
