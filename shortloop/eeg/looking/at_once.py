"""The same work on many things at once, on all cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

__all__ = ["Tell", "at_once"]

T = TypeVar("T")
R = TypeVar("R")
Tell = Callable[[int, int], None]
"""Is told how many of how many are done."""


def at_once(work: Callable[[T], R], things: Sequence[T], tell: Tell) -> list[R]:
    """Do the same with many things, in processes that are forked from this one.

    Parameters
    ----------
    work : callable
        Takes a thing; both can be pickled, and what it returns.
    things : sequence
        The things.
    tell : callable
        Is told how many are done.

    Returns
    -------
    list
        What `work` returned of each, in their order.
    """
    cores = min(len(os.sched_getaffinity(0)), len(things))
    found: dict[int, R] = {}
    tell(0, len(things))
    if cores < 2:
        for number, thing in enumerate(things):
            found[number] = work(thing)
            tell(number + 1, len(things))
        return list(found.values())
    context = multiprocessing.get_context("fork")  # what this process has imported is there
    with ProcessPoolExecutor(cores, context, _leave_interrupts) as pool:
        numbers = {pool.submit(work, thing): number for number, thing in enumerate(things)}
        try:
            for done, future in enumerate(as_completed(numbers), start=1):
                found[numbers[future]] = future.result()
                tell(done, len(things))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[number] for number in range(len(things))]


def _leave_interrupts() -> None:
    """Ctrl-C is for the process that waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
