"""Group units into batches for workers.

A batch is large enough to be worth sending, and small enough that no worker waits at the end. The time of
units is measured.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

__all__ = ["Batches"]

MOMENT = 0.5  # s that a batch is to take: a worker is told what comes next, and says how far it is
LOSSES = 3  # of workers that had a unit
TAIL = 2

Unit = TypeVar("Unit", bound=Hashable)


class Batches(Generic[Unit]):
    """Hands out batches of units, largest first, to any thread; each unit once, unless it is put back."""

    def __init__(
        self,
        costs: Mapping[Unit, float],
        units: Sequence[Unit],
        workers: int,
        message: float = 0.0,  # s that handing out a batch takes: batches are long enough for it
    ) -> None:
        self._costs = costs
        self._waiting = sorted(units, key=costs.__getitem__, reverse=True)[::-1]  # the next one is the last
        self._cost_waiting = float(sum(costs[unit] for unit in units))
        self._workers = max(workers, 1)
        self._least = self._workers * message
        self._lock = threading.Lock()
        self._seconds = self._cost_done = 0.0
        self._units_done = 0
        self._lost: Counter[Unit] = Counter()

    def next(self) -> list[Unit]:
        """The next batch."""
        with self._lock:
            batch: list[Unit] = []
            most = self._most()
            taken = 0.0
            while self._waiting and (not batch or taken + self._expected(self._waiting[-1]) <= most):
                if batch and (self._lost[batch[-1]] or self._lost[self._waiting[-1]]):
                    break
                unit = self._waiting.pop()
                taken += self._expected(unit)
                self._cost_waiting -= self._costs[unit]
                batch.append(unit)
            return batch

    def done(self, units: Sequence[Unit], seconds: float) -> None:
        """A batch was computed."""
        with self._lock:
            self._seconds += seconds
            self._cost_done += sum(self._costs[unit] for unit in units)
            self._units_done += len(units)

    def put_back(self, units: Sequence[Unit]) -> list[Unit]:
        """The worker that had a batch is lost; others compute it, each of its units alone."""
        with self._lock:
            self._waiting += sorted(units, key=self._costs.__getitem__, reverse=True)[::-1]
            self._cost_waiting += sum(self._costs[unit] for unit in units)
            self._lost.update(units)
            return [unit for unit in units if self._lost[unit] >= LOSSES]

    def has_next(self) -> bool:
        """Whether there are units that are not handed out."""
        with self._lock:
            return bool(self._waiting)

    def _most(self) -> float:
        """Seconds that the next batch may take."""
        rest = self._cost_waiting * self._rate() + len(self._waiting) * self._each()
        most = max(min(max(MOMENT, 2 * self._least), rest / (TAIL * self._workers)), self._least)
        return most * (1 + 1e-9)  # a sum of what is left may be rounded up

    def _expected(self, unit: Unit) -> float:
        """Seconds that a unit takes, as far as is known: nothing is, before one was computed."""
        if not self._units_done:
            return float("inf")
        return self._costs[unit] * self._rate() + self._each()

    def _rate(self) -> float:
        """Seconds for one of what costs are measured in."""
        return self._seconds / self._cost_done if self._cost_done else 0.0

    def _each(self) -> float:
        """Seconds of a unit, if all of them cost nothing."""
        return self._seconds / self._units_done if self._units_done and not self._cost_done else 0.0
