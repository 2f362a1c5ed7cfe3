"""An exax dataset as a stage input: rows in named columns, split into slices.

A module of its own, as a key holds the version of exax if a stage imports this (`shortloop.keys.code`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol


class Dataset(Protocol):
    """The part of exax's own datasets that stages need.

    Make its slices the units of a stage, and combine their results in `Stage.finish`. The number of slices
    and the rows in each were decided when it was written; a result must not depend on them.

    >>> class Mean(Stage):
    ...     rows: Dataset
    ...     def units(self):
    ...         return len(self.rows.lines)
    ...     def outputs(self):
    ...         return {"sums": Out((len(self.rows.lines),), "f8", "slices", "sum of a")}
    ...     def compute(self, unit):
    ...         return {"sums": sum(self.rows.iterate(unit, "a"))}
    ...     def finish(self, out):
    ...         return Finished({"mean": out["sums"].sum() / sum(self.rows.lines)})
    """

    @property
    def columns(self) -> Mapping[str, object]:
        """Properties of each column, by its name."""

    @property
    def lines(self) -> Sequence[int]:
        """Number of rows of each slice."""

    def chain(self) -> Sequence[Dataset]:
        """The datasets that it is chained to, oldest first, and itself."""

    def iterate(
        self, sliceno: int | None, columns: str | Sequence[str] | None = None, **more: object
    ) -> Iterator[Any]:
        """Rows of a slice, or of all if it is None; see exax for further arguments."""

    def iterate_chain(
        self, sliceno: int | None, columns: str | Sequence[str] | None = None, **more: object
    ) -> Iterator[Any]:
        """Rows of all datasets in the chain."""
