"""The end of a job is seen at once, by the process that has forked it.

exax forks one more process for each job, which does nothing but wait for its end, and it takes a job for
ended only when the process that keeps what the job prints has ended as well.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shortloop.jobs.exax.unit_processes import UnitForks

__all__ = ["leave_pipe_of_job", "look_often_for_end", "see_ends"]

PIPE = 65536  # bytes that are read at once
LOOK_EVERY = 0.0005  # s; exax looks every 10 ms, for as long as a small job takes


def see_ends() -> None:
    """Have this process, which forks jobs, see their ends itself while it waits for the server."""
    runner: Any = sys.modules["__main__"]
    if not hasattr(runner, "recvall"):  # another version of exax
        return
    awaited: list[_Awaited] = []
    forks = UnitForks()
    original: Callable[..., bytes | None] = runner.recvall

    @functools.wraps(original)
    def receive(sock: Any, size: int, fatal: bool = False) -> bytes | None:
        while awaited and (speaks := _first_to_speak(sock, awaited, forks)) is not None:
            if isinstance(speaks, UnitForks):
                speaks.fork()
            elif speaks.has_ended():
                awaited.remove(speaks)
        return original(sock, size, fatal)

    def wait_for_end(target: object, args: tuple[Any, Any], name: str) -> _Awaited:
        awaited.append(_Awaited(runner, *args))
        return awaited[-1]

    runner.recvall, runner.SimplifiedProcess = receive, wait_for_end


def leave_pipe_of_job() -> None:
    """From now on, the process that keeps what a job prints does not hold the pipe by whose end the job's end
    is known. It goes on until all is kept, and the server waits for that elsewhere."""
    from accelerator import iowrapper, launch

    original = iowrapper.reader

    @functools.wraps(original)
    def reader(*arguments: Any) -> None:
        with contextlib.suppress(OSError):  # this process is of no job
            os.close(launch._prof_fd)
        original(*arguments)

    iowrapper.reader = reader


def look_often_for_end() -> None:
    """Have the server go on as soon as it knows that a job's output is kept."""
    from accelerator import dispatch, statmsg

    def wait_for_output(process: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            with statmsg.status_stacks_lock:
                if process not in statmsg.status_all:
                    return
            time.sleep(LOOK_EVERY)

    dispatch.statmsg_endwait = wait_for_output


class _Awaited:
    """A job that runs, in place of exax's process, which is asked whether it is alive, to be reaped."""

    def __init__(self, runner: Any, cookie: int, job: tuple[int, int, str, str, str]) -> None:
        _, pipe, workdir, name, method = job
        self._runner = runner
        self._cookie = cookie
        self._said = bytearray()
        self.is_lost = False
        self.pipe = os.dup(pipe)  # exax closes the other one
        try:
            Path(workdir, name, "method.tar.gz").write_bytes(runner.archives[method])
        except OSError:  # on a full disk; the job has failed then
            traceback.print_exc()
            self.is_lost = True

    def is_alive(self) -> bool:
        return False

    def has_ended(self) -> bool:
        """Read what the job says, which comes at its end. If that was all, tell the server."""
        part = b"" if self.is_lost else os.read(self.pipe, PIPE)
        self._said += part
        if part:
            return False
        os.close(self.pipe)
        status: Any = {"launcher": "[invalid data] (probably killed)"}  # in exax's words
        result = None
        with contextlib.suppress(ValueError, TypeError):
            status, result = json.loads(b"" if self.is_lost else self._said)
        self._runner.respond(self._cookie, (status, result))
        return True


def _first_to_speak(sock: Any, awaited: list[_Awaited], forks: UnitForks) -> _Awaited | UnitForks | None:
    """Wait for the server, a job, or one that asks for a process; None if it is the server."""
    for job in awaited:
        if job.is_lost:
            return job
    poll = select.poll()
    for descriptor in (sock.fileno(), forks.pipe, *(job.pipe for job in awaited)):
        poll.register(descriptor, select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll()}
    return forks if forks.pipe in ready else next((job for job in awaited if job.pipe in ready), None)
