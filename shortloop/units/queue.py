"""Hand out units of work, largest first, so that no worker idles: to slices, and in batches to workers."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

# File of a running job: share of its units that is done, from 0.000 to 1.000, number computed, number left.
PROGRESS = ".progress"
MOMENT = 0.05  # s that slices draw units for: after a shorter batch, the code around it runs from cold caches
TAIL = 4  # batches of slices that the rest is enough for, per core, so that all end at about the same time
WORKER_MOMENT = 0.5  # s that a batch of a worker takes: it is told the next one, and reports its progress
WORKER_TAIL = 2
LOSSES = 3  # workers that a unit may lose

Unit = TypeVar("Unit", bound=Hashable)


class Units:
    """Units by number, each drawn once by the process that iterates next; made before the slices fork."""

    def __init__(self, costs: Sequence[float], left: Sequence[int]) -> None:
        self._order = sorted(left, key=lambda unit: (-costs[unit], unit))
        total = sum(costs[unit] for unit in left)
        self._shares = {unit: float(costs[unit] / total) if total else 1 / len(left) for unit in left}
        fork = multiprocessing.get_context("fork")
        self._next = fork.Value("q", 0)
        self._done = fork.RawValue("d", 0.0)
        self._computed, self._elsewhere = fork.RawValue("q", 0), fork.RawValue("q", 0)
        self._tail = TAIL * len(os.sched_getaffinity(0))
        self._file = _progress_file()
        self._tell()

    def finished(self, unit: int) -> None:
        """Count a unit that was not drawn here, but computed elsewhere."""
        with self._next.get_lock():
            self._elsewhere.value += 1
            self._finished([unit])

    def batches(self) -> Iterator[list[int]]:
        """Draw units, several at a time if they are short compared with drawing."""
        mine: list[int] = []
        size = 1
        while True:
            with self._next.get_lock():
                self._finished(mine)
                drawn = self._next.value
                size = max(1, min(size, (len(self._order) - drawn) // self._tail))
                self._next.value = min(drawn + size, len(self._order))
            if not (mine := self._order[drawn : drawn + size]):
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
            # A full disk must not stop the work.
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


class Batches(Generic[Unit]):
    """Batches of units, largest first: worth sending, and so small that no worker waits at the end."""

    def __init__(self, costs: Mapping[Unit, float], workers: int, message: float = 0.0) -> None:
        self._costs = costs
        self._waiting = sorted(costs, key=costs.__getitem__, reverse=True)[::-1]  # the next one is the last
        self._cost_waiting = float(sum(costs.values()))
        self._message = message  # s that sending a batch takes
        self.resize(workers)
        self._lock = threading.Lock()
        self._seconds = self._cost_done = 0.0
        self._units_done = 0
        self._lost: Counter[Unit] = Counter()

    def resize(self, workers: int, least: float = 0.0) -> None:
        """Set how many workers there are now, and the seconds that a batch should take at least."""
        self._workers = max(workers, 1)
        self._least = max(self._workers * self._message, least)

    def expected(self, units: Sequence[Unit]) -> float:
        """Seconds that units will take, by what others took; infinite before any was computed."""
        with self._lock:
            return self._expected(sum(self._costs[unit] for unit in units), len(units))

    def next(self) -> list[Unit]:
        with self._lock:
            batch: list[Unit] = []
            most = self._most()
            taken = 0.0
            while self._waiting:
                unit = self._waiting[-1]
                taken += self._expected(self._costs[unit])
                if batch and (taken > most or self._lost[batch[-1]] or self._lost[unit]):
                    break
                self._cost_waiting -= self._costs[unit]
                batch.append(self._waiting.pop())
            return batch

    def done(self, units: Sequence[Unit], seconds: float) -> None:
        with self._lock:
            self._seconds += seconds
            self._cost_done += sum(self._costs[unit] for unit in units)
            self._units_done += len(units)

    def put_back(self, units: Sequence[Unit]) -> list[Unit]:
        """Hand out units of a lost worker again, each alone; return those that lost too many workers."""
        with self._lock:
            self._waiting += sorted(units, key=self._costs.__getitem__, reverse=True)[::-1]
            self._cost_waiting += sum(self._costs[unit] for unit in units)
            self._lost.update(units)
            return [unit for unit in units if self._lost[unit] >= LOSSES]

    def has_next(self) -> bool:
        with self._lock:
            return bool(self._waiting)

    def _most(self) -> float:
        """Seconds that the next batch may take."""
        rest = self._expected(self._cost_waiting, len(self._waiting))
        most = min(max(WORKER_MOMENT, 2 * self._least), rest / (WORKER_TAIL * self._workers))
        return max(most, self._least) * (1 + 1e-9)  # a sum of what is left may be rounded up

    def _expected(self, cost: float, units: int = 1) -> float:
        """Expected seconds of units, by cost, or by number if all cost nothing; infinite at first."""
        if self._cost_done:
            return cost * (self._seconds / self._cost_done)
        return units * (self._seconds / self._units_done) if self._units_done else float("inf")
