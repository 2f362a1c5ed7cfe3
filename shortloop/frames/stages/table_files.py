"""The table of a job, as libraries are given it, and as it is read to check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shortloop.frames.work import KEY, Work
from shortloop.worker.stage import Job

if TYPE_CHECKING:
    import numpy as np

__all__ = ["FOLDER", "parts_of", "work_of"]

FOLDER = "table"
"""Of the files, in the folder of the job."""


def work_of(table: Job, library: str, workers: int, seed: int) -> Work:
    """What a library is asked to do.

    Parameters
    ----------
    table : Job
        Of the stage `FramesTable`.
    library : str
        Which library.
    workers : int
        Cores to use.
    seed : int
        Of random numbers.

    Returns
    -------
    Work
    """
    facts = table.facts
    return Work(
        library,
        table.path / FOLDER,
        tuple(facts["rows"]),
        tuple(facts["columns"]),
        facts["groups"],
        workers,
        seed,
    )


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
