"""Events of a run, for listeners such as the progress bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shortloop.plan.pipeline import Built

__all__ = ["Ended", "Event", "Listener", "Reading", "Started"]


@dataclass(frozen=True)
class Started:
    """A job starts, or is about to be reused.

    stage: its stage.
    partition: which part of the data; None: all.
    folder: gives the folder of the job, as far as it is known; each attempt has its own.
    """

    stage: str
    partition: str | None
    variant: str = ""
    folder: Callable[[], Path | None] = field(default=lambda: None, compare=False)


@dataclass(frozen=True)
class Ended:
    """A job is there.

    built: the job; its `fresh` says whether it was built now.
    """

    built: Built


@dataclass(frozen=True)
class Reading:
    """Input files are being read.

    files: how many.
    done, total: bytes that were read so far, and of all files.
    seconds: how long that took so far.
    """

    files: int
    done: int
    total: int
    seconds: float


Event = Started | Ended | Reading
Listener = Callable[[Event], None]
"""Is called with each event, in the process of the run, which waits for it."""
