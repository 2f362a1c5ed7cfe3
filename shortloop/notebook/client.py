"""The notebook's side: start, query and interrupt the building process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from shortloop.exax.client import user
from shortloop.notebook.messages import REPLY, Reply, Request, packed

__all__ = ["Driver"]

OF_THE_KERNEL = ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "MPLBACKEND", "PYTHON_COLORS")
"""Variables that a kernel sets for itself, and that would change what jobs print and draw."""
MODULE = "shortloop.notebook.driver"


class Driver:
    """Has jobs built by a process of its own, which is started when it is first asked.

    project: folder of the project.
    """

    def __init__(self, project: Path) -> None:
        self._project = project
        self._process: subprocess.Popen[bytes] | None = None
        self._one_at_a_time = threading.Lock()

    def ask(self, request: Request) -> Reply:
        """Have a job built, and print what is said of it meanwhile."""
        with self._one_at_a_time:
            reply = None
            try:
                reply, interrupted = self._asked(self._running(), packed(request))
            finally:
                if reply is None:  # nobody knows what it would say next
                    self._leave()
        if interrupted or reply.interrupted:
            raise KeyboardInterrupt("finished jobs and units are kept; run the cell again to go on")
        return reply

    def _asked(self, process: subprocess.Popen[bytes], line: bytes) -> tuple[Reply, bool]:
        """The reply, and whether the user has interrupted it."""
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it says at its end why
            process.stdin.write(line)
            process.stdin.flush()
        said, interrupted = b"", False
        while True:
            try:
                said = _shown(said)
                if said.startswith(REPLY) and said.endswith(b"\n"):
                    return Reply(**json.loads(said[1:])), interrupted
                part = os.read(process.stdout.fileno(), 65536)
            except KeyboardInterrupt:
                interrupted = True
                process.send_signal(signal.SIGINT)
                continue
            if not part:
                self._leave()
                status = process.wait()
                return Reply(wrong=f"the process that has jobs built ended with {status}"), interrupted
            said += part

    def _leave(self) -> None:
        """Without a word from here, the process ends, with its job if one runs."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()

    def close(self) -> None:
        """End the process, and the server if it was started for it."""
        process = self._process
        self._leave()
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


def _shown(said: bytes) -> bytes:
    """Print all before the reply; give the rest."""
    text, mark, rest = said.partition(REPLY)
    end = len(text) if mark else text.rfind(b"\n") + 1
    if end:
        print(text[:end].decode(errors="replace"), end="", flush=True)
    return text[end:] + mark + rest
