"""The table of a job, as libraries are given it."""

from __future__ import annotations

from shortloop.frames.work import Work
from shortloop.worker.stage import Job

__all__ = ["FOLDER", "work_of"]

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
