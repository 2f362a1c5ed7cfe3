"""Detect input changes that timestamps miss: memory maps and write-ahead logs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from shortloop.base.errors import InputError

# What a database calls such a file, and how its own begins (bytes, and where).
JOURNALS = {"-wal": (b"SQLite format 3\0", 0), "-journal": (b"SQLite format 3\0", 0), ".wal": (b"DUCK", 8)}
SCAN_EVERY = 0.5  # s; a file that was mapped and written meanwhile is too young for its hash to be kept
FINISHED = b"\0" * 8  # how a journal of SQLite begins that is kept for the next change
FEW = 1000  # files that are asked about one by one sooner than all processes are looked at
LOCAL = {b"ext2", b"ext3", b"ext4", b"f2fs", b"tmpfs", b"xfs"}
SHARED = re.compile(rb"^\S+ .w.s \S+ \S+ (\d+)", re.MULTILINE)  # lines of /proc/PID/maps, and their inodes

_mapped: list[tuple[float, frozenset[int]]] = [(-SCAN_EVERY, frozenset())]


def mapped_for_writing(files: Mapping[int, Path]) -> set[int]:
    """Inodes of files that a visible process maps for writing; perhaps one too many, of another disk."""
    if len(files) <= FEW and all(map(_is_not_written, files.values())):
        return set()
    scanned, found = _mapped[0]
    if time.monotonic() - scanned > SCAN_EVERY:
        found = frozenset(_all_mapped())
        _mapped[0] = time.monotonic(), found
    return {*found.intersection(files)}


def _is_not_written(file: Path) -> bool:
    """True if no process has a file open for writing or mapped, as found out without a search."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.fstat(descriptor).st_dev not in _local_disks():
            return False
        # The system grants such a lease if nobody writes. Who would write just now waits until the file is
        # closed again, and this process is told by a signal that ends none.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        return True
    except OSError:  # somebody writes, or the file is another user's
        return False
    finally:
        os.close(descriptor)


@cache
def _local_disks() -> set[int]:
    """List devices whose file systems know all writers: not of other machines, not overlays."""
    devices = set()
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
            fields, _, kind = line.partition(b" - ")
            if kind.split()[0] in LOCAL:
                devices.add(os.makedev(*map(int, fields.split()[2].split(b":"))))
    return devices


def _all_mapped() -> Iterator[int]:
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            yield from map(int, SHARED.findall(maps.read_bytes()))


def check_journal(file: Path) -> None:
    """Refuse a database with changes that are not in its file yet: its content would stay what it was."""
    for ending, (begins, at) in JOURNALS.items() if file.is_file() else ():
        beside = f"{file}{ending}"
        try:
            size = os.stat(beside).st_size
        except OSError:
            continue
        if size and _head(file, at + len(begins))[at:] == begins and _head(beside, len(FINISHED)) != FINISHED:
            raise InputError(
                "a database has changes that are not in its file yet",
                file=file,
                found=f"{size} bytes in {os.path.basename(beside)}",
                hint="close all programs that have it open, which moves them there; if none has, open and "
                "close it once",
            )


def _head(file: str | Path, size: int) -> bytes:
    with open(file, "rb") as stream:
        return stream.read(size)
