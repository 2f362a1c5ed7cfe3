"""exax's own record of a job, as far as it can be read: a list of jobs is no place to fail."""

from __future__ import annotations

import json
from pathlib import Path

from shortloop.worker.results import Setup

__all__ = ["setup_of", "sources_of"]


def setup_of(folder: Path) -> Setup:
    """exax's own record of a job.

    Parameters
    ----------
    folder : Path
        The job's folder.

    Returns
    -------
    Setup
        Empty if there is none, or a damaged one.
    """
    try:
        with open(f"{folder}/setup.json", encoding="utf-8") as stream:  # paths take their time for thousands
            loaded: Setup = json.load(stream)
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def sources_of(setup: Setup) -> list[tuple[str, str]]:
    """Jobs that a job was made from.

    Parameters
    ----------
    setup : Setup
        exax's own record of it.

    Returns
    -------
    list of tuple of str
        The name that the method gives each, and its id.
    """
    return [
        (name, job)
        for name, jobs in setup.get("jobs", {}).items()
        for job in (jobs if isinstance(jobs, list) else [jobs])
        if job
    ]
