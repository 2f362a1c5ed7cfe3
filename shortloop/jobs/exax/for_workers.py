"""What a worker must know of a job, made by the job itself, or by the run before the job begins."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from shortloop.engines.messages import JobWork
from shortloop.engines.surroundings import surroundings_here
from shortloop.jobs.exax.imports import imports_of
from shortloop.jobs.keys.code import Code
from shortloop.jobs.keys.digest import digest
from shortloop.jobs.keys.file_state import states_of_files
from shortloop.jobs.keys.installed import environment
from shortloop.jobs.keys.methods import module_of
from shortloop.jobs.keys.own_code import is_own
from shortloop.jobs.project import FINISHED, job_directory, project_directory
from shortloop.plain import Plain
from shortloop.worker.stage import Stage
from shortloop.worker.task import Folders

__all__ = ["code_digest", "name_of_stage", "states_of_jobs", "work_of_job"]


def name_of_stage(method: Path) -> str:
    """What pipelines call the stage of a method.

    Parameters
    ----------
    method : Path
        File of the method.

    Returns
    -------
    str
    """
    return method.stem.removeprefix("a_")


def code_digest(code: Code) -> str:
    """A hash of all code that a job runs, with the libraries as they are installed.

    Parameters
    ----------
    code : Code
        Of its method.

    Returns
    -------
    str
    """
    files: list[Plain] = [[file, *state] for file, state in (*code.watched, *environment())]
    return digest([code.code, files])


def states_of_jobs(jobs: Iterable[Folders]) -> list[Plain]:
    """What tells jobs from others that may come to have their ids, if somebody deletes their folders.

    Parameters
    ----------
    jobs : iterable of (str, list of str or None)
        Folders of jobs, and names of datasets.

    Returns
    -------
    list
        Plain data.
    """
    names = [name for each in jobs for name in (each if isinstance(each, list) else [each]) if name]
    folders = [name if os.path.isabs(name) else str(job_directory(name.partition("/")[0])) for name in names]
    return [[*state] for state in states_of_files([f"{folder}/{FINISHED}" for folder in folders])]


def work_of_job(
    stage: type[Stage],
    method: Path,
    code: Code,
    *,
    partition: str | None,
    options: Mapping[str, Plain],
    modules: list[str],
    jobs: Mapping[str, Folders],
    before: str | None,
    datasets: Mapping[str, Folders],
    slices: int,
) -> JobWork:
    """What a worker must know of a job.

    Parameters
    ----------
    stage : type of Stage
        Its class.
    method : Path
        File of its method.
    code : Code
        Its code.
    partition, options, jobs, before, datasets
        As of `shortloop.worker.task.Task`; all names of jobs and datasets that the stage has.
    modules : list of str
        Modules that it imports by a name that is an option.
    slices : int
        As exax has them.

    Returns
    -------
    JobWork
    """
    name, module = name_of_stage(method), module_of(method)
    return {
        "project": str(project_directory()),
        "path": [each for each in dict.fromkeys(sys.path) if _has_own(each)],  # as of jobs and runs alike
        "slices": slices,
        "surroundings": surroundings_here(),
        "imports": imports_of(name, modules),
        "closure": sorted(code.modules),
        "code": code_digest(code),
        "above": states_of_jobs([*jobs.values(), before, *datasets.values()]),
        "package": module.rpartition(".")[0],
        "task": {
            "name": name,
            "module": stage.__module__,
            "kind": stage.__name__,
            "partition": partition,
            "options": options,
            "jobs": jobs,
            "before": before,
            "versions": {**code.versions, **code.libraries},
            "datasets": datasets,
        },
    }


def _has_own(folder: str) -> bool:
    """Whether modules of one's own may be in it; Python looks where its scripts are, if it runs one."""
    return (
        os.path.isdir(folder) and folder != os.path.dirname(sys.executable) and is_own(f"{folder}/module.py")
    )
