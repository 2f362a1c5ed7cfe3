"""What the processes of a job note while it runs: what they loaded and read, for the run that records it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

__all__ = ["NOTED", "Note", "are_taken", "note", "notes_of", "put_notes", "take_notes"]

NOTED = ".notes"
"""File in the folder of a job, until it is recorded."""
VARIABLE = "SHORTLOOP_NOTES"  # of the environment, so that programs which a job starts note as well

_file = ""


class Note(TypedDict, total=False):
    """A line of notes, which says one of these things.

    Parameters
    ----------
    loaded : dict of str to (str, str)
        File and content of modules that were loaded, by name.
    versions : dict of str to str
        Of Python, and of libraries that were loaded, as they were then; empty of one that is not installed.
    where : str
        The machine and the environment that these versions are of.
    opened : str
        A file that was opened, or a folder that was listed, with a slash at its end.
    imported : bool
        True if a module of the user's own did so while it was imported.
    located : str
        A registered file that was looked up.
    content : str
        Its content, then.
    state : list
        State of the file that was opened or looked up.
    settled : bool
        Whether that state tells it from any other.
    """

    loaded: Mapping[str, tuple[str, str]]
    versions: Mapping[str, str]
    where: str
    opened: str
    imported: bool
    located: str
    content: str
    state: Sequence[int]
    settled: bool


def are_taken() -> bool:
    """True in the processes of a job.

    Returns
    -------
    bool
    """
    return bool(_file)


def take_notes(folder: Path) -> None:
    """From now on, this process and those that it starts note what they do.

    Parameters
    ----------
    folder : Path
        The job's folder.
    """
    global _file
    _file = os.environ[VARIABLE] = str(folder / NOTED)


def note(**what: Unpack[Note]) -> None:
    """Note something, in a process of a job; elsewhere nothing is done.

    Parameters
    ----------
    **what
        As of `Note`.

    Raises
    ------
    OSError
        If it cannot be written: then nobody would know, so the job has to fail.
    """
    put_notes(json.dumps(what).encode() + b"\n")


def put_notes(lines: bytes) -> None:
    """Take over what a process of the job noted elsewhere.

    Parameters
    ----------
    lines : bytes
        Whole lines.

    Raises
    ------
    OSError
        As `note`.
    """
    file = _file or os.environ.get(VARIABLE)
    if file and lines:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if os.write(descriptor, lines) != len(lines):
                raise OSError(f"a note was cut short: {file}")
        finally:
            os.close(descriptor)


def notes_of(folder: Path) -> list[Note] | None:
    """What was noted of a job.

    Parameters
    ----------
    folder : Path
        Its folder.

    Returns
    -------
    list of Note or None
        None if nothing was, or not all of it can be read.
    """
    try:
        lines = (folder / NOTED).read_text(encoding="utf-8").splitlines()
        found: list[Note] = [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return None
    return found if all(isinstance(each, dict) for each in found) else None
