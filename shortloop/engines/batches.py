"""Units that are sent to workers, several at a time: as many as make it worth to send them, as few as leave
no worker waiting at the end. What units take is measured."""

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
    """Hands out batches of units, largest units first; each unit once, unless it is put back.

    It may be asked by several threads.

    Parameters
    ----------
    costs : mapping of unit to float
        What each unit costs, in any measure.
    units : sequence
        Units that are to be computed; of those that cost the same, the first ones come first.
    workers : int
        How many compute at a time.
    message : float, default 0
        Seconds that handing out a batch takes, one after the other: batches are long enough for all workers
        to be kept busy in spite of it.
    tail : int, default 2
        Batches for each worker that the rest is good for, so that all end at about the same time.
    opening : float, default 0
        Seconds that a worker takes to be ready for the job: a batch is not to be shorter.
    """

    def __init__(
        self,
        costs: Mapping[Unit, float],
        units: Sequence[Unit],
        workers: int,
        message: float = 0.0,
        tail: int = TAIL,
        opening: float = 0.0,
    ) -> None:
        self._costs = costs
        self._waiting = sorted(units, key=costs.__getitem__, reverse=True)[::-1]  # the next one is the last
        self._cost_waiting = float(sum(costs[unit] for unit in units))
        self._workers = max(workers, 1)
        self._least = max(self._workers * message, opening)
        self._tail = tail
        self._lock = threading.Lock()
        self._out = 0
        self._seconds = self._cost_done = 0.0
        self._units_done = 0
        self._lost: Counter[Unit] = Counter()

    def next(self) -> list[Unit]:
        """The next batch.

        Returns
        -------
        list
            Its units; none, if all are handed out.
        """
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
            self._out += bool(batch)
            return batch

    def done(self, units: Sequence[Unit], seconds: float) -> None:
        """A batch was computed.

        Parameters
        ----------
        units : sequence
            Its units.
        seconds : float
            How long that took, in its worker.
        """
        with self._lock:
            self._out -= 1
        self.measured(units, seconds)

    def measured(self, units: Sequence[Unit], seconds: float) -> None:
        """How long units took that were not handed out here.

        Parameters
        ----------
        units, seconds
            As of `done`.
        """
        with self._lock:
            self._seconds += seconds
            self._cost_done += sum(self._costs[unit] for unit in units)
            self._units_done += len(units)

    def put_back(self, units: Sequence[Unit]) -> list[Unit]:
        """The worker that had a batch is lost; others compute it, each of its units alone.

        Parameters
        ----------
        units : sequence
            Its units.

        Returns
        -------
        list
            Those whose workers were lost too often for that to be chance.
        """
        with self._lock:
            self._out -= 1
            self._waiting += sorted(units, key=self._costs.__getitem__, reverse=True)[::-1]
            self._cost_waiting += sum(self._costs[unit] for unit in units)
            self._lost.update(units)
            return [unit for unit in units if self._lost[unit] >= LOSSES]

    @property
    def out(self) -> int:
        """How many batches are handed out and neither done nor put back."""
        with self._lock:
            return self._out

    def stop(self) -> None:
        """Hand out no more."""
        with self._lock:
            self._waiting.clear()
            self._cost_waiting = 0.0

    def has_next(self) -> bool:
        """Whether there are units that are not handed out.

        Returns
        -------
        bool
        """
        with self._lock:
            return bool(self._waiting)

    def _most(self) -> float:
        """Seconds that the next batch may take."""
        rest = self._cost_waiting * self._rate() + len(self._waiting) * self._each()
        most = max(min(max(MOMENT, 2 * self._least), rest / (self._tail * self._workers)), self._least)
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
