"""DuckDB, on its own threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from shortloop.frames.runners.base import Found, Runner
from shortloop.frames.work import ADDED, APPLY, COLUMN, KEY, Aggregates, X

if TYPE_CHECKING:
    from shortloop.types import FloatArray

__all__ = ["RUNNER", "DuckdbSql"]

NEW, COUNT = "new", "count"


class DuckdbSql(Runner):
    """SQL over all files; its random numbers are its own, and others each time."""

    def start(self) -> None:
        """As of `Runner`."""
        import duckdb

        self._base = duckdb.connect(config={"threads": self.work.workers})
        rng = self.work.generator()
        self._base.create_function(
            "of_row", lambda x: x + ADDED + rng.random(), ["DOUBLE"], "DOUBLE", side_effects=True
        )

    def run(self, transformation: str, parts: Sequence[int]) -> Found:
        """As of `Runner`."""
        what = {
            APPLY: f"of_row({X}) AS {NEW}",
            COLUMN: f"{X} + {ADDED} + random() AS {NEW}",
        }.get(transformation)
        if what is None:
            sums = ", ".join(f"sum({name}) AS {name}" for name in self.work.columns)
            what = f"{KEY}, count(*) AS {COUNT}, {sums}"
        end = "" if transformation in (APPLY, COLUMN) else f" GROUP BY {KEY}"
        return self._base.execute(
            f"SELECT {what} FROM read_parquet($files){end}", {"files": self.work.files(parts)}
        ).fetchnumpy()

    def values(self, found: Found) -> FloatArray:
        """As of `Runner`."""
        return np.asarray(cast("dict[str, np.ndarray]", found)[NEW], np.float64)

    def aggregates(self, found: Found) -> Aggregates:
        """As of `Runner`."""
        columns = cast("dict[str, np.ndarray]", found)
        made = Aggregates(
            np.zeros(self.work.groups, np.int64), np.zeros((self.work.groups, len(self.work.columns)))
        )
        made.counts[columns[KEY]] = columns[COUNT]
        for number, name in enumerate(self.work.columns):
            made.sums[columns[KEY], number] = columns[name]
        return made

    def close(self) -> None:
        """As of `Runner`."""
        self._base.close()


RUNNER = DuckdbSql
