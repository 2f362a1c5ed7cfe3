"""Whether a file is as it was when it was last read: what caches of file contents go by."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

__all__ = ["CHANGED", "INODE", "SIZE", "State", "file_state", "states_of_files"]

INODE, SIZE = 1, 2  # where they are in the state of a file
State = tuple[int, ...]
CHANGED = 3  # where the time of change is in that of one of many

# Times of files are coarse (about 10 ms on local disks, up to 2 s on some), so a file that changed a
# moment ago may change again and look the same.
SETTLED_NS = 2_000_000_000


def file_state(file: Path) -> tuple[list[int], bool]:
    """What changes when the content of a file changes.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    state : list of int
        Its device, inode, size, modification time and change time; the last catches a file whose
        modification time was put back.
    settled : bool
        Whether another change would show in the state: false while the last one is less than 2 s ago.

    Raises
    ------
    OSError
        If there is no such file.
    """
    now = time.time_ns()
    stat = file.stat()
    state = [stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
    return state, now - stat.st_ctime_ns > SETTLED_NS


def states_of_files(files: Sequence[str]) -> list[State]:
    """What changes when one of many files changes, quickly.

    Parameters
    ----------
    files : sequence of str
        Their paths.

    Returns
    -------
    list of tuple of int
        Inode, size, time of modification and of change of each; empty if one is missing.
    """
    try:
        return [
            (each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns) for each in map(os.stat, files)
        ]
    except FileNotFoundError:
        return []
