"""How long a run will still take: from its plan, what such jobs took before, and what it has seen so far."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shortloop.jobs.pipeline import PERHAPS, REUSE, Built

__all__ = ["Estimate"]

TRUSTED = 0.2  # of a job's units, from which on their pace says all


@dataclass
class _Seen:
    """Jobs of a stage in this run: all that were built, and those whose time was foretold."""

    built: int = 0
    seconds: float = 0.0
    foretold: float = 0.0
    foretold_took: float = 0.0
    perhaps: int = 0
    perhaps_built: int = 0


class Estimate:
    """Time left of a run.

    Parameters
    ----------
    jobs : sequence of Built
        Its plan.
    history : mapping of str to float
        Seconds that a job of each stage took before.
    clock : callable
        Seconds, now.
    """

    def __init__(
        self,
        jobs: Sequence[Built],
        history: Mapping[str, float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = list(jobs)
        self._history = history
        self._clock = clock
        self._seen: dict[str, _Seen] = defaultdict(_Seen)
        self._running: Built | None = None
        self._began = 0.0
        self.done = 0
        """How many jobs are there."""

    @property
    def total(self) -> int:
        """How many jobs there will be."""
        return self.done + len(self._left) + (self._running is not None)

    def begin(self, stage: str, partition: str | None) -> Built:
        """A job is asked for.

        Parameters
        ----------
        stage : str
            Its stage.
        partition : str or None
            Which part of the data; None: all.

        Returns
        -------
        Built
            The job as it was planned.
        """
        self._running = Built("", stage, partition)
        for place, job in enumerate(self._left):  # the first one, if the pipeline does as it planned
            if (job.stage, job.partition) == (stage, partition):
                self._running = self._left.pop(place)
                break
        self._began = self._clock()
        return self._running

    def end(self, built: bool) -> None:
        """The job is there.

        Parameters
        ----------
        built : bool
            Whether it was built, and not reused.
        """
        job = self._running
        if job is None:
            return
        self.done += 1
        self._running = None
        seen = self._seen[job.stage]
        if job.plan == PERHAPS:
            seen.perhaps += 1
            seen.perhaps_built += built
        if built:
            took = self._clock() - self._began
            seen.built += 1
            seen.seconds += took
            known = self._known(job)
            if known is not None:
                seen.foretold += known
                seen.foretold_took += took

    def left(self, fraction: float | None = None) -> tuple[float, bool]:
        """Expected time until all jobs are there.

        Parameters
        ----------
        fraction : float, optional
            Share of the running job's units that is done.

        Returns
        -------
        seconds : float
            The time, without jobs of which nothing is known.
        all_known : bool
            Whether there are none of these.
        """
        of_running = self._left_of_running(fraction)
        total, all_known = of_running or 0.0, of_running is not None
        for job in self._left:
            if job.plan != REUSE:
                seconds = self._expected(job)
                total += (seconds or 0.0) * self._chance(job)
                all_known &= seconds is not None
        return total, all_known

    def of_running(self, fraction: float | None = None) -> float | None:
        """Share of the running job that is done, in time.

        Parameters
        ----------
        fraction : float, optional
            Share of its units that is done.

        Returns
        -------
        float or None
            From 0 to less than 1; None if nothing is known of it.
        """
        left = self._left_of_running(fraction)
        if self._running is None or left is None:
            return None
        elapsed = self._clock() - self._began
        return min(elapsed / (elapsed + left), 0.95 if fraction is None else 0.99) if elapsed else 0.0

    def _known(self, job: Built) -> float | None:
        return job.seconds or self._history.get(job.stage)

    def _expected(self, job: Built) -> float | None:
        """Seconds of a job, if it is built."""
        seen, known = self._seen[job.stage], self._known(job)
        if known is None:
            return seen.seconds / seen.built if seen.built else None
        return known * seen.foretold_took / seen.foretold if seen.foretold else known

    def _chance(self, job: Built) -> float:
        """Of being built; one in two if nothing else is known."""
        if job.plan != PERHAPS:
            return 1.0
        seen = self._seen[job.stage]
        return (seen.perhaps_built + 1) / (seen.perhaps + 2)

    def _left_of_running(self, fraction: float | None) -> float | None:
        job = self._running
        if job is None or job.plan == REUSE:
            return 0.0
        elapsed = self._clock() - self._began
        expected = self._expected(job)
        by_history = None if expected is None else max(expected - elapsed, 0.0)
        if not fraction or fraction >= 1:
            return by_history
        by_units = elapsed * (1 - fraction) / fraction
        if by_history is None:
            return by_units
        trust = min(fraction / TRUSTED, 1.0)
        return trust * by_units + (1 - trust) * by_history
