"""Distribute independent units of work.

Workers share a counter and take the next unit, largest first, so that none idles while work remains.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence

__all__ = ["PROGRESS", "Units"]

PROGRESS = ".progress"
"""File in the folder of a running job: the share of its units that is done, from 0.000 to 1.000, how many are
being computed, and how many are left."""


MOMENT = 0.05  # s that a batch is to take: after a shorter one, what is around it runs from cold caches
TAIL = 4  # batches that the rest is good for, for each core, so that all end at about the same time


class Units:
    """Units of work, each drawn once by whoever iterates next.

    Make it before the workers fork, in ``prepare`` of an exax method, and iterate in each of them: what they
    inherit is one counter. In a single process, iterating gives every unit. In an exax job, a small file
    tells others how far it is.

    costs: expected cost of each unit, in any unit of measure; an int is that many equal units.
    """

    def __init__(self, costs: int | Sequence[float]) -> None:
        costs = [1.0] * costs if isinstance(costs, int) else list(costs)
        self._order = sorted(range(len(costs)), key=lambda unit: (-costs[unit], unit))
        total = sum(costs)
        self._shares = [float(cost / total) for cost in costs] if total else [1 / len(costs) for _ in costs]
        fork = multiprocessing.get_context("fork")
        self._next = fork.Value("q", 0)
        self._done = fork.RawValue("d", 0.0)
        self._computed, self._elsewhere = fork.RawValue("q", 0), fork.RawValue("q", 0)
        self._tail = TAIL * len(os.sched_getaffinity(0))
        self._file = _progress_file()
        self._tell()

    def __len__(self) -> int:
        return len(self._order)

    def finished(self, unit: int) -> None:
        """A unit that nobody has drawn here was computed elsewhere."""
        with self._next.get_lock():
            self._elsewhere.value += 1
            self._finished([unit])

    def __iter__(self) -> Iterator[int]:
        for (unit,) in self._drawn(1):
            yield unit

    def batches(self) -> Iterator[list[int]]:
        """Draw units, several at a time where they are so short that drawing each of them would take long."""
        return self._drawn(len(self._order))

    def _drawn(self, most: int) -> Iterator[list[int]]:
        mine: list[int] = []
        size = 1
        while True:
            with self._next.get_lock():
                self._finished(mine)
                drawn = self._next.value
                size = max(1, min(size, most, (len(self._order) - drawn) // self._tail))
                self._next.value = min(drawn + size, len(self._order))
            mine = self._order[drawn : drawn + size]
            if not mine:
                self._tell()
                return
            started = time.perf_counter()
            yield mine
            each = (time.perf_counter() - started) / len(mine)
            size = min(2 * size, int(MOMENT / each)) if each else 2 * size

    def _finished(self, units: Sequence[int]) -> None:
        before = self._done.value
        self._computed.value += len(units)
        self._done.value = before + sum(self._shares[unit] for unit in units)
        if round(1000 * before) != round(1000 * self._done.value):  # tiny units are not worth a note each
            self._tell()

    def _tell(self) -> None:
        if self._file is not None:
            left = max(len(self._order) - self._computed.value, 0)
            busy = max(self._next.value - self._computed.value + self._elsewhere.value, 0)
            # Nobody's work stops because the disk is full of it.
            with contextlib.suppress(OSError):
                os.pwrite(self._file, f"{min(self._done.value, 1):.3f} {busy:>9} {left:>9}".encode(), 0)


def _progress_file() -> int | None:
    exax = sys.modules.get("accelerator.g")
    if exax is None or exax.running not in ("prepare", "synthesis"):
        return None
    try:
        return os.open(f"{exax.job.path}/{PROGRESS}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    except OSError:
        return None
