"""Memory and processor time of a process and all that it started, and what others use meanwhile.

Read from proc(5), as Linux has it. Where the system does not say, there is no number.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["busy_seconds", "cpu_seconds", "family", "memory"]

TICK = os.sysconf("SC_CLK_TCK")
IDLE = (3, 4)  # of the numbers of a processor in /proc/stat: idle, and waiting for a disk
OWN = ("Pss_Anon", "Pss_Shmem")
"""What a process holds of its own, and its part of what it shares; pages of files are the system's."""


def family(pid: int) -> list[int]:
    """A process and all that it started, directly or through others.

    Parameters
    ----------
    pid : int
        The process.

    Returns
    -------
    list of int
    """
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
    """Memory of a process and all that it started; what they share is counted once.

    Parameters
    ----------
    pid : int
        The process.

    Returns
    -------
    int or None
        Bytes.
    """
    found = 0
    for each in family(pid):
        with suppress(OSError, ValueError, IndexError):
            lines = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines()
            sizes = {
                name: int(size.split()[0]) for name, _, size in (line.partition(":") for line in lines[1:])
            }
            found += 1024 * sum(sizes.get(name, 0) for name in OWN)
    return found or None


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and all that it started, those that have ended too.

    Parameters
    ----------
    pid : int
        The process.

    Returns
    -------
    float
        Seconds, to a hundredth.
    """
    return sum(sum(map(int, fields[11:15])) for fields in map(_stat, family(pid)) if fields) / TICK


def busy_seconds() -> float | None:
    """How long the processors that this process may use have been busy, for anybody, since the system began.

    Returns
    -------
    float or None
        Seconds, summed over processors.
    """
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
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return []
