"""Processes as the system describes them, and their ends: with their parent, or before their work."""

from __future__ import annotations

import functools
import multiprocessing
import os
import re
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from shortloop.base.errors import TransientError

PR_SET_PDEATHSIG = 1  # of prctl(2)
BOOT = Path("/proc/sys/kernel/random/boot_id")
CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)
MEMORY = "if memory ran out, which `dmesg` would say: use less of it, or fewer slices or workers"
CRASHED = "compiled code crashed: on slices, the log of the job has the line that called it"
EXIT = "have code raise an exception, and end no process"


class Process(NamedTuple):
    """A process as /proc/PID/stat describes it; zeros of one that has ended."""

    parent: int = 0
    group: int = 0
    state: str = ""
    ticks: int = 0
    threads: int = 0
    started: int = 0  # ticks since the machine started


def process_of(number: int) -> Process:
    """Read /proc/PID/stat after the name, which may have blanks and brackets."""
    try:
        with open(f"/proc/{number}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:  # it ended
        return Process()
    parent, group, user, system, threads, started = (int(fields[place]) for place in (1, 2, 11, 12, 17, 19))
    return Process(parent, group, fields[0].decode(), user + system, threads, started)


def processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdecimal()}


def proc_fields(file: str) -> dict[str, int]:
    """Lines such as ``VmHWM:  1234 kB``, the unit left out."""
    with open(file, encoding="ascii", errors="replace") as stream:
        pairs = [line.replace(":", " ").split()[:2] for line in stream]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def boot_id() -> str:
    """Name of the machine's present start, which no other has."""
    return BOOT.read_text(encoding="ascii")


def ends_with_this() -> Callable[[], None]:
    """For ``preexec_fn``: have the new process end when this one does."""
    return functools.partial(_follower(), os.getpid())


def forks_end_with_this() -> None:
    """From now on, have forks of this process, and theirs, end when their parent does, even if killed."""
    follow, parent = _follower(), [os.getpid()]

    def note_parent() -> None:
        parent[0] = os.getpid()

    os.register_at_fork(before=note_parent, after_in_child=lambda: follow(parent[0]))


def forked(work: Callable[[], None], quiet: tuple[type[BaseException], ...] = ()) -> int:
    """Fork a process that does some work and ends: with status 1 after an error, printed unless `quiet`."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        work()
        status = 0
    except quiet:
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _follower() -> Callable[[int], None]:
    import ctypes  # which a run that builds nothing has no need of

    prctl = ctypes.CDLL(None).prctl

    def follow(parent: int) -> None:
        # Not SIGKILL: exax's process that keeps what a job prints outlives it a moment, and ignores this.
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)

    return follow


class CurrentUnits:
    """The unit that each slice of a job computes, to be named if the slice ends; made before slices fork."""

    def __init__(self, what: str, name: Callable[[int], str], slices: int) -> None:
        self._what, self._name = f"{Path.cwd().name} ({what})", name
        self._units = multiprocessing.get_context("fork").RawArray("q", slices)

    def begin(self, slice_: int, unit: int) -> None:
        self._units[slice_] = unit + 1

    def end(self, slice_: int) -> None:
        self._units[slice_] = 0

    def lost(self, status: int, slice_: int | None = None) -> TransientError:
        """The error for the unit of a slice that ended, or for all current ones if the slice is not known."""
        found = [*self._units] if slice_ is None else [self._units[slice_]]
        names = ", ".join(self._name(each - 1) for each in found if each)
        return job_lost(self._what, how_ended(status), names or None)


def how_ended(status: int) -> str:
    """Describe how a process ended, given its status."""
    if status >= 0:
        return f"exit with status {status}"
    names = {each.value: f" ({each.name})" for each in signal.Signals}  # none for real-time programs
    return f"signal {-status}{names.get(-status, '')}"


def job_lost(job: str | None, found: str, unit: str | None = None) -> TransientError:
    """The error for a process that ended, of a job or of a unit of it."""
    problem = f"the process {'that computed a unit' if unit else 'of a job'} ended"
    hint = EXIT
    if signal.SIGKILL.name in found:
        hint = MEMORY
    elif any(each.name in found for each in CRASHES):
        hint = CRASHED
    if named := re.match(r"(\S+-\d+) \(", job or ""):
        hint += f". `shortloop logs {named[1]}` shows what it printed"
    return TransientError(problem, job=job, unit=unit, found=found, hint=hint)


def queued_seconds() -> float:
    """Seconds for which the first thread of this process waited for a core; 0 if the system does not say."""
    with suppress(OSError, IndexError), open("/proc/self/schedstat", "rb") as stream:
        return int(stream.read().split()[1]) / 1e9
    return 0.0
