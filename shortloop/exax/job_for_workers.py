"""Job description for workers, made by the job or, in advance, by the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shortloop.base.plain import Plain
from shortloop.exax.patches.preload import imports_of
from shortloop.keys.code import Code
from shortloop.keys.file_state import states_of_files
from shortloop.keys.hashing import digest
from shortloop.keys.installed import environment
from shortloop.keys.methods import module_of
from shortloop.keys.own_code import is_own
from shortloop.project.project import FINISHED, job_directory, project_directory
from shortloop.stages.stage import Stage
from shortloop.stages.task import Folders
from shortloop.units.facts import surroundings_here
from shortloop.units.messages import JobWork

__all__ = ["code_digest", "folders_of", "name_of_stage", "names_of", "states_of_jobs", "work_of_job"]


def name_of_stage(method: Path) -> str:
    """Return the name of a method's stage in pipelines."""
    return method.stem.removeprefix("a_")


def code_digest(code: Code) -> str:
    """Hash all code that a job runs, with the libraries as they are installed."""
    files: list[Plain] = [[file, *state] for file, state in (*code.watched, *environment())]
    return digest([code.code, files])


def states_of_jobs(jobs: Iterable[Folders]) -> list[Plain]:
    """Return states that tell jobs from later ones with their ids, if somebody deletes their folders."""
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
    """Describe a job for workers."""
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


def folders_of(jobs: Any) -> Any:
    """Return the folders of jobs as exax gives them: of one, of each in a list, or None."""
    return [*map(folders_of, jobs)] if isinstance(jobs, list) else str(jobs.path) if jobs else None


def names_of(datasets: Any) -> Any:
    """Return the names of datasets as exax gives them, likewise."""
    if isinstance(datasets, list):
        return [names_of(each) for each in datasets]
    return f"{datasets.job}/{datasets.name}" if datasets else None  # exax leaves out the name "default"


def _has_own(folder: str) -> bool:
    """True if a folder may have own modules; Python's own scripts are on the path when it runs one."""
    is_of_scripts = folder == os.path.dirname(sys.executable)
    return os.path.isdir(folder) and not is_of_scripts and is_own(f"{folder}/module.py")
