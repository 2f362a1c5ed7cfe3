"""An exax dataset as a stage input: rows in named columns, split into slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

__all__ = ["Dataset"]


class Dataset(Protocol):
    """What a stage has in a field of type ``Dataset``: exax's own; this is the part of it that stages need.

    Make its slices the units of a stage, and let `Stage.finish` put together what they gave. How many there
    are, and which rows are in which, was decided when it was written; a result must not hang on that.

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
        """What is known of each column, by its name."""

    @property
    def lines(self) -> Sequence[int]:
        """How many rows each slice has."""

    def chain(self) -> Sequence[Dataset]:
        """The datasets that it is chained to, the oldest first, and itself."""

    def iterate(
        self, sliceno: int | None, columns: str | Sequence[str] | None = None, **more: object
    ) -> Iterator[Any]:
        """Rows of a slice; of all, if that is None. See exax's own for what else it takes."""

    def iterate_chain(
        self, sliceno: int | None, columns: str | Sequence[str] | None = None, **more: object
    ) -> Iterator[Any]:
        """The same of all datasets in the chain."""
