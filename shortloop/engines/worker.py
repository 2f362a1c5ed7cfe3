"""Have a process of the job compute a worker's batch.

Such processes are kept for the next batch, as they have the job's input open; for a moment, as nobody tells a
worker that a job has ended. In an engine whose workers are threads, each has its own.
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
from weakref import WeakKeyDictionary

from shortloop.engines.mirror import NotHere, Placed, placed
from shortloop.keys.own_code import ROOT
from shortloop.stages.threads import VARIABLES
from shortloop.units.facts import with_surroundings
from shortloop.units.messages import STALE, Reply, Work

__all__ = ["compute_batch"]

JOBS = 2  # whose processes are kept at a time
PROJECTS = 6  # whose forkservers are without a fork; where a project is not there, each method counts as one
KEPT = 30.0  # s that a process waits for a batch, and a forkserver for a job
STARTS = 5  # of a forkserver, as code may be edited again and again
SAID = 2000  # characters of what it said


def compute_batch(work: Work, units: Sequence[bytes]) -> Reply:
    """Compute units of a job."""
    try:
        connection = _processes.take(work)
    except NotHere as error:
        return Reply(0.0, b"", missing=error.missing)
    try:
        connection.send_bytes(pickle.dumps(list(units)))
        seconds, failed = pickle.loads(connection.recv_bytes())
        data = connection.recv_bytes()
    except (EOFError, OSError):
        found = _processes.how_ended(connection)
        connection.close()
        return Reply(0.0, b"", found)
    if failed:  # nobody may look at what it says, so it is not asked again
        connection.close()
    else:
        _processes.give_back(work, connection)
    return Reply(seconds, data)


class _Processes:
    """Processes of jobs that wait for a batch, and forkservers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[str, list[tuple[float, Connection]]] = {}  # since when
        self._forkservers: dict[tuple[str, ...], _Forkserver] = {}
        self._is_looking = False

    def take(self, work: Work) -> Connection:
        with self._lock:
            idle = self._idle.get(work.key, [])
            while idle:
                connection = idle.pop()[1]
                if not connection.poll():  # nobody has asked it, so it can only say that it has ended
                    return connection
                connection.close()
        place = placed(work)
        try:
            return self._fork(place)
        finally:
            for each in place.holds:  # whoever needs them has them
                os.close(each)

    def how_ended(self, connection: Connection) -> str:
        """How the process ended that a connection leads to."""
        with self._lock:
            used = next((each for each in self._forkservers.values() if connection in each.forks), None)
        with contextlib.suppress(OSError, EOFError):
            if used is not None:
                return used.how_ended(connection)
        return "its worker ended"

    def _fork(self, place: Placed) -> Connection:
        said = ""
        for _ in range(STARTS):
            forkserver = self._forkserver(place)
            try:
                return forkserver.fork(place.work)
            except (OSError, EOFError):
                with self._lock:
                    if self._forkservers.get(_where(place)) is forkserver:
                        del self._forkservers[_where(place)]
                said = forkserver.end()
            finally:
                with self._lock:
                    forkserver.asked -= 1
        raise RuntimeError(f"no process could be started that computes units of a job\n{said}")

    def give_back(self, work: Work, connection: Connection) -> None:
        with self._lock:
            idle = self._idle.pop(work.key, [])
            # The one that was used last comes last.
            self._idle[work.key] = [*idle, (time.monotonic(), connection)]
            while len(self._idle) > JOBS:
                for _, each in self._idle.pop(next(iter(self._idle))):
                    each.close()
            self._look_later()

    def _forkserver(self, place: Placed) -> _Forkserver:
        """Each project has one of its own, for each path, as modules of two may have the same names; and for
        what Python goes by when it starts."""
        with self._lock:
            found = self._forkservers.pop(_where(place), None) or _Forkserver(place)
            found.used = time.monotonic()
            found.asked += 1
            self._forkservers[_where(place)] = found  # the one that was used last comes last
            idle = [where for where, each in self._forkservers.items() if not each.is_used()]
            for where in idle[:-PROJECTS]:
                self._forkservers.pop(where).end()
            self._look_later()
            return found

    def _look_later(self) -> None:
        if self._is_looking:
            return
        self._is_looking = True
        timer = threading.Timer(KEPT / 2, self._end_idle)
        timer.daemon = True
        timer.start()

    def _end_idle(self) -> None:
        """End processes that wait for long: their job has ended, or has no units left."""
        now = time.monotonic()
        since = now - KEPT
        with self._lock:
            for where, forkserver in [*self._forkservers.items()]:
                if forkserver.is_used():
                    forkserver.used = now
                elif forkserver.used < since:
                    self._forkservers.pop(where).end()
            for key, idle in [*self._idle.items()]:
                for _, connection in (each for each in idle if each[0] < since):
                    connection.close()
                self._idle[key] = [each for each in idle if each[0] >= since]
                if not self._idle[key]:
                    del self._idle[key]
            self._is_looking = False
            if self._idle or self._forkservers:
                self._look_later()


def _where(place: Placed) -> tuple[str, ...]:
    surroundings = [f"{name}={each}" for name, each in place.surroundings.items()]
    return place.project, *place.path, *surroundings


class _Forkserver:
    """A `shortloop.engines.forkserver`, which ends with this process."""

    def __init__(self, place: Placed) -> None:
        self._folder = tempfile.mkdtemp(prefix="shortloop-")
        self._address = os.path.join(self._folder, "forks")
        self._log = Path(self._folder, "log")
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shortloop.engines.forkserver", self._address],
            cwd=place.project,
            env={
                **with_surroundings(place.surroundings),
                **dict.fromkeys(VARIABLES, "1"),
                "PYTHONPATH": path,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log.open("wb"),
            pass_fds=place.holds[:1],
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it is ready, or has ended
        self.used, self.asked = 0.0, 0  # when it was last, and how many wait for a fork
        # To processes that compute, or wait for a batch.
        self.forks: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()
        atexit.register(self.end)

    def fork(self, work: Work) -> Connection:
        """A process of a job."""
        connection = Client(self._address, "AF_UNIX")
        connection.send_bytes(work.data)
        answer = connection.recv_bytes()
        if answer == STALE:
            connection.close()
            raise EOFError
        self.forks[connection] = int(answer)
        return connection

    def how_ended(self, connection: Connection) -> str:
        """How the process ended that a connection leads to."""
        with Client(self._address, "AF_UNIX") as asked:
            asked.send_bytes(pickle.dumps(self.forks[connection]))
            return asked.recv_bytes().decode()

    def is_used(self) -> bool:
        """Whether it has a fork, or is asked for one; with it, its forks end."""
        return self.asked > 0 or any(not each.closed for each in [*self.forks])

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
