"""Ends of processes: with their parent, or before their work, with cause and remedy."""

from __future__ import annotations

import ctypes
import functools
import multiprocessing
import os
import re
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

from shortloop.base.errors import TransientError

PR_SET_PDEATHSIG = 1  # of prctl(2)

CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)
MEMORY = "if memory ran out, which `dmesg` would say: use less of it, or fewer slices or workers"
CRASHED = "compiled code crashed: on slices, the log of the job has the line that called it"
EXIT = "have code raise an exception, and end no process"
_libc = ctypes.CDLL(None)  # loaded before forks


def ends_with_this() -> Callable[[], None]:
    """For ``preexec_fn``: have the new process end when this one does."""
    return functools.partial(_follow, os.getpid())


def forks_end_with_this() -> None:
    """From now on, have forks of this process, and their forks, end when their parent does.

    A server that is killed thus ends the process that loads methods, and so a job and its slices, which would
    otherwise go on and write for nobody.
    """
    parent = [os.getpid()]

    def note_parent() -> None:
        parent[0] = os.getpid()

    os.register_at_fork(before=note_parent, after_in_child=lambda: _follow(parent[0]))


def forked(work: Callable[[], None], quiet: tuple[type[Exception], ...] = ()) -> int:
    """Fork a process that does some work, and ends without returning to the code of its parent.

    Errors are printed, except those in `quiet`; its exit status is 1 after any.
    """
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


def _follow(parent: int) -> None:
    # Not SIGKILL: exax's process that keeps what a job prints outlives it a moment, and ignores this.
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)


class Computed:
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
        return unit_lost(names, how_ended(status), self._what)


def how_ended(status: int) -> str:
    """Describe how a process ended, given its status."""
    if status >= 0:
        return f"exit with status {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:  # one for real-time programs
        return f"signal {-status}"


def unit_lost(unit: str, found: str, job: str | None = None) -> TransientError:
    return job_lost(job, found, unit, "the process that computed a unit ended")


def job_lost(
    job: str | None, found: str, unit: str | None = None, problem: str = "the process of a job ended"
) -> TransientError:
    hint = EXIT
    if signal.SIGKILL.name in found:
        hint = MEMORY
    elif any(each.name in found for each in CRASHES):
        hint = CRASHED
    if named := re.match(r"(\S+-\d+) \(", job or ""):
        hint += f". `shortloop logs {named[1]}` shows what it printed"
    return TransientError(problem, job=job, unit=unit, found=found, hint=hint)
