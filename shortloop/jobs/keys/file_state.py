"""Whether a file is as it was when it was last read, for caches of contents; whether it is one."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from shortloop.errors import InputError

__all__ = [
    "CHANGED",
    "FOLDER",
    "INODE",
    "SETTLED_NS",
    "SIZE",
    "State",
    "file_state",
    "kind_of",
    "other_than",
    "plain_size",
    "states_of_files",
]

INODE, SIZE = 1, 2  # where they are in the state of a file
State = tuple[int, ...]
CHANGED = 3  # where the time of change is in that of one of many

# Times of files are coarse (about 10 ms on local disks, up to 2 s on some), so a file that changed a
# moment ago may change again and look the same.
SETTLED_NS = 2_000_000_000

FOLDER = "a folder"
_KINDS = {
    stat.S_IFREG: "",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: FOLDER,
}


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
    found = file.stat()
    state = [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
    return state, now - found.st_ctime_ns > SETTLED_NS


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


def kind_of(mode: int) -> str:
    """What is not an ordinary file, by its mode; empty for one that is.

    Parameters
    ----------
    mode : int
        As of `os.stat`.

    Returns
    -------
    str
        As ``"a pipe"``.
    """
    return _KINDS.get(stat.S_IFMT(mode), "a device")


def plain_size(file: Path) -> int:
    """Size of a file that a job left.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    InputError
        If it is no file of its own: what is behind a link may change, and reading a pipe may never end.
    """
    kind = kind_of(file.lstat().st_mode)
    if kind:
        raise InputError(
            "a job left what cannot be kept",
            file=file,
            found=kind,
            expected="files and folders",
            hint="have its method leave these only: copy what a link points to, and remove the rest",
        )
    return file.stat().st_size


def other_than(file: Path, size: int) -> str | None:
    """What shows that a file is not what it was, without reading it.

    Parameters
    ----------
    file : Path
        The file.
    size : int
        Bytes that it had.

    Returns
    -------
    str or None
        As ``"is cut short: 3 of 5 bytes"``; None if nothing shows.

    Raises
    ------
    OSError
        If it is gone.
    """
    now = file.lstat()
    kind, found = kind_of(now.st_mode), now.st_size
    if kind:
        return f"is {kind} now"
    if found < size:
        return f"is cut short: {found:,} of {size:,} bytes"
    return f"has grown: {found:,} instead of {size:,} bytes" if found > size else None
