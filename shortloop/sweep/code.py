"""Whether all combinations of a sweep were computed by the same code: it may be edited while they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shortloop.errors import InputError
from shortloop.jobs.build_scripts import find_script
from shortloop.jobs.keys.code import at_one_moment, code_state
from shortloop.jobs.keys.methods import find_method, module_of
from shortloop.jobs.lookup import DECLARED
from shortloop.jobs.project import job_directory
from shortloop.jobs.request import MODULES
from shortloop.jobs.runs import JobOfRun
from shortloop.jobs.store.manifest import read_manifest

__all__ = ["code_of_script", "edited_since"]


def code_of_script(script: str) -> Mapping[str, str]:
    """The code that says which jobs there are, and with what settings.

    Parameters
    ----------
    script : str
        Build script.

    Returns
    -------
    mapping of str to str
        A hash of each module that it can import, and of itself.
    """
    file = find_script(script)
    if file is None:
        return {}
    try:
        return code_state(file).code
    except InputError:  # it is no Python just now
        return {module_of(file): ""}


def edited_since(script: str, code: Mapping[str, str], jobs: Iterable[JobOfRun]) -> set[str]:
    """Code that is another now than when a combination ran.

    Parameters
    ----------
    script : str
        Build script.
    code : mapping of str to str
        As of `code_of_script`, before it ran.
    jobs : iterable of JobOfRun
        What the run has built and reused. Those whose code was declared to do no harm are left out.

    Returns
    -------
    set of str
        Names of modules, of files that methods declare, and of libraries.
    """
    with at_one_moment():
        found = _differing(code, code_of_script(script))
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
    versions = parts.installed(parts.libraries).libraries | now.versions
    return _differing({**parts.code, **parts.versions}, {**now.code, **versions})


def _differing(then: Mapping[str, str], now: Mapping[str, str]) -> set[str]:
    return {name for name in {*then, *now} if then.get(name) != now.get(name)}
