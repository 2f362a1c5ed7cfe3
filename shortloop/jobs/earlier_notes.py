"""Where to read what jobs had to say when they were built: a run that uses them again does not repeat it."""

from __future__ import annotations

from collections.abc import Iterable

from shortloop.jobs.pipeline import Built

__all__ = ["earlier_notes"]


def earlier_notes(jobs: Iterable[Built]) -> list[str]:
    """Say it.

    Parameters
    ----------
    jobs : iterable of Built
        Jobs of a run that has ended.

    Returns
    -------
    list of str
        A line, if any of the jobs that were reused has notes.
    """
    counts = {job.job: len(job.notes()) for job in jobs if not job.fresh}
    noted = [job for job, count in counts.items() if count]
    if not noted:
        return []
    number = sum(counts.values())
    more = f", and {len(noted) - 1} jobs more" if len(noted) > 1 else ""
    return [f"{number} note{'s' if number > 1 else ''} of earlier runs: shortloop show {noted[0]}{more}"]
