"""Capture the output of all jobs in one process.

exax forks another process for each job, which costs as much as a small job.

Made for exax 2025.11.11. Upstream: one process for each server could keep the output of all jobs; this
could go there as it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortloop.exax.forked import close_inherited
from shortloop.exax.patches import patch
from shortloop.units.process_ends import forked

MESSAGE, MOST_FILES = 2**16, 250  # bytes and open files of one message; the system takes no more than 253
PIPE = 65536  # bytes that are read at once
PROCESS = 16  # bytes by which a slice says first which process it is
TAIL = 640  # bytes of output that the server shows of a running job
TRY_AGAIN = 1000  # ms
NOT_SHOWN = b"\n*** Some output not printed ***\n"
TERMINAL = "BD_TERM_FD"  # of the environment: where output is shown


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
        self._poll = select.poll()
        self._poll.register(jobs, select.POLLIN)
        self._outputs: dict[int, _Output] = {}
        self._may_come = True

    def run(self) -> None:
        while self._may_come or self._outputs:
            ready = self._poll.poll(TRY_AGAIN if self._has_missed else None)
            if self._has_missed:
                self._has_missed = False
                self._show(NOT_SHOWN)
            for descriptor, _ in ready:
                if descriptor == self._jobs.fileno():
                    self._begin()
                elif descriptor in self._outputs:
                    self._read(descriptor)

    def _show(self, text: bytes) -> None:
        try:
            os.write(self._terminal, text)
        except OSError:
            self._has_missed = True

    def _begin(self) -> None:
        message, given, _, _ = socket.recv_fds(self._jobs, MESSAGE, MOST_FILES)
        if not message:
            self._may_come = False
            self._poll.unregister(self._jobs)
            return
        what = json.loads(message)
        count = len(what["names"])
        output = _Output(Path(what["folder"]), given[count:])
        for descriptor, name, process in zip(given, what["names"], what["processes"]):
            output.parts[descriptor] = _Part(name, process)
            self._outputs[descriptor] = output
            self._poll.register(descriptor, select.POLLIN)

    def _read(self, descriptor: int) -> None:
        output = self._outputs[descriptor]
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
        self._poll.unregister(descriptor)
        del self._outputs[descriptor]
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
                flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
                part.file = os.open(self._folder / part.name, flags, 0o666)
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
