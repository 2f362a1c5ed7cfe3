"""Files that a process may change without a trace: written through a memory map, a file gets a new time of
change at the first write only."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

__all__ = ["mapped_for_writing"]


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
