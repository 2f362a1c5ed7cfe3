"""Time, processor time and memory of work, of a process and all that it started.

Read from proc(5), as Linux has it. Where the system does not say, there is no number.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray
    from shortloop.frames.work import Aggregates

__all__ = [
    "Measured",
    "Timed",
    "busy_seconds",
    "cpu_seconds",
    "family",
    "memory",
    "repeat_for",
    "time_repeats",
]

ENOUGH = 0.5  # s: work that takes less in all repeats is repeated more often
MOST = 25
LEAST = 0.3  # s, below which shares of time say nothing: clocks tick hundredths
LOOKING = 0.3  # s that work takes, at least, while memory is looked at
TICK = os.sysconf("SC_CLK_TCK")
IDLE = (3, 4)  # of the numbers of a processor in /proc/stat: idle, and waiting for a disk
OWN = ("Pss_Anon", "Pss_Shmem")
"""Memory that a process holds, and its part of what it shares; pages of files are the system's."""

T = TypeVar("T")


@dataclass
class Timed:
    """Times and memory of some work.

    start: seconds to import the library, start its workers, compile, and do a little of the work.
    seconds: wall-clock time of each repeat.
    busy: cores that it kept busy, on average.
    others: cores that others kept busy meanwhile.
    peak: most memory, bytes, of a further repeat that is not timed.
    """

    start: float = 0.0
    seconds: list[float] = field(default_factory=list)
    busy: float | None = None
    others: float | None = None
    peak: int | None = None


@dataclass
class Measured:
    """Outcome of a measurement.

    failed: why there is no result; empty: there is one.
    result: the new column, (rows,), or aggregates.
    """

    timed: Timed = field(default_factory=Timed)
    failed: str = ""
    result: FloatArray | Aggregates | None = None


def time_repeats(timed: Timed, run: Callable[[], object], repeats: int) -> None:
    """Time some work, more often if it takes little."""
    own, every, began = cpu_seconds(os.getpid()), busy_seconds(), time.monotonic()
    seconds = timed.seconds
    while len(seconds) < repeats or (sum(seconds) < ENOUGH and len(seconds) < MOST):
        before = time.perf_counter()
        found = run()
        seconds.append(time.perf_counter() - before)
        del found  # before there is another one
    wall = time.monotonic() - began
    if wall >= LEAST:
        own, after = cpu_seconds(os.getpid()) - own, busy_seconds()
        timed.busy = own / wall
        timed.others = None if every is None or after is None else max(0.0, (after - every - own) / wall)


def repeat_for(run: Callable[[], T]) -> T:
    """Do some work for as long as memory is looked at."""
    until, found = time.monotonic() + LOOKING, [run()]
    while time.monotonic() < until:
        found.clear()  # before there is another one
        found.append(run())
    return found[0]


def family(pid: int) -> list[int]:
    """A process and all that it started, directly or through others."""
    children: dict[int, list[int]] = {}
    for folder in os.listdir("/proc"):
        if folder.isdigit():
            fields = _stat(int(folder))
            if fields:
                children.setdefault(int(fields[1]), []).append(int(folder))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def memory(pid: int) -> int | None:
    """Bytes of memory of a process and all that it started; what they share is counted once."""
    found = 0
    for each in family(pid):
        with suppress(OSError, ValueError, IndexError):
            for line in Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines():
                name, _, size = line.partition(":")
                found += 1024 * int(size.split()[0]) if name in OWN else 0
    return found or None


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and all that it started, also of those that have ended."""
    return sum(sum(map(int, fields[11:15])) for fields in map(_stat, family(pid)) if fields) / TICK


def busy_seconds() -> float | None:
    """Seconds since boot that the processors this process may use have been busy, for anybody."""
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    found = 0
    try:
        for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
            name, *ticks = line.split()
            if name in mine:
                found += sum(int(each) for number, each in enumerate(ticks[:8]) if number not in IDLE)
    except (OSError, ValueError):
        return None
    return found / TICK if found else None


def _stat(pid: int) -> list[str]:
    """Numbers of a process after its name, which may hold anything."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
