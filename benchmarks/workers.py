"""The same units of work over 1 … N forked workers, timed from a common start to the end of the last unit."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from typing import Any

from shortloop.units.queue import Units


def seconds_over(
    workers: int, units: int, work: Callable[[int], Any], blas_threads: int = 1
) -> tuple[float, int]:
    """Let workers draw units until there are none."""
    context = multiprocessing.get_context("fork")
    drawn = Units(units)
    start = context.Barrier(workers + 1)
    threads = context.Array("i", workers)
    began, ended = context.Array("d", workers), context.Array("d", workers)

    def body(number: int) -> None:
        from threadpoolctl import threadpool_info, threadpool_limits

        with threadpool_limits(limits=blas_threads, user_api="blas"):
            pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
            threads[number] = max(pools, default=0)
            start.wait()
            began[number] = time.perf_counter()  # one clock for all processes
            for unit in drawn:
                work(unit)
            ended[number] = time.perf_counter()

    processes = [context.Process(target=body, args=(number,)) for number in range(workers)]
    for process in processes:
        process.start()
    start.wait(timeout=60)
    for process in processes:
        process.join()
    if any(process.exitcode != 0 for process in processes):
        raise RuntimeError("a worker failed; its message is above")
    return max(ended[:]) - min(began[:]), max(threads[:])
