"""Notebook side of the building process: messages, and start, query and interruption of the process."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from shortloop.exax.client import user

REPLY = b"\x1e"  # before a reply; all other output of the process is for the user
# Variables set by a kernel that would change what jobs print and draw:
OF_THE_KERNEL = ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "MPLBACKEND", "PYTHON_COLORS")
MODULE = "shortloop.notebook.driver"


@dataclass(frozen=True)
class GivenJob:
    job: str


@dataclass(frozen=True)
class GivenFile:
    path: Path


@dataclass(frozen=True)
class Request:
    """Request for a job, sent as one line: base64 of its pickle."""

    notebook: str  # name of the notebook
    cell: str  # distinguishes jobs of one stage and partition, whatever their inputs
    stage: str
    partition: str | None
    arguments: dict[str, object] = field(default_factory=dict)  # options, `GivenFile`, `GivenJob`, lists
    modules: dict[str, str] = field(default_factory=dict)  # text of each stage of the notebook, by its name


@dataclass(frozen=True)
class Reply:
    job: str = ""  # its id
    fresh: bool = False  # True if it was built now
    wrong: str = ""  # error message for the user
    failed: str = ""  # message of a failed job
    interrupted: bool = False  # by the user

    def line(self) -> bytes:
        return REPLY + json.dumps(vars(self)).encode() + b"\n"


class Driver:
    """Client of the process that builds jobs, which the first request starts."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, request: Request) -> Reply:
        """Request a job, and print the output meanwhile."""
        with self._lock:
            reply = None
            try:
                line = base64.b64encode(pickle.dumps(request)) + b"\n"
                reply, interrupted = self._exchange(self._running(), line)
            finally:
                if reply is None:  # the state of the process is unknown
                    self._disconnect()
        if interrupted or reply.interrupted:
            raise KeyboardInterrupt("finished jobs and units are kept; run the cell again to go on")
        return reply

    def _exchange(self, process: subprocess.Popen[bytes], line: bytes) -> tuple[Reply, bool]:
        """The reply, and True if the user interrupted."""
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # its output says why
            process.stdin.write(line)
            process.stdin.flush()
        received, interrupted = b"", False
        while True:
            try:
                received = _print_output(received)
                if received.startswith(REPLY) and received.endswith(b"\n"):
                    return Reply(**json.loads(received[1:])), interrupted
                part = os.read(process.stdout.fileno(), 65536)
            except KeyboardInterrupt:
                interrupted = True
                process.send_signal(signal.SIGINT)
                continue
            if not part:
                self._disconnect()
                status = process.wait()
                return Reply(wrong=f"the building process ended with status {status}"), interrupted
            received += part

    def _disconnect(self) -> None:
        """Close the input of the process, which ends it and a running job."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()

    def close(self) -> None:
        process = self._process
        self._disconnect()
        if process is not None:
            process.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            environment = {name: each for name, each in os.environ.items() if name not in OF_THE_KERNEL}
            environment["USER"] = user()  # exax signs its lists of jobs with it
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE],
                cwd=self._project,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a kernel is interrupted with all of its group
            )
        return self._process


def _print_output(received: bytes) -> bytes:
    """Print the output before the reply, and return the rest."""
    text, mark, rest = received.partition(REPLY)
    end = len(text) if mark else text.rfind(b"\n") + 1
    if end:
        print(text[:end].decode(errors="replace"), end="", flush=True)
    return text[end:] + mark + rest
