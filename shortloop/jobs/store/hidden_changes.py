"""Changes of an input file that its times do not show: through a memory map, or in a file beside it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from shortloop.errors import InputError

__all__ = ["check_journal", "mapped_for_writing"]

# What a database calls such a file, and how its own begins (bytes, and where).
JOURNALS = {"-wal": (b"SQLite format 3\0", 0), "-journal": (b"SQLite format 3\0", 0), ".wal": (b"DUCK", 8)}
SCAN_EVERY = 0.5  # s; a file that was mapped and written meanwhile is too young for its hash to be kept
FINISHED = b"\0" * 8  # how a journal of SQLite begins that is kept for the next change


_mapped: list[tuple[float, frozenset[int]]] = [(-SCAN_EVERY, frozenset())]


def mapped_for_writing(inodes: Collection[int]) -> set[int]:
    """Which files are mapped, shared and for writing, by a process that may be looked at.

    Parameters
    ----------
    inodes : collection of int
        Inodes of files.

    Returns
    -------
    set of int
        Those of them, perhaps with one of another disk's file; empty where the system does not say.
    """
    if not inodes:
        return set()
    scanned, found = _mapped[0]
    if time.monotonic() - scanned > SCAN_EVERY:
        found = frozenset(_all_mapped())
        _mapped[0] = time.monotonic(), found
    return {*found.intersection(inodes)}


def _all_mapped() -> Iterator[int]:
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            for line in maps.read_bytes().splitlines():
                fields = line.split(maxsplit=5)
                if fields[1][1:2] == b"w" and fields[1][3:4] == b"s":
                    yield int(fields[4])


def check_journal(file: Path) -> None:
    """Refuse a database with changes that are not in its file yet: its content would stay what it was.

    Parameters
    ----------
    file : Path
        Any input file.

    Raises
    ------
    InputError
        If it is a database of SQLite or DuckDB, with a journal beside it that holds something.
    """
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
