"""Cost of jobs: processor time, bytes and memory.

Made for exax 2025.11.11. Upstream: `post.json` could hold both.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.exax.listener import server_process
from shortloop.exax.patches import patch
from shortloop.stages.needs import Needs
from shortloop.stages.records import RECORD, Work
from shortloop.store.setup import json_object
from shortloop.units.process_ends import proc_fields, process_of, processes
from shortloop.units.queue import PROGRESS

COSTS = ".cost"  # file in the folder of a job that has ended: what its processes used
TICKS = os.sysconf("SC_CLK_TCK")
FIRST_LOOK, LOOK_EVERY, IDLE = 0.1, 0.25, 1.0  # s
SHARE, LONG, SHARE_OF_LONG = 0.01, 5.0, 0.002  # of one core, for looking; less after some seconds
COUNTED = {  # in /proc/PID/io: by calls, and from and to the disk, whether by calls or by memory maps
    "rchar": "read_bytes",
    "wchar": "written_bytes",
    "read_bytes": "disk_read_bytes",
    "write_bytes": "disk_written_bytes",
}


WORK: Work = {}  # of the job that this process computes


def note_costs() -> None:
    """Have jobs of exax write at their end what their processes used."""
    from accelerator import launch

    @patch(launch, "execute_process")
    def execute_process(original: Any, workdir: str, job: str, *arguments: Any, **more: Any) -> Any:
        result = original(workdir, job, *arguments, **more)
        with contextlib.suppress(OSError, ValueError):
            counted = proc_fields("/proc/self/io")  # with the children that have ended
            costs = {name: counted[theirs] for theirs, name in COUNTED.items() if theirs in counted}
            said = json.dumps({"cpu_seconds": cpu_seconds(), **costs, **({"work": WORK} if WORK else {})})
            Path(workdir, job, COSTS).write_text(said, encoding="ascii")
        return result


class Meter:
    """Measures the jobs that are running, several at a time."""

    def __init__(self) -> None:
        self._runner = 0
        self._running = 0
        self._lock = threading.Lock()
        self._begun = threading.Event()
        self._watcher: threading.Thread | None = None
        self._peaks: dict[str, int] = {}  # bytes, by the folder of the job
        self._unrelated: set[int] = set()
        self._processes: dict[int, int] = {}  # of jobs: the first process of each

    @contextmanager
    def measure(self) -> Iterator[None]:
        with self._lock:
            self._running += 1
            self._begun.set()
            if self._watcher is None:  # it goes on from job to job: some take less time than its start
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def cost(self, folder: Path, seconds: float, cores: int) -> dict[str, float]:
        """Return the cost of a job that has ended, as far as it could be measured, with `COUNTED` bytes."""
        cost: dict[str, float] = {}
        with contextlib.suppress(OSError, ValueError):
            cost = json.loads((folder / COSTS).read_text(encoding="ascii"))
            (folder / COSTS).unlink()
        if "cpu_seconds" in cost:
            engine: Any = json_object(folder / RECORD).get("engine") or {}
            if "cpu_seconds" in engine:  # of workers, whose time no look at the job's own processes shows
                cores = max(engine["workers"], 1)
            cost["cpu_seconds"] = cpu = round(cost["cpu_seconds"] + engine.get("cpu_seconds", 0), 2)
            if seconds >= 20 / TICKS:  # it was long enough
                cost["utilisation"] = round(cpu / (seconds * cores), 3)
        if peak := self._peaks.pop(str(folder), 0):
            cost["peak_bytes"] = peak  # shared memory counted once
        return cost

    def _watch(self) -> None:
        pause, look, since, long, due = FIRST_LOOK, 1, time.monotonic(), 0.0, 0.0
        while True:
            if self._begun.wait(pause):
                self._begun.clear()
                look, long = 1, time.monotonic() + LONG
                pause = max(FIRST_LOOK, due - time.monotonic())
                continue
            with self._lock:
                since = time.monotonic() if self._running else since
                if time.monotonic() > since + IDLE:
                    self._watcher = None
                    return
            before = time.thread_time()
            with contextlib.suppress(OSError, ValueError):
                self._look()
            look += 1
            spent = time.thread_time() - before
            due = time.monotonic() + spent / SHARE
            share = SHARE if time.monotonic() < long else SHARE_OF_LONG
            pause = max(min(look * FIRST_LOOK, LOOK_EVERY), spent / share)

    def _look(self) -> None:
        present = processes()
        if self._runner not in present:
            if (found := runner()) is None:
                return
            self._runner = found[0]
        self._unrelated &= present  # most processes are known from the last look, and need none again
        self._processes = {each: first for each, first in self._processes.items() if each in present}
        for process in sorted(present - self._unrelated - self._processes.keys()):
            stat = process_of(process)
            if stat.parent == self._runner and stat.group == process:
                self._processes[process] = process
            elif stat.parent in self._processes:
                self._processes[process] = self._processes[stat.parent]
            elif stat.state and stat.parent != self._runner:  # else it has ended, or is a spare
                self._unrelated.add(process)
        totals: dict[int, int] = {}
        for process, first in [*self._processes.items()]:
            with contextlib.suppress(OSError, KeyError):
                now = proc_fields(f"/proc/{process}/smaps_rollup")
                proportional = now["Pss"] + now.get("SwapPss", 0)
                totals[first] = totals.get(first, 0) + proportional
                # What it had more of, for itself, at some time between two looks.
                self._keep(first, proportional + proc_fields(f"/proc/{process}/status")["VmHWM"] - now["Rss"])
        for first, total in totals.items():
            self._keep(first, total)

    def _keep(self, first: int, kilobytes: int) -> None:
        with contextlib.suppress(OSError):  # it has ended
            folder = os.readlink(f"/proc/{first}/cwd")
            self._peaks[folder] = max(self._peaks.get(folder, 0), 1024 * kilobytes)


@contextmanager
def limited(what: str, folder: Callable[[], Path | None], needs: Needs) -> Iterator[threading.Event]:
    """End the job in a folder, for which the block waits, if it runs longer than its stage allows."""
    is_over, has_ended = threading.Event(), threading.Event()

    def end(timeout: float) -> None:
        left = timeout
        while not has_ended.wait(left):
            process, seconds = _first_process(folder())  # none while the job waits to begin
            if process and seconds >= timeout:
                is_over.set()
                print(f"{what} has taken {needs.limit}, the timeout of its stage, and is ended", flush=True)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process, signal.SIGKILL)
                seconds = 0.0  # of another one, if this one was cut off as well
            left = timeout - seconds

    if needs.timeout is not None:
        threading.Thread(target=end, args=[needs.timeout], daemon=True).start()
    try:
        yield is_over
    finally:
        has_ended.set()


def _first_process(folder: Path | None) -> tuple[int, float]:
    """Return the first process of the job in a folder, and its age in seconds; zeros if there is none."""
    if folder is not None and (found := runner()) is not None:
        for process in processes():
            stat = process_of(process)
            with contextlib.suppress(OSError):
                is_job = (stat.parent, stat.group) == (found[0], process)
                if is_job and os.readlink(f"/proc/{process}/cwd") == str(folder.resolve()):
                    return process, time.clock_gettime(time.CLOCK_BOOTTIME) - stat.started / TICKS
    return 0, 0.0


class JobProgress(NamedTuple):
    """How far a job is: the share of its units that is done, units being computed, and units left."""

    share: float
    busy: int
    left: int


def progress_of(folder: Path) -> JobProgress | None:
    """Return the progress of a running job; None while it has handed out no units."""
    try:
        share, busy, left = (folder / PROGRESS).read_text(encoding="ascii").split()
        return JobProgress(float(share), int(busy), int(left))
    except (OSError, ValueError):
        return None


def runner() -> tuple[int, int] | None:
    """Find the process that loads methods and forks jobs, and when it started, in ticks."""
    with contextlib.suppress(OSError, ValueError):
        server = server_process()
        for process in processes():
            stat, command = process_of(process), Path(f"/proc/{process}/cmdline")
            if stat.parent == server and b"accelerator/runner.py" in command.read_bytes():
                return process, stat.started
    return None


def cpu_seconds() -> float:
    """Return the processor time of this process and its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
