"""Peak memory: of all processes that a command starts, and of a piece of work in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Watch", "measured_alone"]

MB = 2**20


class Watch:
    """Samples the proportional set size (PSS) of a process and all that it has started.

    A page that several processes share counts once, in equal parts, so the sum over processes is what they
    take together. Pages of mapped files are the page cache's; ``private`` is the sum without them.

    Parameters
    ----------
    process : int
        Id of the first process.
    interval : float, default 0.05
        Seconds between samples; what comes and goes in between is not seen.
    """

    def __init__(self, process: int, interval: float = 0.05) -> None:
        self._known = {process}
        self._interval = interval
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.peak: dict[str, float] = {"pss_mb": 0.0, "private_mb": 0.0, "processes": 0.0, "samples": 0.0}

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.is_set():
            for process, parent in _processes():
                if parent in self._known:
                    self._known.add(process)
            found = [each for each in map(_pss, self._known) if each is not None]
            self.peak["pss_mb"] = max(self.peak["pss_mb"], sum(pss for pss, _ in found) / MB)
            self.peak["private_mb"] = max(self.peak["private_mb"], sum(own for _, own in found) / MB)
            self.peak["processes"] = max(self.peak["processes"], float(len(found)))
            self.peak["samples"] += 1
            self._over.wait(self._interval)


def measured_alone(work: Callable[[], Any]) -> tuple[Any, float]:
    """Do a piece of work in a forked process.

    Parameters
    ----------
    work : callable
        What it returns must be picklable.

    Returns
    -------
    result : object
        What `work` returned.
    peak : float
        By how many MB the resident memory of the process rose above what it began with, at most.

    Raises
    ------
    RuntimeError
        If the work failed.
    """
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def body() -> None:
        _give_back()
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak so far
        result = work()
        send.send((result, (_status("VmHWM") - before) / MB))

    process = context.Process(target=body)
    process.start()
    send.close()
    try:
        result, peak = receive.recv()
    except EOFError:
        raise RuntimeError("the work failed in its process; its message is above") from None
    finally:
        process.join()
    return result, max(peak, 0.0)


def _give_back() -> None:
    """Give memory that is free already back to the system: taking it again is then seen."""
    import ctypes
    import gc

    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only GNU's C library has it
    if trim is not None:
        trim(0)


def _processes() -> list[tuple[int, int]]:
    """Ids and parents' ids of all processes, a parent before those it started."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:  # it has ended
                continue
            found.append((int(name), int(stat.rpartition(")")[2].split()[1])))
    return sorted(found)


def _pss(process: int) -> tuple[int, int] | None:
    """PSS, and PSS without pages of files, in bytes; None if the process has ended."""
    try:
        text = Path("/proc", str(process), "smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return None
    sizes = {name: int(kb) * 1024 for name, kb in re.findall(r"^(\w+):\s+(\d+) kB", text, re.M)}
    return sizes.get("Pss", 0), sizes.get("Pss", 0) - sizes.get("Pss_File", 0)


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    match = re.search(rf"^{name}:\s+(\d+) kB", text, re.M)
    assert match is not None, name
    return int(match[1]) * 1024
