"""Translate system errors (disk, memory, permissions) into messages."""

from __future__ import annotations

import errno
import os
import re
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from shortloop.base.errors import InputError, JobFailed

FULL = (errno.ENOSPC, errno.EDQUOT)  # errors of writing to a full disk
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)  # of writing where it is not allowed
OWNER = "ask its owner for access, or run the command as its owner"
MEMORY = (
    "there is not enough memory",
    "end other programs, use fewer slices, or allow more: `ulimit -v unlimited`",
)
# They lead to other errors on the way, so they count wherever they are in a chain.
SHORTAGES = {
    errno.EMFILE: (
        "too many files are open for one program",
        "allow more, and start the server again: `ulimit -n 1024`",
    ),
    errno.ENFILE: ("too many files are open on this machine", "end other programs"),
    errno.ENOMEM: MEMORY,
}
THREADS = (
    "no more threads can be started",
    "end other programs, or allow more: `ulimit -u` for processes, `ulimit -v` for memory",
)
NO_ROOM = ("the disk is full", "make room, e.g. with `shortloop gc --delete`")
OTHERS = {
    **dict.fromkeys((errno.EACCES, errno.EPERM), ("permission denied", OWNER)),
    errno.EROFS: ("this disk is read-only", "work on a copy, or mount it for writing"),
    errno.EAGAIN: THREADS,
    **dict.fromkeys(FULL, NO_ROOM),
    errno.EIO: ("the disk reports an input/output error", "check the system log"),
    errno.ESTALE: ("the file server lost an open file", "try again"),
    errno.ELOOP: ("symbolic links form a loop", "remove one of them"),
    errno.EISDIR: ("a folder is in the place of a file", "move it away"),
    errno.ENOTDIR: ("a file is in the place of a folder", "move it away"),
    errno.ENAMETOOLONG: ("a name is too long for this disk", "choose a shorter one"),
}
INDEX = "the index of jobs"
INDEX_HINT = "move .shortloop/*.sqlite* of the workdir away: it is rebuilt"
HELD = (f"{INDEX} is held by another program", "try again when that has ended")
CLOSED = (f"{INDEX} cannot be opened", INDEX_HINT)
OF_INDEX = {
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), HELD),
    **dict.fromkeys((sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM), CLOSED),
    sqlite3.SQLITE_READONLY: (f"{INDEX} cannot be written", OWNER),
    sqlite3.SQLITE_FULL: NO_ROOM,
    sqlite3.SQLITE_IOERR: (f"{INDEX} cannot be read or written", INDEX_HINT),
    sqlite3.SQLITE_NOLFS: (f"{INDEX} is too large for this disk", INDEX_HINT),
}


def system_error(error: BaseException) -> InputError | None:
    """Translate an error caused by missing resources or permissions; None for others."""
    if isinstance(error, FileNotFoundError):
        try:
            os.getcwd()
        except FileNotFoundError:
            return InputError("the current folder was deleted", hint="change to a folder that exists")
    cause: BaseException | None = error
    while cause is not None:
        if (said := _shortage(cause)) is not None:
            return _translated(cause, *said)
        cause = cause.__cause__ or cause.__context__
    number = getattr(error, "errno", None) if isinstance(error, OSError) else None
    if number in OTHERS:
        return _translated(error, *OTHERS[number])
    if isinstance(error, sqlite3.Error):
        said = OF_INDEX.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        return None if said is None else _translated(error, *said)
    return None


def system_error_in(traceback: str) -> InputError | None:
    """Find a system error, or an `InputError`, in a traceback of a process that ended; else None."""
    last = re.split(r"^Traceback \(most recent call last\):", traceback, flags=re.M)[-1]  # causes come before
    told = re.search(rf"^{re.escape(InputError.__module__)}\.\w+: ((?:.|\n)*)", last, re.M)
    if told is not None:
        return JobFailed(told[1].rstrip())
    for line in reversed(traceback.splitlines()):
        error = line.partition('  File "')[0]  # of another thread, printed at the same time
        if (said := _shortage_in(error)) is not None:
            return InputError(said[0], found=error, hint=said[1])
    return None


def need_files(least: int) -> None:
    """Check the limit of open files; a failure inside a library is hard to read."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= allowed < least:
        problem, hint = SHORTAGES[errno.EMFILE]
        raise InputError(problem, found=f"{allowed} allowed", expected=f"at least {least}", hint=hint)


@contextmanager
def if_writable() -> Iterator[None]:
    """Skip a write to a full or read-only disk, or to another user's: for caches, which readers need not."""
    try:
        yield
    except OSError as error:
        if error.errno not in (*READ_ONLY, *FULL):
            raise


def unreadable(error: OSError, what: str) -> InputError:
    """Translate an error of reading a file."""
    hint = OWNER if error.errno in READ_ONLY else None
    if error.errno == errno.EISDIR:
        hint = "name one file; a stage takes several as `list[File]`, a settings file takes one table"
    return InputError(f"{what} cannot be read ({error.strerror})", file=error.filename, hint=hint)


def _shortage(error: BaseException) -> tuple[str, str] | None:
    if isinstance(error, MemoryError):
        return MEMORY
    if isinstance(error, OSError):
        return SHORTAGES.get(error.errno or 0)
    return _shortage_in(f"{type(error).__name__}: {error}")


def _shortage_in(line: str) -> tuple[str, str] | None:
    if (number := re.match(r"\w+: \[Errno (\d+)\] ", line)) is not None:
        return NO_ROOM if int(number[1]) in FULL else SHORTAGES.get(int(number[1]))
    if re.match(r"RuntimeError: can't start new thread", line):
        return THREADS
    # The second is said when a library is loaded that is written in another language.
    lacks = r"[\w.]*MemoryError\b|ImportError: (?:.|\n)*(?:failed to map segment|annot allocate)"
    return MEMORY if re.match(lacks, line) else None


def _translated(error: BaseException, problem: str, hint: str) -> InputError:
    file = getattr(error, "filename", None)
    lines = str(error).strip().splitlines()  # the last one of many says what happened
    found = getattr(error, "strerror", None) or (lines[-1] if lines else None)
    return InputError(problem, file=file, found=found, hint=hint)
