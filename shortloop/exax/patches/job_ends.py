"""Detect the end of a job or slice at once, with its cause.

exax forks one more process for each job, which only waits for its end, and takes a job for ended only when
the process that keeps what the job prints has ended as well.

Made for exax 2025.11.11. Upstream: the runner could wait for the pipes of its jobs itself, and name the slice
and the signal that ended a job. The server could wait for output without polling.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from shortloop.exax.listener import BEGUN
from shortloop.exax.patches import patch
from shortloop.exax.patches.parallel_jobs import Spares
from shortloop.exax.unit_processes import UnitForks
from shortloop.units.process_ends import Computed, how_ended, job_lost

PIPE = 65536  # bytes that are read at once
LOOK_EVERY = 0.0005  # s; exax looks every 10 ms, for as long as a small job takes
ENDING = 5.0  # s that a process may take to end when nothing of it holds its pipe
SLICE_ENDED = re.compile(r"analysis-(\d+) terminated with exitcode (-?\d+)")  # in exax's words


def watch_job_ends(spares: Spares) -> None:
    """Have the process that forks jobs see their ends, and those of spares, while it waits for the server.

    It forks spares when there is nothing else to do.
    """
    runner: Any = sys.modules["__main__"]
    awaited: list[_RunningJob] = []
    forks = UnitForks()

    @patch(runner, "recvall")
    def receive(original: Any, sock: Any, size: int, fatal: bool = False) -> Any:
        while awaited or spares:
            speaks = _first_to_speak(sock, awaited, forks, spares)
            if speaks is None:
                break
            if isinstance(speaks, UnitForks):
                speaks.answer()
            elif isinstance(speaks, _RunningJob) and speaks.has_ended():
                awaited.remove(speaks)
        return original(sock, size, fatal)

    def wait_for_end(target: object, args: tuple[Any, Any], name: str) -> _RunningJob:
        awaited.append(_RunningJob(runner, *args))
        return awaited[-1]

    runner.SimplifiedProcess = wait_for_end


def leave_pipe_of_job() -> None:
    """Keep the pipe that shows a job's end out of the process that captures its output, which ends later."""
    from accelerator import iowrapper, launch

    @patch(iowrapper, "reader")
    def reader(original: Any, *arguments: Any) -> None:
        with contextlib.suppress(OSError):  # this process is of no job
            os.close(launch._prof_fd)
        original(*arguments)


def look_often_for_end() -> None:
    """Let the server go on as soon as it knows that a job's output is kept."""
    from accelerator import dispatch, statmsg

    def wait_for_output(process: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            with statmsg.status_stacks_lock:
                if process not in statmsg.status_all:
                    return
            time.sleep(LOOK_EVERY)

    dispatch.statmsg_endwait = wait_for_output


def name_lost_units() -> None:
    """Have a job name the units of a lost slice, and what ended it."""
    from accelerator import launch
    from accelerator.error import AcceleratorError

    @patch(launch, "fork_analysis")
    def fork_analysis(original: Any, *arguments: Any) -> Any:
        try:
            return original(*arguments)
        except AcceleratorError as error:
            now = getattr(arguments[3].get("prepare_res"), "now", None)
            if not isinstance(now, Computed):  # of a method that is made of no stage
                raise
            ended = SLICE_ENDED.match(str(error))
            raise (now.lost(int(ended[2]), int(ended[1])) if ended else now.lost(0)) from None


class _RunningJob:
    """A running job, in place of exax's process for its end, which is asked whether it is alive."""

    def __init__(self, runner: Any, cookie: int, job: tuple[int, int, str, str, str]) -> None:
        self._process, pipe, workdir, name, method = job
        self._folder, self._what = Path(workdir, name), f"{name} ({method})"
        self._runner = runner
        self._cookie = cookie
        self._said = bytearray()
        self.is_lost = False
        self.pipe = os.dup(pipe)  # exax closes the other one
        try:
            (self._folder / "method.tar.gz").write_bytes(runner.archives[method])
        except OSError:  # on a full disk; the job has failed then
            traceback.print_exc()
            self.is_lost = True

    def is_alive(self) -> bool:
        return False

    def has_ended(self) -> bool:
        """Read the result of the job; tell the server when it is complete."""
        part = b"" if self.is_lost else os.read(self.pipe, PIPE)
        self._said += part
        if part:
            return False
        os.close(self.pipe)
        try:
            status, result = json.loads(b"" if self.is_lost else self._said)
        except (ValueError, TypeError):
            unit = None
            with contextlib.suppress(OSError):
                unit = (self._folder / BEGUN).read_text(encoding="utf-8")
            error = job_lost(self._what, self._ended(), unit)
            status = {"launcher": f"{type(error).__module__}.{type(error).__name__}: {error}"}
            result = None
        self._runner.respond(self._cookie, (status, result))
        return True

    def _ended(self) -> str:
        """Say what ended the process, which is left to exax to reap."""
        deadline = time.monotonic() + ENDING
        with contextlib.suppress(OSError):
            while time.monotonic() < deadline:
                found = os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOWAIT | os.WNOHANG)
                if found is not None:
                    return how_ended(found.si_status if found.si_code == os.CLD_EXITED else -found.si_status)
                time.sleep(LOOK_EVERY)
        return "no result"


def _first_to_speak(
    sock: Any, awaited: list[_RunningJob], forks: UnitForks, spares: Spares
) -> _RunningJob | UnitForks | Spares | None:
    """Wait for the server, a job, or a request for a process; fork spares meanwhile. None: the server."""
    for job in awaited:
        if job.is_lost:
            return job
    poll = select.poll()
    waiting = spares.connections
    for descriptor in (sock.fileno(), forks.pipe, *waiting, *(job.pipe for job in awaited)):
        poll.register(descriptor, select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll(0 if spares.are_wanted else None)}
    if not ready:
        spares.fork()
        return spares
    if any(map(spares.ended, ready.intersection(waiting))):
        return spares
    return forks if forks.pipe in ready else next((job for job in awaited if job.pipe in ready), None)
