"""Notes of a job's processes on modules loaded and files read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

NOTED = ".notes"  # file in the folder of a job, until it is recorded
VARIABLE = "SHORTLOOP_NOTES"  # of the environment, so that programs which a job starts note as well

_file = ""
_held: int | None = None  # file in memory, for notes of a job whose folder is not known yet


class Note(TypedDict, total=False):
    """A line of notes: one of these facts."""

    loaded: Mapping[str, tuple[str, str]]  # file and content of modules that were loaded, by name
    versions: Mapping[str, str]  # of Python and of loaded libraries; empty: not installed
    where: str  # the machine and the environment that these versions are of
    opened: str  # a file that was opened, or a folder that was listed, with a slash at its end
    imported: bool  # true if a module of the user's own did so while it was imported
    located: str  # a registered file that was looked up
    content: str
    state: Sequence[int]  # state of the file that was opened or looked up
    settled: bool  # whether that state tells it from any other


def in_job_process() -> bool:
    """True in the processes of a job."""
    return bool(_file)


def buffer_notes() -> None:
    """Collect notes in memory for a job to come; this process must not start others."""
    global _file, _held
    _held = os.memfd_create(NOTED)
    _file = os.environ[VARIABLE] = f"/proc/self/fd/{_held}"  # all that is loaded of this package finds it


def take_notes(folder: Path) -> None:
    """Write notes of this process and its children to the job's folder from now on."""
    global _file, _held
    _file = os.environ[VARIABLE] = str(folder / NOTED)
    if _held is not None:
        write_notes(os.pread(_held, os.fstat(_held).st_size, 0))
        os.close(_held)
        _held = None


def note(**what: Unpack[Note]) -> None:
    """Write a note, in a process of a job; elsewhere do nothing."""
    write_notes(json.dumps(what).encode() + b"\n")


def write_notes(lines: bytes) -> None:
    """Append notes that a process of the job took elsewhere."""
    file = _file or os.environ.get(VARIABLE)
    if file and lines:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if os.write(descriptor, lines) != len(lines):
                raise OSError(f"a note was cut short: {file}")
        finally:
            os.close(descriptor)


def read_notes(folder: Path) -> list[Note] | None:
    """Read the notes of a job."""
    try:
        lines = (folder / NOTED).read_text(encoding="utf-8").splitlines()
        found: list[Note] = [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return None
    return found if all(isinstance(each, dict) for each in found) else None
