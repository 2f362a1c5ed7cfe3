"""The machine that measures: times of another one are others."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path

from shortloop.plain import Plain

__all__ = ["GIB", "describe", "half_of_memory"]

GIB = 2**30
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def describe() -> dict[str, Plain]:
    """What it is: in the options of jobs, so that they are built again on another one.

    Returns
    -------
    dict
        ``processor``, ``cores`` that this process may use, and ``memory`` in GiB.
    """
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": round(_memory() / GIB),
    }


def half_of_memory() -> float:
    """Half of the memory that processes may take together.

    Returns
    -------
    float
        Bytes.
    """
    return _memory() / 2


def _memory() -> int:
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in LIMITS:  # of a container
        with suppress(OSError, ValueError):
            found.append(int(Path(file).read_text(encoding="ascii")))
    return min(found)


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.machine()
