"""Whether a file is as it was when it was last read: what caches of file contents go by."""

from __future__ import annotations

import time
from pathlib import Path

__all__ = ["SIZE", "file_state"]

SIZE = 2  # where the size of a file is in its state

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
