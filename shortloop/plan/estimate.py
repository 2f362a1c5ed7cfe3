"""Estimate a run's remaining time from its plan and earlier jobs."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from shortloop.plan.pipeline import PERHAPS, REUSE, Built

TRUSTED = 0.2  # of a job's units, from which on their pace says all


@dataclass
class _Seen:
    """Jobs of a stage in this run: all built ones, and those with an estimate."""

    built: int = 0
    seconds: float = 0.0
    foretold: float = 0.0
    foretold_took: float = 0.0
    perhaps: int = 0
    perhaps_built: int = 0


class _Running(NamedTuple):
    planned: Built
    began: float
    folder: Callable[[], Path | None]


Name = tuple[str, str | None, str]  # Stage, partition and variant of a job


class Estimate:
    """Remaining time of a run, whose jobs may run in parallel."""

    def __init__(
        self,
        jobs: Sequence[Built],
        history: Mapping[str, float],
        fraction: Callable[[Path], float | None] = lambda folder: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = list(jobs)
        self._history, self._fraction, self._clock = history, fraction, clock
        self._seen: dict[str, _Seen] = defaultdict(_Seen)
        self._running: dict[Name, _Running] = {}
        self._busy, self._since = 0.0, clock()  # s during which any job ran, up to when
        self._took = 0.0
        self.done = 0  # finished jobs

    @property
    def total(self) -> int:
        return self.done + len(self._left) + len(self._running)

    @property
    def running(self) -> list[Name]:
        return [*self._running]

    def begin(self, name: Name, folder: Callable[[], Path | None] = lambda: None) -> Built:
        """Note that a job starts, and return it as planned."""
        planned = Built("", name[0], name[1])
        for place, job in enumerate(self._left):  # the first one, if the pipeline does as it planned
            if (job.stage, job.partition) == name[:2] and name[2] in (job.variant, ""):
                planned = self._left.pop(place)
                break
        self._pass()
        self._running[name] = _Running(planned, self._clock(), folder)
        return planned

    def end(self, name: Name, built: bool) -> None:
        """Note that a job is finished, and if it was built rather than reused."""
        self._pass()
        running = self._running.pop(name, None)
        if running is None:
            return
        job = running.planned
        self.done += 1
        seen = self._seen[job.stage]
        if job.plan == PERHAPS:
            seen.perhaps += 1
            seen.perhaps_built += built
        if built:
            took = self._clock() - running.began
            self._took += took
            seen.built += 1
            seen.seconds += took
            known = self._known(job)
            if known is not None:
                seen.foretold += known
                seen.foretold_took += took

    def left(self) -> tuple[float, bool]:
        """Expected seconds until all jobs are finished, and True if all could be estimated."""
        self._pass()
        running = [self._left_of(each) for each in self._running.values()]
        total, all_known = sum(each or 0.0 for each in running), None not in running
        for job in self._left:
            if job.plan != REUSE:
                seconds, seen = self._expected(job), self._seen[job.stage]
                # A job that is perhaps built: one in two, if nothing else is known.
                chance = (seen.perhaps_built + 1) / (seen.perhaps + 2) if job.plan == PERHAPS else 1.0
                total += (seconds or 0.0) * chance
                all_known &= seconds is not None
        now = self._clock()
        so_far = self._took + sum(now - each.began for each in self._running.values())
        at_once = max(so_far / self._busy, 1.0) if self._busy else 1.0
        return max(total / at_once, *(each or 0.0 for each in running), 0.0), all_known

    def of_running(self) -> float | None:
        """Finished share of the running jobs, in time; None if one cannot be estimated."""
        shares = [self._share(each) for each in self._running.values()]
        return None if not shares or None in shares else sum(each or 0.0 for each in shares)

    def _share(self, running: _Running) -> float | None:
        left, elapsed = self._left_of(running), self._clock() - running.began
        if left is None or not elapsed:
            return None if left is None else 0.0
        return min(elapsed / (elapsed + left), 0.95 if self._fraction_of(running) is None else 0.99)

    def _pass(self) -> None:
        now = self._clock()
        if self._running:
            self._busy += now - self._since
        self._since = now

    def _known(self, job: Built) -> float | None:
        return job.seconds or self._history.get(job.stage)

    def _expected(self, job: Built) -> float | None:
        seen, known = self._seen[job.stage], self._known(job)
        if known is None:
            return seen.seconds / seen.built if seen.built else None
        return known * seen.foretold_took / seen.foretold if seen.foretold else known

    def _fraction_of(self, running: _Running) -> float | None:
        folder = running.folder()
        return None if folder is None else self._fraction(folder)

    def _left_of(self, running: _Running) -> float | None:
        if running.planned.plan == REUSE:
            return 0.0
        elapsed = self._clock() - running.began
        expected = self._expected(running.planned)
        by_history = None if expected is None else max(expected - elapsed, 0.0)
        fraction = self._fraction_of(running)
        if not fraction or fraction >= 1:
            return by_history
        by_units = elapsed * (1 - fraction) / fraction
        if by_history is None:
            return by_units
        trust = min(fraction / TRUSTED, 1.0)
        return trust * by_units + (1 - trust) * by_history
