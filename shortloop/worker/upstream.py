"""The jobs that a job was made from."""

from __future__ import annotations

from collections.abc import Iterator

from shortloop.worker.results import Result

__all__ = ["upstream"]


def upstream(result: Result) -> Iterator[Result]:
    """A job and all that it was made from.

    Parameters
    ----------
    result : Result
        The job.

    Yields
    ------
    Result
        Each job once, nearest first.
    """
    seen = {result.job}
    waiting = [result]
    while waiting:
        found = waiting.pop(0)
        yield found
        jobs = dict.fromkeys(job for _, job in found.sources() if job not in seen)
        seen.update(jobs)
        waiting += [each for each in map(result.ancestor, jobs) if each is not None]
