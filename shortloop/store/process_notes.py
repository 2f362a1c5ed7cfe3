"""Notes of a job's processes on modules loaded and files read; their warnings and log records."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO, TypedDict, Unpack

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
    variable: str  # of the environment, which the user's code read
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
        with open(file, "ab", buffering=0) as stream:
            if stream.write(lines) != len(lines):
                raise OSError(f"a note was cut short: {file}")


def read_notes(folder: Path) -> list[Note] | None:
    try:
        lines = (folder / NOTED).read_text(encoding="utf-8").splitlines()
        found: list[Note] = [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return None
    return found if all(isinstance(each, dict) for each in found) else None


FORMAT = "%(asctime)s.%(msecs)03d %(levelname)s %(name)s: %(message)s"
WARNED = re.compile("\x1e([^\x1f]*)\x1f([^\x1e]*)\x1e")
"""A warning of a process elsewhere: its place and its text, for the job, which knows those of all."""
SHOWN = ".warned"  # beside what the job printed: places whose warning was shown

_folder: str | None = None
_seen: set[str] = set()


def keep_logs(folder: Path | None = None) -> None:
    """Print log records from INFO on, and warnings once per job and place."""
    set_log_folder(folder)
    warnings.showwarning = _show
    # Not a handler of the root: `basicConfig` of a stage would do nothing.
    logging.lastResort = _Records(logging.INFO)
    root = logging.getLogger()
    if not root.handlers and root.level == logging.WARNING:
        root.setLevel(_OURS)
        root.addHandler = _add_handler  # type: ignore[method-assign,assignment]


def set_log_folder(folder: Path | None) -> None:
    global _folder
    _folder = None if folder is None else f"{folder}/OUTPUT"


class _Level(int):
    """A level that differs from an equal one set by a stage."""


_OURS = _Level(logging.INFO)


def _add_handler(handler: logging.Handler) -> None:
    """Restore Python's default level of the root logger for users with handlers of their own."""
    root = logging.getLogger()
    del root.addHandler
    if root.level is _OURS:
        root.setLevel(logging.WARNING)
    root.addHandler(handler)


class _Records(logging.Handler):
    """Prints records; each line of a minor one is marked, to differ from a print."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.setFormatter(logging.Formatter(FORMAT, "%Y-%m-%d %H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
            if record.levelno < logging.WARNING:
                head, name, said = text.partition(f" {record.name}: ")
                text = "\n".join(f"{head}{name}{line}" for line in said.split("\n"))
            sys.stderr.write(f"{text}\n")
        except Exception:
            self.handleError(record)


def is_first_warning(place: str, folder: str) -> bool:
    """True if no process of the job has shown the warning of this place yet."""
    flags = os.O_CREAT | os.O_RDWR | os.O_APPEND
    # Nothing is noted too early, or on a full disk.
    with contextlib.suppress(OSError), open(os.open(f"{folder}/{SHOWN}", flags, 0o666), "r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        if (line := f"{place}\n".encode("utf-8", "backslashreplace")) in stream.readlines():
            return False
        stream.write(line)
    return True


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Replacement of ``warnings.showwarning``."""
    stream = sys.stderr if file is None else file
    if stream is None:
        return
    text = warnings.formatwarning(message, category, filename, lineno, line)
    if file is None:
        if (place := f"{filename}:{lineno}: {category.__name__}".replace("\n", " ")) in _seen:
            return
        _seen.add(place)
        if _folder is None:
            text = f"\x1e{place}\x1f{text}\x1e"
        elif not is_first_warning(place, _folder):
            return
    with contextlib.suppress(OSError):
        stream.write(text)
