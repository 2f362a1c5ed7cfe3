"""State of a file (kind, size, timestamps), to detect changes since it was last read."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from shortloop.base.errors import InputError

T = TypeVar("T")
INODE, SIZE = 1, 2  # where they are in the state of a file
State = tuple[int, ...]
CHANGED = 3  # where the time of change is in that of one of many

# Times of files are coarse (about 10 ms on local disks, up to 2 s on some), so a file that changed a
# moment ago may change again and look the same.
SETTLED_NS = 2_000_000_000

# What was found at one moment, if it counts as one now, by whatever tells what it is of.
_moment: ContextVar[dict[object, Any] | None] = ContextVar("_moment", default=None)

FOLDER = "a folder"
_KINDS = {
    stat.S_IFREG: "",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: FOLDER,
}


@contextmanager
def at_one_moment(seen: dict[object, Any] | None = None) -> Iterator[None]:
    """Within the block, look at each method, file and folder of code once; `seen` continues a moment."""
    token = _moment.set(({} if seen is None else seen) if _moment.get() is None else _moment.get())
    try:
        yield
    finally:
        _moment.reset(token)


def once_per_moment(asked: object, compute: Callable[[], T]) -> T:
    """Compute something, or return what was computed within this moment."""
    if (seen := _moment.get()) is None:
        return compute()
    if asked not in seen:
        seen[asked] = compute()
    found: T = seen[asked]
    return found


def unless_changed(cache: dict[Path, tuple[list[int], T]], file: Path, compute: Callable[[Path], T]) -> T:
    """Compute something from a file, or return what was computed from it in the same state."""
    state, settled = file_state(file)
    known = cache.get(file)
    if known is None or known[0] != state:
        known = state, compute(file)
        if settled:
            cache[file] = known
    return known[1]


def states_at_moment(files: Sequence[str]) -> list[State]:
    """Like `states_of_files`, cached within one moment."""
    if (seen := _moment.get()) is None:
        return states_of_files(files)
    new = [file for file in files if file not in seen]
    seen.update(zip(new, states_of_files(new)))
    return [seen[file] for file in files] if seen.keys() >= {*new} else []


def file_state(file: Path | str) -> tuple[list[int], bool]:
    """State that changes with the content of a file, and True if any later change will show in it."""
    now = time.time_ns()
    found = os.stat(file)
    state = [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
    return state, now - found.st_ctime_ns > SETTLED_NS


def is_settled(state: State) -> bool:
    """True if any later change of a file will show in its state."""
    return time.time_ns() - state[CHANGED] > SETTLED_NS


def states_of_files(files: Sequence[str]) -> list[State]:
    """States of many files, quickly; empty if one is missing."""
    try:
        return [(one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in map(os.stat, files)]
    except FileNotFoundError:
        return []


def kind_of(mode: int) -> str:
    """Kind of a file by its mode; empty for a regular one."""
    return _KINDS.get(stat.S_IFMT(mode), "a device")


def plain_size(file: Path) -> int:
    """Size of a file that a job left, which must be a regular one."""
    if kind := kind_of(file.lstat().st_mode):
        problem = "a job left a file of an unsupported kind"
        hint = "have its method leave these only: copy what a link points to, and remove the rest"
        raise InputError(problem, file=file, found=kind, expected="files and folders", hint=hint)
    return file.stat().st_size


def size_problem(file: Path, size: int) -> str | None:
    """Say how a file differs from what it was, without reading it."""
    now = file.lstat()
    kind, found = kind_of(now.st_mode), now.st_size
    if kind:
        return f"is {kind} now"
    if found < size:
        return f"is cut short: {found:,} of {size:,} bytes"
    return f"has grown: {found:,} instead of {size:,} bytes" if found > size else None
