"""exax's own record of a job, read tolerantly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from shortloop.base.plain import Plain
from shortloop.stages.results import Setup

__all__ = ["setup_of", "sources_of"]


def setup_of(folder: Path) -> Setup:
    """exax's own record of a job."""
    try:
        with open(f"{folder}/setup.json", encoding="utf-8") as stream:  # paths take their time for thousands
            loaded: Setup = json.load(stream)
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def sources_of(setup: Setup) -> list[tuple[str, str]]:
    """Jobs that a job depends on, including those of its datasets and of files in its options."""
    given = {name: jobs for name, jobs in setup.get("jobs", {}).items() if jobs}
    given.update(_of_files(setup))
    taken = {*given}
    for name, datasets in setup.get("datasets", {}).items():
        if datasets:
            given[f"datasets.{name}" if name in taken else name] = datasets
    return [
        (name, job.partition("/")[0])
        for name, jobs in given.items()
        for job in (jobs if isinstance(jobs, list) else [jobs])
    ]


def _of_files(setup: Setup) -> dict[str, str | list[str]]:
    """Jobs whose files are options: exax notes which options these are."""
    options = setup.get("options", {})
    typed = [path.partition("/")[0] for path, kind in setup.get("_typing", ()) if "JobWithFile" in kind]
    return {name: jobs for name in typed if (jobs := list(_jobs_in(options.get(name))))}


def _jobs_in(value: Plain) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _jobs_in(each)
    elif isinstance(value, list) and value and isinstance(value[0], str):
        yield value[0]
    elif isinstance(value, list):
        for each in value:
            yield from _jobs_in(each)
