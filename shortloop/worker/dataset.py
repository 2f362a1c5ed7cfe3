"""A dataset of exax, as a stage has it: rows in named columns, split into slices when they were written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

__all__ = ["Dataset"]


class Dataset(Protocol):
    """What a stage has in a field of type ``Dataset``: exax's own; this is the part of it that stages need.

    Make its slices the units of a stage, and let `Stage.finish` put together what they gave. How many there
    are, and which rows are in which, was decided when it was written; a result must not hang on that.

    Examples
    --------
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
        """Rows of a slice; of all, if that is None. See exax's own for what else it takes.

        Parameters
        ----------
        sliceno : int or None
            Number of the slice.
        columns : str or sequence of str, optional
            Which to give: of a name its values, of several a tuple for each row. Default: all, by name.
        **more
            As exax has it.

        Yields
        ------
        object
        """

    def iterate_chain(
        self, sliceno: int | None, columns: str | Sequence[str] | None = None, **more: object
    ) -> Iterator[Any]:
        """The same of all datasets in the chain.

        Parameters
        ----------
        sliceno, columns, **more
            As of `iterate`.

        Yields
        ------
        object
        """
