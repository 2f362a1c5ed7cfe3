"""Polars, on its own threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from shortloop.frames.runners.base import Found, Runner
from shortloop.frames.work import ADDED, APPLY, COLUMN, KEY, Aggregates, X

if TYPE_CHECKING:
    import polars as pl

    from shortloop.types import FloatArray

__all__ = ["RUNNER", "PolarsFrame"]

COUNT = "count"


class PolarsFrame(Runner):
    """A lazy frame over all files."""

    def start(self) -> None:
        """As of `Runner`. Of threads, it has as many as the environment of this process says."""
        import polars as pl

        assert pl.thread_pool_size() == self.work.workers

    def run(self, transformation: str, parts: Sequence[int]) -> Found:
        """As of `Runner`."""
        import polars as pl

        frame = pl.scan_parquet(self.work.files(parts), glob=False)
        rng = self.work.generator()
        if transformation == APPLY:
            each = pl.col(X).map_elements(lambda x: x + ADDED + rng.random(), return_dtype=pl.Float64)
            return frame.select(each).collect()
        if transformation == COLUMN:
            drawn = pl.Series(rng.random(sum(self.work.rows[part] for part in parts)))
            return frame.select(pl.col(X) + ADDED + pl.lit(drawn)).collect()
        return frame.group_by(KEY).agg(pl.len().alias(COUNT), pl.col(self.work.columns).sum()).collect()

    def values(self, found: Found) -> FloatArray:
        """As of `Runner`."""
        return cast("pl.DataFrame", found)[X].to_numpy()

    def aggregates(self, found: Found) -> Aggregates:
        """As of `Runner`."""
        frame = cast("pl.DataFrame", found)
        made = Aggregates(
            np.zeros(self.work.groups, np.int64), np.zeros((self.work.groups, len(self.work.columns)))
        )
        keys = frame[KEY].to_numpy()
        made.counts[keys] = frame[COUNT].to_numpy()
        made.sums[keys] = frame.select(self.work.columns).to_numpy()
        return made


RUNNER = PolarsFrame
