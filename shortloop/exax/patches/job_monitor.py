"""Capture the output of all jobs in one process, and detect the end of a job or slice at once.

exax forks two more processes for each job, which cost as much as a small job: one keeps what the job prints,
the other only waits for its end. And it takes a job for ended only when the first has ended as well. Made for
exax 2025.11.11. Upstream: one process for each server could keep the output of all jobs, and the runner could
wait for the pipes of its jobs itself, and name the slice and the signal that ended a job. The server need not
poll.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import selectors
import signal
import socket
import struct
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortloop.exax.forked import close_inherited
from shortloop.exax.listener import BEGUN
from shortloop.exax.patches import patch, preload
from shortloop.exax.patches.parallel_jobs import Spares
from shortloop.exax.unit_processes import UnitForks
from shortloop.units.process_ends import CurrentUnits, forked, how_ended, job_lost

MESSAGE, MOST_FILES = 2**16, 250  # bytes and open files of one message; the system takes no more than 253
PIPE = 65536  # bytes that are read at once
PROCESS = 16  # bytes by which a slice says first which process it is
TAIL = 640  # bytes of output that the server shows of a running job
TRY_AGAIN = 1.0  # s
NOT_SHOWN = b"\n*** Some output not printed ***\n"
TERMINAL = "BD_TERM_FD"  # of the environment: where output is shown
QUIET = 0.03  # s in which nobody asks for anything, after which modules of later jobs are imported
LOOK_EVERY = 0.0005  # s; exax looks every 10 ms, for as long as a small job takes
ENDING = 5.0  # s that a process may take to end when nothing of it holds its pipe
SLICE_ENDED = re.compile(r"analysis-(\d+) terminated with exitcode (-?\d+)")  # in exax's words


def watch_job_ends(spares: Spares) -> None:
    """Have the process that forks jobs and spares see their ends while it waits for the server."""
    runner: Any = sys.modules["__main__"]
    awaited: list[_RunningJob] = []
    forks = UnitForks()

    @patch(runner, "recvall")
    def receive(original: Any, sock: Any, size: int, fatal: bool = False) -> Any:
        while (awaited or spares) and _served_another(sock, awaited, forks, spares):
            pass
        return original(sock, size, fatal)

    def wait_for_end(target: object, args: tuple[Any, Any], name: str) -> _RunningJob:
        awaited.append(_RunningJob(runner, *args))
        return awaited[-1]

    runner.SimplifiedProcess = wait_for_end


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
            if not isinstance(now, CurrentUnits):  # of a method that is made of no stage
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
        self.pipe = os.dup(pipe)  # exax closes the other one
        try:
            (self._folder / "method.tar.gz").write_bytes(runner.archives[method])
        except OSError:  # on a full disk; the job has failed then
            traceback.print_exc()
            with open(os.devnull, "rb") as nothing:
                os.dup2(nothing.fileno(), self.pipe)

    def is_alive(self) -> bool:
        return False

    def has_ended(self) -> bool:
        """Read the result of the job; tell the server when it is complete."""
        part = os.read(self.pipe, PIPE)
        self._said += part
        if part:
            return False
        os.close(self.pipe)
        try:
            status, result = json.loads(self._said)
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


def _served_another(sock: Any, awaited: list[_RunningJob], forks: UnitForks, spares: Spares) -> bool:
    """Serve a job, or a request for a process, or fork a spare meanwhile; False if the server speaks."""
    poll = select.poll()
    waiting = spares.connections
    for descriptor in (sock.fileno(), forks.pipe, *waiting, *(job.pipe for job in awaited)):
        poll.register(descriptor, select.POLLIN)
    pause: float | None = 0.0 if spares.wanted else None
    if preload.later and len(awaited) == 1 and not spares.wanted:  # the run has not much to do
        pause = max(1000 * (preload.quiet_from - time.monotonic()), 0.0)
    ready = {descriptor for descriptor, _ in poll.poll(pause)}
    if ready:
        preload.quiet_from = time.monotonic() + QUIET
    job = next((job for job in awaited if job.pipe in ready), None)
    if not ready:
        (spares.fork if spares.wanted else preload.import_next)()
    elif any(map(spares.ended, ready.intersection(waiting))):
        pass
    elif forks.pipe in ready:
        forks.answer()
    elif job is None:
        return False
    elif job.has_ended():
        awaited.remove(job)
    return True


def keep_output_in_one_process() -> None:
    """Have a process, which ends with this one and its jobs, capture the output of jobs."""
    from accelerator import iowrapper

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.stdout.flush()
    sys.stderr.flush()
    forked(lambda: _keep_all(theirs))
    theirs.close()

    @patch(iowrapper, "run_reader")
    def run_reader(
        original: Any, fd2pid: Any, names: list[str], masters: list[int], slaves: Any, q: Any = None
    ) -> None:
        given = [*masters, *([] if q is None else [q.w])]
        processes = [fd2pid.get(each) for each in masters]
        what = {"folder": os.path.abspath("OUTPUT"), "names": names, "processes": processes}
        with contextlib.suppress(OSError):  # nobody listens any more
            if len(given) <= MOST_FILES:
                socket.send_fds(ours, [json.dumps(what).encode()], given)
                os.close(int(os.environ.pop(TERMINAL)))
                return
        original(fd2pid, names, masters, slaves, q=q)


def _keep_all(jobs: socket.socket) -> None:
    from accelerator.compat import setproctitle

    for number in (signal.SIGTERM, signal.SIGINT):  # it ends when nobody is left who could print
        signal.signal(number, signal.SIG_IGN)
    setproctitle("output of jobs")
    terminal = int(os.environ[TERMINAL])
    close_inherited({0, 1, 2, jobs.fileno(), terminal, int(os.environ["BD_STATUS_FD"])})
    _Keeper(jobs, terminal).run()


class _Keeper:
    """Reads the output of jobs until none is left and none can come."""

    def __init__(self, jobs: socket.socket, terminal: int) -> None:
        self._jobs = jobs
        self._terminal = terminal
        os.set_blocking(terminal, False)  # nobody waits for one that has been stopped
        self._has_missed = False
        self._open = selectors.PollSelector()  # of files, each with the output that it is part of
        self._open.register(jobs, selectors.EVENT_READ)

    def run(self) -> None:
        while self._open.get_map():
            ready = self._open.select(TRY_AGAIN if self._has_missed else None)
            if self._has_missed:
                self._has_missed = False
                self._show(NOT_SHOWN)
            for file, _ in ready:
                if file.data is None:
                    self._begin()
                else:
                    self._read(file.fd, file.data)

    def _show(self, text: bytes) -> None:
        try:
            os.write(self._terminal, text)
        except OSError:
            self._has_missed = True

    def _begin(self) -> None:
        message, given, _, _ = socket.recv_fds(self._jobs, MESSAGE, MOST_FILES)
        if not message:
            self._open.unregister(self._jobs)
            return
        what = json.loads(message)
        output = _Output(Path(what["folder"]), given[len(what["names"]) :])
        for descriptor, name, process in zip(given, what["names"], what["processes"]):
            output.parts[descriptor] = _Part(name, process)
            self._open.register(descriptor, selectors.EVENT_READ, output)

    def _read(self, descriptor: int, output: _Output) -> None:
        try:
            text = os.read(descriptor, PIPE)
        except OSError:  # so ends a terminal whose other side is closed
            text = b""
        if text:
            try:
                self._show(output.take(descriptor, text))
                return
            except (OSError, ValueError):  # the disk is full: who prints more will know
                traceback.print_exc()
        self._open.unregister(descriptor)
        output.end(descriptor)


@dataclass
class _Part:
    name: str
    process: int | None  # a slice says it first
    file: int | None = None
    tail: bytes = b""


class _Output:
    """The output of one job: each part in a file, and its last bytes for the server."""

    def __init__(self, folder: Path, queue: list[int]) -> None:
        self._folder = folder
        self._queue = queue
        self.parts: dict[int, _Part] = {}  # by open file
        self._is_empty = True

    def take(self, descriptor: int, text: bytes) -> bytes:
        """Keep output; return the bytes to show."""
        from accelerator import statmsg

        part = self.parts[descriptor]
        if part.process is None:
            part.process, text = int(text[:PROCESS], 16), text[PROCESS:]
        if text:
            if part.file is None:
                part.file = os.open(self._folder / part.name, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o666)
            os.write(part.file, text)
            self._is_empty = False
            part.tail = (part.tail + text)[-TAIL:]
            statmsg._output(part.process, part.tail.decode("utf-8", "replace"))
        return text

    def end(self, descriptor: int) -> None:
        from accelerator import statmsg

        os.close(descriptor)
        for queue in self._queue:  # whoever waits for slices looks whether one has died
            with contextlib.suppress(OSError):
                os.write(queue, struct.pack("<HII", 6, os.getpid(), 2) + b"N.")
        part = self.parts.pop(descriptor)
        if part.file is not None:
            os.close(part.file)
        if any(part.process == each.process for each in self.parts.values()):  # it goes on to synthesis
            if part.tail:
                statmsg._clear_output(part.process)
        elif part.process is not None:
            statmsg._end(pid=part.process)
        if not self.parts:
            for queue in self._queue:
                os.close(queue)
            if self._is_empty:
                with contextlib.suppress(OSError):
                    self._folder.rmdir()
