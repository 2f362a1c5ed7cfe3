"""What a job cost: processor time, memory and bytes, as the system counts them.

exax forks every job from one process, the runner, and the system adds up there what its ended descendants
used. The memory of a job's processes is looked at while they run.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from shortloop.engines.units import PROGRESS
from shortloop.jobs.exax.listener import server_process
from shortloop.jobs.project import configuration

__all__ = ["TICKS", "Meter", "runner"]

TICKS = os.sysconf("SC_CLK_TCK")
FIRST_LOOK, LOOK_EVERY = 0.1, 0.25  # s
SHARE, LONG, SHARE_OF_LONG = 0.01, 5.0, 0.002  # of one core, for looking; less after some seconds
COUNTED = {  # in /proc/PID/io: by calls, and from and to the disk, whether by calls or by memory maps
    "rchar": "read_bytes",
    "wchar": "written_bytes",
    "read_bytes": "disk_read_bytes",
    "write_bytes": "disk_written_bytes",
}


class _Stat(NamedTuple):
    parent: int
    group: int
    children_ticks: int
    started: int


class Meter:
    """Measures one job at a time, from outside."""

    def __init__(self) -> None:
        self._runner = 0
        self._started = -1
        self._cores = 1
        self._peak = 0
        self._folder = ""
        self._strangers: set[int] = set()
        self._processes: dict[int, bool] = {}

    @contextmanager
    def measure(self) -> Iterator[dict[str, float]]:
        """Measure the job that the block waits for.

        Yields
        ------
        dict
            Filled at the end with what could be measured: ``cpu_seconds`` (to 10 ms, with all its processes);
            ``utilisation``, its processor time over the time that it took, of the cores that it may use, if
            it was long enough; ``peak_bytes``, the most memory that its processes were seen to have in use,
            what they share counted once; ``read_bytes`` and ``written_bytes`` by calls, ``disk_read_bytes``
            and ``disk_written_bytes`` by calls and memory maps, but not from and to memory alone.
        """
        cost: dict[str, float] = {}
        self._peak, self._folder, self._processes = 0, "", {}
        before = self._counts()
        if not before and self._find_runner():
            before = self._counts()
        started = time.monotonic()
        stop = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(stop,), daemon=True)
        watcher.start()
        try:
            yield cost
        finally:
            stop.set()
            watcher.join()
        seconds = time.monotonic() - started
        after = self._counts()
        if before and after:
            used = {name: after[name] - before[name] for name in after if name in before}
            cost["cpu_seconds"] = round(used.pop("ticks") / TICKS, 2)
            if seconds >= 20 / TICKS:
                cost["utilisation"] = round(cost["cpu_seconds"] / (seconds * self._cores), 3)
            if self._peak:
                cost["peak_bytes"] = self._peak
            cost |= used

    def fraction(self) -> float | None:
        """Share of the running job's units that is done; see `shortloop.engines.units.Units`.

        Returns
        -------
        float or None
            From 0 to 1; None if the job does not say.
        """
        try:
            return float(Path(self._folder, PROGRESS).read_text(encoding="ascii")) if self._folder else None
        except (OSError, ValueError):
            return None

    def _counts(self) -> dict[str, int]:
        """What the runner's ended descendants used; empty if it has ended itself."""
        stat = _stat(self._runner)
        if stat is None or stat.started != self._started:
            return {}
        counts = {"ticks": stat.children_ticks}
        with contextlib.suppress(OSError, ValueError):
            counted = _fields(f"/proc/{self._runner}/io")
            counts |= {name: counted[theirs] for theirs, name in COUNTED.items() if theirs in counted}
        return counts

    def _find_runner(self) -> bool:
        found = runner()
        if found is None:
            return False
        self._runner, self._started = found
        settings = configuration()
        with contextlib.suppress(OSError, ValueError):
            slices = Path(settings.workdirs[settings.target_workdir], ".slices").read_text()
            self._cores = min(len(os.sched_getaffinity(self._runner)), int(slices))
        return True

    def _watch(self, stop: threading.Event) -> None:
        pause = FIRST_LOOK
        look = 1
        long = time.monotonic() + LONG
        while not stop.wait(pause):
            before = time.thread_time()
            with contextlib.suppress(OSError, ValueError):
                self._look()
            look += 1
            share = SHARE if time.monotonic() < long else SHARE_OF_LONG
            pause = max(min(look * FIRST_LOOK, LOOK_EVERY), (time.thread_time() - before) / share)

    def _look(self) -> None:
        """Find the job's processes, its folder, and how much memory it has in use."""
        present = _processes()
        # Most processes are known from the last look, and need none again.
        self._strangers &= present
        for process in sorted(present - self._strangers - self._processes.keys()):
            stat = _stat(process)
            if stat is None:
                continue
            of_runner = stat.parent == self._runner and stat.group == process
            if of_runner or stat.parent in self._processes:
                self._processes[process] = of_runner
            elif stat.parent != self._runner:
                self._strangers.add(process)
        total, alone = 0, 0
        for process, of_runner in self._processes.items():
            with contextlib.suppress(OSError, KeyError):
                if of_runner:
                    self._folder = os.readlink(f"/proc/{process}/cwd")
                now = _fields(f"/proc/{process}/smaps_rollup")
                proportional = now["Pss"] + now.get("SwapPss", 0)
                total += proportional
                # What it had more of, for itself, at some time between two looks.
                most = _fields(f"/proc/{process}/status")["VmHWM"]
                alone = max(alone, proportional + most - now["Rss"])
        self._peak = max(self._peak, 1024 * total, 1024 * alone)


def runner() -> tuple[int, int] | None:
    """The process that runs `accelerator/runner.py`, started by the server that listens here.

    Returns
    -------
    process, started : int
        Its id, and when it was started, in ticks since the machine was. None if there is none.
    """
    with contextlib.suppress(OSError, ValueError):
        server = server_process()
        for process in _processes():
            stat = _stat(process)
            if stat is None or stat.parent != server:
                continue
            if b"accelerator/runner.py" in Path(f"/proc/{process}/cmdline").read_bytes():
                return process, stat.started
    return None


def _processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdecimal()}


def _stat(process: int) -> _Stat | None:
    """From /proc/PID/stat, after the name, which may have blanks and brackets."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return _Stat(int(fields[1]), int(fields[2]), int(fields[13]) + int(fields[14]), int(fields[19]))


def _fields(file: str) -> dict[str, int]:
    """Lines such as ``VmHWM:  1234 kB``, the unit left out."""
    with open(file, "rb") as stream:
        lines = stream.read().decode("ascii", "replace").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {
        name: int(words[0]) for name, _, value in pairs if (words := value.split()) and words[0].isdecimal()
    }
