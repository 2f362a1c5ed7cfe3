"""End a run that cannot continue, with its job, and print one message."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.base.text import substitute_unencodable
from shortloop.project.project import configuration
from shortloop.project.system_errors import FULL, system_error

HARDLY_ANY = 500_000  # bytes that may be left on a full disk, as small files still fit
FEW = 8  # inodes that may be left, as a job that failed leaves fewer files than it began
# exax gives a build script a pseudo-terminal for its output, so the real one is kept on import.
_ERRORS = os.dup(2)
printed_errors: list[InputError] = []  # errors that this process has printed


class _Unwritable(InputError):
    """An error that exax cannot print, because it keeps a copy of its output."""


@contextmanager
def explain_errors() -> Iterator[None]:
    """Turn consequences of a full disk, a deleted folder and the like into an error that says so."""
    folder = Path.cwd()
    try:
        yield
    except Exception as error:
        if _is_deleted(folder):
            problem = "the folder of this run was deleted while it ran"
            hint = "run again: finished jobs are kept. `ax gc` deletes what runs; `shortloop gc` does not"
            raise _Unwritable(problem, file=folder, hint=hint) from error
        if (full := _full_disk(error)) is not None:
            raise _no_room(full) from error
        fault = None if isinstance(error, InputError) else system_error(error)
        if fault is None:
            raise
        raise fault from error
    _is_deleted(folder)  # all is done, and exax's own end needs the folder


def check_disk_space() -> None:
    """Check that workdirs have room; without, exax could not begin a run, nor say why."""
    for folder in map(Path, configuration().workdirs.values()):
        if folder.is_dir():
            disk = os.statvfs(folder)
            if disk.f_bavail == 0 or (disk.f_favail == 0 and disk.f_files):
                raise _no_room(folder)


def print_error(error: InputError) -> None:
    printed_errors.append(error)
    text = f"shortloop: {error.message}"
    if isinstance(error, _Unwritable):
        os.write(_ERRORS, f"{text}\n".encode())
    else:
        substitute_unencodable()
        print(text, file=sys.stderr, flush=True)


@contextmanager
def signals_raise() -> Iterator[None]:
    """Turn signals into exceptions within the block, so that they end the job, too."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends a second one, and `shortloop run`
        raise KeyboardInterrupt

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_deleted(folder: Path) -> bool:
    if folder.is_dir():
        return False
    with contextlib.suppress(OSError):  # all of the workdir may be gone
        folder.mkdir()  # exax goes back to it
        os.chdir(folder)
    return True


def _full_disk(error: BaseException) -> Path | None:
    """Return the workdir without room that an error is about."""
    workdirs = [Path(folder) for folder in configuration().workdirs.values()]
    for folder in workdirs:
        if folder.is_dir() and (shutil.disk_usage(folder).free < HARDLY_ANY or not _has_inodes(folder)):
            return folder
    each: BaseException | None = error
    while each is not None:
        is_full = getattr(each, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        if is_full or getattr(each, "errno", None) in FULL:
            return workdirs[0]
        each = each.__cause__ or each.__context__
    return None


def _has_inodes(folder: Path) -> bool:
    disk = os.statvfs(folder)
    return disk.f_favail >= FEW or not disk.f_files  # some disks do not count them


def _no_room(folder: Path) -> InputError:
    found = f"{shutil.disk_usage(folder).free / 1e6:.1f} MB are left"
    problem, hint = "the disk is full", "make room"
    if not _has_inodes(folder):
        problem += ": no inodes are left, because there are too many files"
        found, hint = f"{os.statvfs(folder).f_favail} inodes and {found}", "delete files"
    hint += ", e.g. with `shortloop gc --delete`, and run again: finished jobs are kept"
    return _Unwritable(problem, file=folder, found=found, hint=hint)
