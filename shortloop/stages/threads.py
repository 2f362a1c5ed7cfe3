"""One BLAS thread per process, set before NumPy is imported and checked in the job.

This module must stay free of heavy imports: the method packages import it first of all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypedDict

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)

_found: tuple[tuple[int, int] | None, Any] | None = None  # libraries loaded then, and the pools among them


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
    stubborn = [pool["library"] for pool in report if pool["threads_used"] != 1]
    if stubborn:
        raise RuntimeError(f"{', '.join(stubborn)} will not run on one thread")
    return report


def found_pools() -> list[dict[str, Any]]:
    """Thread pools as threadpoolctl describes them; call it before forks, as looking for them takes long."""
    global _found
    import threadpoolctl

    loaded = _libraries_loaded()
    if _found is None or loaded is None or _found[0] != loaded:
        _found = loaded, threadpoolctl.ThreadpoolController()
    pools: list[dict[str, Any]] = _found[1].info()
    return pools


def _libraries_loaded() -> tuple[int, int] | None:
    """Number of libraries that this process has loaded and unloaded; None if unknown."""
    counts: list[tuple[int, int]] = []
    try:
        _for_libraries()(counts)
    except (OSError, AttributeError):
        return None
    return counts[0] if counts else None


@cache
def _for_libraries() -> Callable[[list[tuple[int, int]]], object]:
    """A call of dl_iterate_phdr(3) that appends the counts of the first library to a list."""
    import ctypes

    class Information(ctypes.Structure):
        _fields_ = (
            ("address", ctypes.c_size_t),
            ("name", ctypes.c_char_p),
            ("headers", ctypes.c_void_p),
            ("count", ctypes.c_uint16),
            ("loaded", ctypes.c_ulonglong),
            ("unloaded", ctypes.c_ulonglong),
        )

    def first(information: Any, size: int, counts: Any) -> int:
        if size >= ctypes.sizeof(Information):
            counts.append((information.contents.loaded, information.contents.unloaded))
        return 1  # one is enough

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Information), ctypes.c_size_t, ctypes.py_object)
    function, called = ctypes.CDLL(None).dl_iterate_phdr, kind(first)
    function.argtypes = (kind, ctypes.py_object)
    return lambda counts: function(called, counts)
