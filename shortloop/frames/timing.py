"""Timing the same work several times, with what else went on meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from shortloop.frames.processes import busy_seconds, cpu_seconds

__all__ = ["LEAST", "Timed", "again", "time_repeats"]

ENOUGH = 0.5  # s: work that takes less than that in all repeats is repeated more often
MOST = 25
LEAST = 0.3  # s, below which shares of time say nothing: clocks tick hundredths


@dataclass
class Timed:
    """What was measured.

    Parameters
    ----------
    start : float
        Seconds to import the library, to start its workers, to compile, and to do a little of the work.
    seconds : list of float
        Of each repeat, by the clock.
    busy : float or None
        Cores that it kept busy, on average.
    others : float or None
        Cores that others kept busy meanwhile.
    peak : int or None
        Most memory, bytes, of a further repeat that is not timed.
    """

    start: float = 0.0
    seconds: list[float] = field(default_factory=list)
    busy: float | None = None
    others: float | None = None
    peak: int | None = None

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def time_repeats(timed: Timed, run: Callable[[], object], repeats: int) -> None:
    """Time some work, more often if it takes little.

    Parameters
    ----------
    timed : Timed
        What is found is put there.
    run : callable
        Does the work.
    repeats : int
        How often, at least.
    """
    own, every, began = cpu_seconds(os.getpid()), busy_seconds(), time.monotonic()
    while again(timed.seconds, repeats):
        before = time.perf_counter()
        found = run()
        timed.seconds.append(time.perf_counter() - before)
        del found  # before there is another one
    wall = time.monotonic() - began
    own = cpu_seconds(os.getpid()) - own
    if wall >= LEAST:
        timed.busy = own / wall
        after = busy_seconds()
        if every is not None and after is not None:
            timed.others = max(0.0, (after - every - own) / wall)


def again(seconds: list[float], repeats: int) -> bool:
    """Whether to repeat once more.

    Parameters
    ----------
    seconds : list of float
        Of repeats so far.
    repeats : int
        How many are asked for.

    Returns
    -------
    bool
    """
    return len(seconds) < repeats or (sum(seconds) < ENOUGH and len(seconds) < MOST)
