"""What every library is asked to do: three transformations of a table that lies in several Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from shortloop.types import FloatArray, IntArray

__all__ = [
    "ADDED",
    "APPLY",
    "COLUMN",
    "GROUPS",
    "KEY",
    "TRANSFORMATIONS",
    "Aggregates",
    "Work",
    "X",
    "file_name",
]

APPLY, COLUMN, GROUPS = "apply", "column", "groups"
TRANSFORMATIONS = {
    APPLY: "a Python function for each row: x + 100 + a random number",
    COLUMN: "a column at once: x + 100 + random numbers",
    GROUPS: "number of rows and sum of every column in each group",
}
"""By name, and what each is."""
KEY, X = "key", "x"
ADDED = 100.0


class Aggregates(NamedTuple):
    """What the transformation ``groups`` gives.

    Parameters
    ----------
    counts : array of int64, shape (groups,)
        Rows of each group.
    sums : array of float64, shape (groups, columns)
        Sum of each column but the key.
    """

    counts: IntArray
    sums: FloatArray


@dataclass(frozen=True)
class Work:
    """A table, and how to work on it.

    Parameters
    ----------
    library : str
        Which library does it, as of `shortloop.frames.runners.registry`.
    folder : Path
        Folder of the Parquet files.
    rows : tuple of int
        Rows of each file.
    columns : tuple of str
        All columns but the key.
    groups : int
        Keys go from 0 to this.
    workers : int
        How many cores to use.
    seed : int
        Of random numbers.
    """

    library: str
    folder: Path
    rows: tuple[int, ...]
    columns: tuple[str, ...]
    groups: int
    workers: int
    seed: int

    def file(self, part: int) -> str:
        """Path of a file.

        Parameters
        ----------
        part : int
            Its number.

        Returns
        -------
        str
        """
        return str(self.folder / file_name(part))

    def files(self, parts: Sequence[int]) -> list[str]:
        """Paths of some files."""
        return [self.file(part) for part in parts]

    def generator(self, *names: str | int) -> np.random.Generator:
        """Random numbers for a part of the work; those of parts with other names are others.

        Parameters
        ----------
        *names : str or int
            What they are for, such as the number of a file.

        Returns
        -------
        numpy.random.Generator
        """
        import numpy as np

        from shortloop.seeds import seed_for

        return np.random.default_rng(seed_for(self.seed, "frames", self.library, *names))


def file_name(part: int) -> str:
    """Name of a file of the table.

    Parameters
    ----------
    part : int
        Its number.

    Returns
    -------
    str
        Sorted by name, files are in the order of their numbers.
    """
    return f"part-{part:06d}.parquet"
