"""How the units of a job are put into messages: one by one, in equal chunks, or in batches that shrink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from shortloop.base.types import FloatArray, IntArray


class Batches(ABC):
    """The units of one job, in the order in which they are handed out.

    costs: float, (units,). Seconds that each unit is expected to take.
    workers: number of workers.
    order: int, (units,). Numbers of the units, as they are handed out.
    """

    order: IntArray

    def __init__(self, costs: FloatArray, workers: int) -> None:
        self.order = np.arange(len(costs))
        self._next = 0

    def __bool__(self) -> bool:
        """Whether any unit is left."""
        return self._next < len(self.order)

    def draw(self) -> tuple[int, int]:
        """Take the next batch."""
        first = self._next
        self._next = min(first + self._size(first), len(self.order))
        return first, self._next

    @abstractmethod
    def _size(self, first: int) -> int:
        """How many units the batch has that begins with this one."""


Policy = Callable[[FloatArray, int], Batches]


class Singly(Batches):
    """Each unit is a message of its own, in the order of their numbers."""

    def _size(self, first: int) -> int:
        return 1


class Chunks(Batches):
    """As many chunks as there are workers, with equally many units, in the order of their numbers."""

    def __init__(self, costs: FloatArray, workers: int) -> None:
        super().__init__(costs, workers)
        self._ends = np.linspace(0, len(costs), min(workers, len(costs)) + 1).round().astype(int)

    def _size(self, first: int) -> int:
        return int(self._ends[np.searchsorted(self._ends, first, side="right")]) - first


class Adaptive(Batches):
    """Largest units first; the first batches have one unit, all others about half a second of work.

    No batch has more than its share of what is left, so that the last ones are small.

    costs: float, (units,)
    seconds: of a batch, unless one unit has more.
    least: seconds below which the last batches are not made smaller.
    """

    def __init__(self, costs: FloatArray, workers: int, seconds: float = 0.5, least: float = 0.0) -> None:
        super().__init__(costs, workers)
        self.order = np.argsort(-costs, kind="stable")
        self._until = np.concatenate([[0.0], np.cumsum(costs[self.order])])
        self._workers = workers
        self._seconds, self._least = seconds, least

    def _size(self, first: int) -> int:
        if first < self._workers:
            return 1
        left = self._until[-1] - self._until[first]
        wanted = min(self._seconds, max(self._least, left / (2 * self._workers)))
        fits = np.searchsorted(self._until, self._until[first] + 1.000001 * wanted, side="right") - 1 - first
        return max(1, int(fits))


def scaled(cost: float) -> Policy:
    """Adaptive batches that are longer where many workers share a scheduler.

    While each of the workers computes one batch, the scheduler handles one of each. So no batch but the first
    is shorter than that takes, and most are twice as long.
    """

    def policy(costs: FloatArray, workers: int) -> Batches:
        return Adaptive(costs, workers, max(0.5, 2 * workers * cost), workers * cost)

    return policy
