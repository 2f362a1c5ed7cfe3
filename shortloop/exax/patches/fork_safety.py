"""Detect threads that a fork would lack and wait for forever."""

from __future__ import annotations

import os
import threading
import time
from array import array
from bisect import bisect_right
from pathlib import Path

__all__ = ["threads_lost_by_fork"]

TASKS = Path("/proc/self/task")
STACK = 8192  # bytes from where a thread waits up to where it has started
TRIES, MOMENT = 20, 0.001  # s in which a thread that runs may come to wait
# Allocators and Arrow start their threads anew in a fork; that of Polars deletes what it has put on disk.
RESTARTED = ("jemalloc_bg_thd", "libarrow", "polars-ooc")
# Of Python and the system: they do not tell whose thread it is.
COMMON = ("ld-linux", "libc.", "libc-", "libgcc", "libpthread", "libpython", "libstdc++", "python", "[")


def threads_lost_by_fork() -> list[str]:
    """Owners of threads that a fork would lack."""
    tasks = set(map(int, os.listdir(TASKS))) - {threading.get_native_id()}
    if not tasks:
        return []
    python = {each.native_id: each.name for each in threading.enumerate()}
    lost = {f"the thread {python[task]}" for task in tasks & python.keys()}
    others = [task for task in tasks - python.keys() if not _name(task).startswith(RESTARTED)]
    code = _Code() if others else None
    lost |= {code.owner(task) for task in others if code}
    return sorted(each for each in lost if not each.startswith(RESTARTED))


class _Code:
    """Where in memory the code of each library is."""

    def __init__(self) -> None:
        ranges = []
        for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
            place, rights, _, _, _, *path = line.split(maxsplit=5)
            if "x" in rights and path and not (name := os.path.basename(path[0])).startswith(COMMON):
                first, end = (int(each, 16) for each in place.split("-"))
                ranges.append((first, end, name))
        self._ranges = sorted(ranges)
        self._starts = [first for first, _, _ in self._ranges]
        self._first = self._starts[0] if self._starts else 2**64

    def owner(self, task: int) -> str:
        """The library that has started a thread: that of the outermost return address on its stack."""
        try:
            state = TASKS / f"{task}/syscall"
            for _ in range(TRIES):
                if (said := state.read_text(encoding="ascii")) != "running\n":
                    break
                time.sleep(MOMENT)
            stack = int(said.split()[-2], 16)
            with open("/proc/self/mem", "rb", buffering=0) as memory:
                memory.seek(stack)
                words = array("Q", memory.read(STACK))
        except (OSError, ValueError, IndexError):  # it still runs, or has ended
            return _name(task)
        for word in reversed(words):
            if word >= self._first:  # few are, and this is fast
                place = bisect_right(self._starts, word) - 1
                if word < self._ranges[place][1]:
                    return self._ranges[place][2]
        return _name(task)


def _name(task: int) -> str:
    try:
        return (TASKS / f"{task}/comm").read_text(errors="replace").strip()
    except OSError:
        return RESTARTED[0]  # it has ended
