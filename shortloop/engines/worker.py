"""What a worker of an engine does with a batch: it has a process of the job compute it.

Such processes are kept for the next batch, as they have the job's input open. In an engine whose workers are
threads, each has its own.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import NamedTuple

from shortloop.engines.messages import STALE, Reply, Work
from shortloop.jobs.keys.own_code import ROOT
from shortloop.worker.threads import VARIABLES

__all__ = ["compute_batch"]

JOBS = 2  # whose processes are kept at a time
IDLE = 20.0  # s that a process is kept that has nothing to do
STARTS = 5  # of a forkserver, as code may be edited again and again
SAID = 2000  # characters of what it said


def compute_batch(work: Work, units: Sequence[int]) -> Reply:
    """Compute units of a job.

    Parameters
    ----------
    work : Work
        The job.
    units : sequence of int
        Numbers of the units.

    Returns
    -------
    Reply
    """
    connection = _processes.take(work)
    try:
        connection.send_bytes(pickle.dumps(list(units)))
        seconds = pickle.loads(connection.recv_bytes())
        data = connection.recv_bytes()
    except (EOFError, OSError):
        connection.close()
        return Reply(0.0, b"", "the process that computed it ended")
    _processes.give_back(work, connection)
    return Reply(seconds, data)


class _Processes:
    """Processes of jobs that wait for a batch, and the forkserver."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[str, list[_Idle]] = {}
        self._forkserver: _Forkserver | None = None
        self._is_watched = False

    def take(self, work: Work) -> Connection:
        with self._lock:
            idle = self._idle.get(work.key)
            if idle:
                return idle.pop().connection
        said = ""
        for _ in range(STARTS):
            with self._lock:
                if self._forkserver is None:
                    self._forkserver = _Forkserver(pickle.loads(work.data)["project"])
                forkserver = self._forkserver
            try:
                return forkserver.fork(work)
            except (OSError, EOFError):
                with self._lock:
                    if self._forkserver is forkserver:
                        self._forkserver = None
                said = forkserver.end()
        raise RuntimeError(f"no process could be started that computes units of a job\n{said}")

    def give_back(self, work: Work, connection: Connection) -> None:
        with self._lock:
            idle = self._idle.pop(work.key, [])
            self._idle[work.key] = [
                *idle,
                _Idle(connection, time.monotonic()),
            ]  # the one used last comes last
            while len(self._idle) > JOBS:
                for each in self._idle.pop(next(iter(self._idle))):
                    each.connection.close()
            if not self._is_watched:
                self._is_watched = True
                threading.Thread(target=self._end_idle, daemon=True).start()

    def _end_idle(self) -> None:
        """End processes that nobody has needed for long: their job has ended, and they hold its input."""
        while True:
            time.sleep(IDLE / 4)
            with self._lock:
                for key, idle in list(self._idle.items()):
                    for each in [each for each in idle if time.monotonic() - each.since > IDLE]:
                        idle.remove(each)
                        each.connection.close()
                    if not idle:
                        del self._idle[key]
                if not self._idle:
                    self._is_watched = False
                    return


class _Idle(NamedTuple):
    connection: Connection
    since: float


class _Forkserver:
    """A `shortloop.engines.forkserver`, which ends with this process."""

    def __init__(self, project: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="shortloop-")
        self._address = os.path.join(self._folder, "forks")
        self._log = Path(self._folder, "log")
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shortloop.engines.forkserver", self._address],
            cwd=project,
            env={**os.environ, **dict.fromkeys(VARIABLES, "1"), "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log.open("wb"),
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it is ready, or has ended
        atexit.register(self.end)

    def fork(self, work: Work) -> Connection:
        """A process of a job.

        Raises
        ------
        OSError, EOFError
            If another forkserver is needed.
        """
        connection = Client(self._address, "AF_UNIX")
        connection.send_bytes(work.data)
        if connection.recv_bytes() == STALE:
            connection.close()
            raise EOFError
        return connection

    def end(self) -> str:
        """End it; the last that it said."""
        atexit.unregister(self.end)
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            said = self._log.read_text(encoding="utf-8", errors="replace")
            shutil.rmtree(self._folder, ignore_errors=True)
            return said[-SAID:]
        return ""


_processes = _Processes()
