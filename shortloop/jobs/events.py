"""What happens in a run, for whoever listens: progress now, profiling too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shortloop.jobs.pipeline import Built

__all__ = ["Ended", "Event", "Listener", "Reading", "Started"]


@dataclass(frozen=True)
class Started:
    """A job is asked for.

    Parameters
    ----------
    stage : str
        Its stage.
    partition : str or None
        Which part of the data; None: all.
    """

    stage: str
    partition: str | None


@dataclass(frozen=True)
class Ended:
    """The job is there.

    Parameters
    ----------
    built : Built
        The job.
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
        Bytes that are read, and of all.
    seconds : float
        How long it took so far.
    """

    files: int
    done: int
    total: int
    seconds: float


Event = Started | Ended | Reading
Listener = Callable[[Event], None]
