"""One BLAS thread per process, set before NumPy is imported and checked in the job.

This module must stay free of heavy imports: the method packages import it first of all.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from typing import Any, TypedDict, cast

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
COUNTS_AT = struct.calcsize("PPPH0Q")  # place of dlpi_adds and dlpi_subs in struct dl_phdr_info

_found: tuple[list[int], Any] | None = None  # libraries loaded then, and the pools among them


class Pool(TypedDict):
    """A thread pool of a numerical library: number of threads as found in a process, and as set."""

    library: str
    version: str | None
    threads: int
    threads_used: int


def set_single_thread() -> None:
    """Let numerical libraries loaded from now on, also in exax's child processes, use one thread."""
    os.environ.update(dict.fromkeys(VARIABLES, "1"))


def distinct(pools: Iterable[Pool]) -> list[Pool]:
    """Remove duplicates among the thread pools of several processes."""
    return list({repr(sorted(pool.items())): pool for pool in pools}.values())


def check_single_thread() -> list[Pool]:
    """Set each thread pool of this process to one thread; return the pools."""
    import threadpoolctl

    found = now = found_pools()
    if any(pool["num_threads"] != 1 for pool in found):
        threadpoolctl.threadpool_limits(1)
        now = found_pools()
    report: list[Pool] = [
        {
            "library": pool["prefix"],
            "version": pool["version"],
            "threads": pool["num_threads"],
            "threads_used": after["num_threads"],
        }
        for pool, after in zip(found, now, strict=True)
    ]
    if stubborn := [pool["library"] for pool in report if pool["threads_used"] != 1]:
        raise RuntimeError(f"{', '.join(stubborn)} will not run on one thread")
    return report


def found_pools() -> list[dict[str, Any]]:
    """Thread pools as threadpoolctl describes them; call it before forks, as looking for them takes long."""
    global _found
    import threadpoolctl

    loaded = _libraries_loaded()
    if _found is None or _found[0] != loaded:
        _found = loaded, threadpoolctl.ThreadpoolController()
    return cast("list[dict[str, Any]]", _found[1].info())


def _libraries_loaded() -> list[int]:
    """Numbers of libraries that this process has loaded and unloaded, of dl_iterate_phdr(3)."""
    import ctypes

    counts: list[int] = []

    def first(information: int, _size: int, _data: object) -> int:
        counts.extend((ctypes.c_ulonglong * 2).from_address(information + COUNTS_AT))
        return 1  # one is enough

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    ctypes.CDLL(None).dl_iterate_phdr(kind(first), None)
    return counts
