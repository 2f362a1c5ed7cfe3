"""A process that computes units in a mirror: what it says is of the project, not of the mirror."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shortloop.engines.messages import JobWork
from shortloop.engines.node_cache import INSIDE, OUTSIDE
from shortloop.engines.node_messages import Mirrored
from shortloop.jobs.project import configuration
from shortloop.jobs.store.lookup import here
from shortloop.worker.results import Where

__all__ = ["ABSENT", "HINT", "explained", "original", "translated", "where_of"]

ABSENT = "the node of this worker has not the project, but only what the job's key knows of"
HINT = "give the file as an input, as `run.file(…)` does, or declare it in `depend_extra` of the method"


def where_of(work: JobWork) -> Where:
    """Where input files and jobs are, for a process that computes units of a job.

    Parameters
    ----------
    work : JobWork
        The job.

    Returns
    -------
    Where
    """
    mirrored = work.get("mirrored")
    if mirrored is None:
        return here()
    workdirs = {name: Path(folder) for name, folder in configuration().workdirs.items()}
    return Where({content: Path(place) for content, place in mirrored["inputs"].items()}, workdirs)


def translated(notes: bytes, mirrored: Mirrored | None) -> bytes:
    """Notes of a process that computes units, with the paths that the machine of the run has.

    Parameters
    ----------
    notes : bytes
        Lines, as of `shortloop.jobs.store.notes.Note`.
    mirrored : Mirrored or None
        Where its mirrors are; None: it has none.

    Returns
    -------
    bytes
    """
    if mirrored is None or not notes:
        return notes
    lines: list[dict[str, Any]] = [json.loads(line) for line in notes.splitlines()]
    for line in lines:
        if "loaded" in line:
            line["loaded"] = {
                name: (original(file, mirrored), content) for name, (file, content) in line["loaded"].items()
            }
        for name in ("opened", "located"):
            if name in line:
                line[name] = original(line[name], mirrored)
    # The job itself has noted the state of each input; here it would be that of a copy.
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines if "located" not in line)


def original(path: str, mirrored: Mirrored) -> str:
    """Where what lies in a mirror is on the machine of the run.

    Parameters
    ----------
    path : str
        A path on this node.
    mirrored : Mirrored
        Where its mirrors are.

    Returns
    -------
    str
        The path itself, if it is in no mirror.
    """
    for folder in (mirrored["code"], mirrored["data"]):
        for top, there in ((INSIDE, mirrored["project"]), (OUTSIDE, "")):
            above = f"{folder}/{top}"
            if path == above or path.startswith(f"{above}/"):
                return there + path[len(above) :]
    return path


def explained(traceback: str, error: BaseException, mirrored: Mirrored | None) -> str:
    """What to say of a unit that raised, if that may be as the project is not there.

    Parameters
    ----------
    traceback : str
        Where and why.
    error : BaseException
        What it raised.
    mirrored : Mirrored or None
        As of `translated`.

    Returns
    -------
    str
        The traceback, with paths of the project, and perhaps more.
    """
    if mirrored is None:
        return traceback
    for folder in (mirrored["code"], mirrored["data"]):
        traceback = traceback.replace(f"{folder}/{INSIDE}", mirrored["project"])
        traceback = traceback.replace(f"{folder}/{OUTSIDE}/", "/")
    seen: list[BaseException] = []
    while error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__ or error
    if not any(isinstance(each, FileNotFoundError) for each in seen):
        return traceback
    return f"{traceback.rstrip()}\n{ABSENT}; {HINT}\n"
