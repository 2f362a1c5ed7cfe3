"""Whether all combinations of a sweep were computed by the same code: it may be edited while they run."""

from __future__ import annotations

from collections.abc import Iterable

from shortloop.errors import InputError
from shortloop.jobs.keys.code import at_one_moment, code_state
from shortloop.jobs.keys.methods import find_method
from shortloop.jobs.lookup import DECLARED
from shortloop.jobs.project import job_directory
from shortloop.jobs.request import MODULES
from shortloop.jobs.runs import JobOfRun
from shortloop.jobs.store.manifest import read_manifest

__all__ = ["edited_since"]


def edited_since(jobs: Iterable[JobOfRun]) -> set[str]:
    """Code that is another now than when jobs were made.

    Parameters
    ----------
    jobs : iterable of JobOfRun
        What a run has built and reused. Those whose code was declared to do no harm are left out.

    Returns
    -------
    set of str
        Names of modules, of files that methods declare, and of libraries.
    """
    found: set[str] = set()
    with at_one_moment():
        for job in jobs:
            if not job.reason.startswith(DECLARED):
                found |= _edited(job)
    return found


def _edited(job: JobOfRun) -> set[str]:
    try:
        manifest = read_manifest(job_directory(job.job))
    except InputError:  # it was deleted meanwhile
        return set()
    if manifest is None:
        return set()
    parts, modules = manifest.parts, manifest.parts.options.get(MODULES)
    try:
        now = code_state(find_method(job.stage)[1], modules if isinstance(modules, list) else ())
    except InputError:  # it is no Python just now, or not there
        return {parts.method}
    then = {**parts.code, **parts.versions}
    today = {**now.code, **now.versions}
    return {name for name in {*then, *today} if then.get(name) != today.get(name)}
