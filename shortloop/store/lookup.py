"""Look up a job by its id, without a server."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.project.project import DELETED, FINISHED, SET_ASIDE, configuration, job_directory
from shortloop.project.system_errors import unreadable
from shortloop.stages import results
from shortloop.stages.records import RECORD
from shortloop.stages.results import OtherFormat, Result, Where, bare_result
from shortloop.store.inputs import Located
from shortloop.store.loaded import LoadedJob
from shortloop.store.manifest import read_manifest


def load(job: str, trusted: bool = False) -> LoadedJob:
    """Arrays and record of a job by its id; no server is needed.

    Parameters
    ----------
    job : str
        Job id, e.g. ``"main-12"``.
    trusted : bool, default False
        True if objects may be read that another project or another user wrote: reading an object, such as a
        fitted model, runs what is in its file. All else is read in any case.

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
    result = open_job(job_directory(str(job)), trusted)
    if not os.path.isfile(result.path / FINISHED):
        raise InputError(_why_not(result.path), found=result.job, hint="run again to rebuild it")
    return result


def look_up(job: str) -> Result:
    """Load a job like `load`, or a job of a foreign method, which leaves files and no record."""
    folder = job_directory(str(job))
    if (folder / FINISHED).is_file() and not (folder / RECORD).exists():
        manifest = read_manifest(folder)
        if manifest is not None and RECORD not in manifest.files:
            return bare_result(folder, here())
    return load(job)


def open_any(folder: Path) -> Result:
    """Load the finished job in a folder; of a foreign method, the files that it registered with exax."""
    if (folder / RECORD).exists():
        return open_job(folder)
    bare = bare_result(folder, here())
    return replace(bare, record={**bare.record, "files": _registered(folder)})


def _registered(folder: Path) -> list[str]:
    """Files that a job registered with exax, except pickles."""
    try:
        names = json.loads((folder / FINISHED).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return sorted(name for name in names if not name.endswith(".pickle") and (folder / name).is_file())


def here() -> Where:
    """Locations of this project's input files and jobs."""
    return Where(Located(), {name: Path(folder) for name, folder in configuration().workdirs.items()})


def open_job(folder: str | Path, trusted: bool = False) -> LoadedJob:
    """Load the job in a folder; see `load`."""
    path = Path(folder)
    hint = f"`ax job {path.name}` shows what exax knows of it"
    try:
        os.stat(path / RECORD)
        where = replace(here(), trusted=True) if trusted else here()
        found = results.open_result(path, where)
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
