"""Rows of the table, read to check what libraries make of them, and for the dataset of exax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shortloop.frames.work import KEY, Work

if TYPE_CHECKING:
    import numpy as np

__all__ = ["parts_of"]


def parts_of(work: Work) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """Read the table, part by part.

    Parameters
    ----------
    work : Work
        Where it is.

    Yields
    ------
    keys : array of int64, shape (rows,)
    columns : list of array of float64, shape (rows,)
    """
    import pyarrow.parquet as pq

    for part in range(len(work.rows)):
        table = pq.read_table(work.file(part), use_threads=False)
        yield table[KEY].to_numpy(), [table[name].to_numpy() for name in work.columns]
