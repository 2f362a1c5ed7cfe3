"""What happens in a run, for whoever listens, such as the bar of progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shortloop.jobs.pipeline import Built

__all__ = ["Ended", "Event", "Listener", "Reading", "Started"]


@dataclass(frozen=True)
class Started:
    """The pipeline asks for a job, which is now looked up, and built if it is not there.

    Parameters
    ----------
    stage : str
        Its stage.
    partition : str or None
        Which part of the data; None: all.
    variant : str
        As of `shortloop.jobs.pipeline.Built`.
    """

    stage: str
    partition: str | None
    variant: str = ""


@dataclass(frozen=True)
class Ended:
    """The job that was asked for last is there.

    Parameters
    ----------
    built : Built
        The job; its `fresh` says whether it was built now.
    """

    built: Built


@dataclass(frozen=True)
class Reading:
    """Input files are being read.

    Parameters
    ----------
    files : int
        How many.
    done, total : int
        Bytes that were read so far, and of all files.
    seconds : float
        How long that took so far.
    """

    files: int
    done: int
    total: int
    seconds: float


Event = Started | Ended | Reading
Listener = Callable[[Event], None]
"""Is called with each event, in the process of the run, which waits for it."""
