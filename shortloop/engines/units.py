"""Handing out independent units of work: workers that share a counter draw the next one from it,
largest first, so that none idles while another has a queue."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence

__all__ = ["Units"]


class Units:
    """Units of work, each drawn once by whoever iterates next.

    Make it before the workers fork (in ``prepare`` of an exax method): what they inherit is one counter.
    In a single process, iterating simply gives every unit.

    Parameters
    ----------
    costs : int or sequence of float
        Expected cost of each unit, in any unit of measure; an int is that many equal units.
    """

    def __init__(self, costs: int | Sequence[float]) -> None:
        costs = [1.0] * costs if isinstance(costs, int) else list(costs)
        self._order = sorted(range(len(costs)), key=lambda unit: (-costs[unit], unit))
        self._next = multiprocessing.get_context("fork").Value("q", 0)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[int]:
        while True:
            with self._next.get_lock():
                drawn = self._next.value
                self._next.value = drawn + 1
            if drawn >= len(self._order):
                return
            yield self._order[drawn]
