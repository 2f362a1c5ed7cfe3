"""A process that computes units in a mirror: what it says is of the project, not of the mirror."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shortloop.engines.messages import JobWork, Mirrored
from shortloop.errors import TransientError
from shortloop.jobs.project import configuration
from shortloop.jobs.store.lookup import here
from shortloop.worker.results import Where

__all__ = ["explained", "refuse_what_is_not_here", "translated", "where_of"]

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
        for top, there in (("in", mirrored["project"]), ("out", "")):
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
        traceback = traceback.replace(f"{folder}/in", mirrored["project"]).replace(f"{folder}/out/", "/")
    seen: list[BaseException] = []
    while error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__ or error
    if not any(isinstance(each, FileNotFoundError) for each in seen):
        return traceback
    return f"{traceback.rstrip()}\n{ABSENT}; {HINT}\n"


def refuse_what_is_not_here(mirrored: Mirrored) -> None:
    """From now on, to read a file of the project fails where it was not sent: whoever would do without it
    would come to another result than where it is.

    Parameters
    ----------
    mirrored : Mirrored
        Where the mirrors are.
    """
    sys.addaudithook(_refusing(mirrored))


def _refusing(mirrored: Mirrored) -> Callable[[str, tuple[Any, ...]], None]:
    tops = tuple(
        f"{each}/" for each in (f"{mirrored['code']}/in", f"{mirrored['data']}/in", mirrored["project"])
    )

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("open", "os.listdir", "os.scandir"):
            return
        path = arguments[0]
        if not isinstance(path, str | bytes) or (
            event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
        ):
            return
        name = os.path.abspath(os.fsdecode(path))
        above = next((top for top in tops if name.startswith(top)), None)
        if above is None or "/." in name[len(above) - 1 :] or os.path.exists(name):
            return
        raise TransientError(
            "a unit reads a file that is not on this node",
            file=original(name, mirrored),
            found=ABSENT,
            hint=HINT,
        )

    return hook
