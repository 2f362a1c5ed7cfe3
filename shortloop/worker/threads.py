"""One BLAS thread per process: set before NumPy is imported, checked where the work runs.

This module must stay free of heavy imports: the method packages import it first of all.
"""

from __future__ import annotations

import os
from typing import TypedDict

__all__ = ["Pool", "check_single_thread", "set_single_thread", "warm_up"]

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class Pool(TypedDict):
    """A thread pool of a numerical library, as it was found in a process, and what it was brought down to."""

    library: str
    version: str | None
    threads: int
    threads_used: int


def set_single_thread() -> None:
    """Set the environment so that numerical libraries loaded from now on use one thread.

    exax imports the method packages in the server, before it starts the processes that run methods; they
    inherit this environment, however the server itself was started.
    """
    for variable in VARIABLES:
        os.environ[variable] = "1"


def warm_up() -> None:
    """Import what `check_single_thread` needs, so that processes forked later share it."""
    import threadpoolctl

    threadpoolctl.threadpool_info()  # it remembers where the libraries really are


def check_single_thread() -> list[Pool]:
    """The thread pools of this process, each brought down to one thread if it is not there already.

    Returns
    -------
    list of Pool

    Raises
    ------
    RuntimeError
        If a pool cannot be brought down to one thread.
    """
    import threadpoolctl

    found = now = threadpoolctl.threadpool_info()
    if any(pool["num_threads"] != 1 for pool in found):
        threadpoolctl.threadpool_limits(1)
        now = threadpoolctl.threadpool_info()
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
