"""Looking a job up by its id; no server is needed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from shortloop.errors import InputError
from shortloop.jobs.project import DELETED, FINISHED, SET_ASIDE, configuration, job_directory
from shortloop.jobs.store.inputs import Located
from shortloop.jobs.store.loaded import LoadedJob
from shortloop.jobs.store.manifest import read_manifest
from shortloop.jobs.system_errors import unreadable
from shortloop.worker import results
from shortloop.worker.records import RECORD
from shortloop.worker.results import OtherFormat, Result, Where, bare_result

__all__ = ["here", "load", "look_up", "open_any", "open_job"]


def load(job: str) -> LoadedJob:
    """Arrays and record of a job by its id; no server is needed.

    Parameters
    ----------
    job : str
        Job id, e.g. ``"main-12"``.

    Returns
    -------
    LoadedJob
        ``load("main-12").arrays["weights"]``, ``.to_xarray()``, ``.to_frame()``, ``.facts``, ``.options``,
        ``.inputs``, ``.record``, …

    Raises
    ------
    InputError
        If there is no such job, it did not finish, it is not one of this package, or its record is damaged.
    """
    result = open_job(job_directory(str(job)))
    if not os.path.isfile(result.path / FINISHED):
        raise InputError(_why_not(result.path), found=result.job, hint="run again: it is built again")
    return result


def look_up(job: str) -> Result:
    """The same, also of a job of a method that others wrote, which leaves no record but files.

    Parameters
    ----------
    job : str
        Job id.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        As `load`; also if a job without a record was not recorded.
    """
    folder = job_directory(str(job))
    if (folder / FINISHED).is_file() and not (folder / RECORD).exists():
        manifest = read_manifest(folder)
        if manifest is not None and RECORD not in manifest.files:
            return bare_result(folder, here())
    return load(job)


def open_any(folder: Path) -> Result:
    """The job in a folder, which has finished; also one of a method that others wrote, of which there are the
    files that it told exax of.

    Parameters
    ----------
    folder
        As of `open_job`.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        As `open_job`; but not if it has no record.
    """
    if (folder / RECORD).exists():
        return open_job(folder)
    bare = bare_result(folder, here())
    return replace(bare, record={**bare.record, "files": _registered(folder)})


def _registered(folder: Path) -> list[str]:
    """Files that a job told exax of; what it has pickled is for Python alone."""
    try:
        names = json.loads((folder / FINISHED).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return sorted(name for name in names if not name.endswith(".pickle") and (folder / name).is_file())


def here() -> Where:
    """Where input files and jobs of this project are.

    Returns
    -------
    Where
    """
    return Where(Located(), {name: Path(folder) for name, folder in configuration().workdirs.items()})


def open_job(folder: str | Path) -> LoadedJob:
    """The job in a folder; see `load`.

    Parameters
    ----------
    folder : path-like
        Folder of the job.

    Returns
    -------
    LoadedJob

    Raises
    ------
    InputError
        If it has no record, a damaged one, or one of another format.
    """
    path = Path(folder)
    hint = f"`ax job {path.name}` shows what exax knows of it"
    try:
        os.stat(path / RECORD)
        found = results.open_result(path, here())
        return LoadedJob(found.job, found.path, found.record, found.where)
    except OtherFormat:
        raise
    except FileNotFoundError:
        raise InputError(_why_not(path), found=path.name, hint=hint) from None
    except InputError:
        raise InputError("the job's record is damaged", file=path / RECORD, hint=hint) from None
    except OSError as error:
        raise unreadable(error, "the job's record") from None


def _why_not(folder: Path) -> str:
    if (folder / FINISHED).is_file():
        return "the job left no record"
    if (folder / DELETED).is_file():
        return "the job was deleted"
    return "the job was found damaged" if (folder / SET_ASIDE).is_file() else "the job did not finish"
