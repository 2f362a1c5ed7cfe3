"""Changes of an input file that its times do not show: through a memory map, or in a file beside it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

from shortloop.errors import InputError

__all__ = ["check_journal", "mapped_for_writing"]

# What a database calls such a file, and how its own begins (bytes, and where).
JOURNALS = {"-wal": (b"SQLite format 3\0", 0), "-journal": (b"SQLite format 3\0", 0), ".wal": (b"DUCK", 8)}
FINISHED = b"\0" * 8  # how a journal of SQLite begins that is kept for the next change


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
    wanted = {str(inode).encode(): inode for inode in inodes}
    found: set[int] = set()
    for maps in Path("/proc").glob("[0-9]*/maps") if wanted else ():
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            for line in maps.read_bytes().splitlines():
                fields = line.split(maxsplit=5)
                if fields[4] in wanted and fields[1][1:2] == b"w" and fields[1][3:4] == b"s":
                    found.add(wanted[fields[4]])
    return found


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
