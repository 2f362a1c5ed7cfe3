"""Worker of an engine: has a process of the job compute a batch, in the project or in mirrors of it.

Such processes are kept for the next batch because they have the job's input open; for a moment, because
nobody tells a worker that a job has ended. In an engine whose workers are threads, each has its own. On a
node without the project, mirrors of what a job needs take its place.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast
from weakref import WeakKeyDictionary

from shortloop.base.text import amount
from shortloop.engines.engine_lifetime import environment
from shortloop.units.machine_facts import with_surroundings
from shortloop.units.messages import STALE, JobWork, Mirrored, Missing, Parcel, Reply, Work
from shortloop.units.node_cache import INSIDE, Mirror, NodeCache, check_place
from shortloop.units.process_ends import proc_fields

if TYPE_CHECKING:
    from shortloop.units.listing import Listing

JOBS = 2  # whose processes are kept at a time
PROJECTS = 6  # whose forkservers are without a fork; where a project is not there, each method counts as one
KEPT = 30.0  # s that a process waits for a batch, and a forkserver for a job
STARTS = 5  # of a forkserver, as code may be edited again and again
LOOK_EVERY = 0.1  # s: how much memory a process needs
LOG_END = 2000  # characters of its log
GPUS = "CUDA_VISIBLE_DEVICES"  # of the environment; Ray sets it for each task of one process


def compute_batch(work: Work, units: Sequence[bytes], memory: float | None = None) -> Reply:
    """Have a process compute units; it is ended if it and this worker need more bytes of memory."""
    found = ""
    work = work._replace(key=f"{work.key} {os.environ.get(GPUS, '')}")
    try:
        connection = _processes.take(work)
    except NodeLacksFiles as error:
        return Reply(0.0, b"", missing=error.args[0])
    try:
        connection.send_bytes(pickle.dumps(list(units)))
        if memory is not None:
            found = _limited(connection, memory)
        seconds, failed = pickle.loads(connection.recv_bytes())
        data = connection.recv_bytes()
    except (EOFError, OSError):
        found = found or _processes.how_ended(connection)
        connection.close()
        return Reply(0.0, b"", found)
    if failed:  # nobody may look at what it says, so it is not asked again
        connection.close()
    else:
        _processes.give_back(work, connection)
    return Reply(seconds, data)


def _limited(connection: Connection, memory: float) -> str:
    """Wait until a process answers; end it and say so if it needs too much memory."""
    process = _processes.process_of(connection)
    while process is not None and not connection.poll(LOOK_EVERY):
        if (used := _memory_of(process) + _memory_of(os.getpid())) > memory:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            return f"it was ended with SIGKILL: it needed {amount(used)}, and its worker has {amount(memory)}"
    return ""


def _memory_of(process: int) -> float:
    """Bytes of a process that no file backs; 0 if it has ended."""
    try:
        fields = proc_fields(f"/proc/{process}/status")
    except OSError:
        return 0.0
    return 1024.0 * (fields.get("RssAnon", 0) + fields.get("RssShmem", 0))


class _Processes:
    """Processes of jobs that wait for a batch, and forkservers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[float, str, Connection]] = []  # since when, and of which job
        self._forkservers: dict[tuple[str, ...], _Forkserver] = {}
        self._is_looking = False

    def take(self, work: Work) -> Connection:
        with self._lock:
            for idle in [each for each in reversed(self._idle) if each[1] == work.key]:
                self._idle.remove(idle)
                connection: Connection = idle[2]
                if not connection.poll():  # nobody has asked it, so it can only say that it has ended
                    return connection
                connection.close()
        place = placed(work)
        try:
            return self._fork(place)
        finally:
            for each in place.holds:  # whoever needs them has them
                os.close(each)

    def process_of(self, connection: Connection) -> int | None:
        """Number of the process at the other end; None if its forkserver has ended."""
        used = self._forkserver_of(connection)
        return None if used is None else used.forks.get(connection)

    def _forkserver_of(self, connection: Connection) -> _Forkserver | None:
        with self._lock:
            return next((each for each in self._forkservers.values() if connection in each.forks), None)

    def how_ended(self, connection: Connection) -> str:
        used = self._forkserver_of(connection)
        with contextlib.suppress(OSError, EOFError):
            if used is not None:
                with Client(used.address, "AF_UNIX") as asked:
                    asked.send_bytes(pickle.dumps(used.forks[connection]))
                    return asked.recv_bytes().decode()
        return "its worker ended"

    def _fork(self, place: Placed) -> Connection:
        log = ""
        for _ in range(STARTS):
            forkserver = self._forkserver(place)
            try:
                return forkserver.fork(place.work)
            except (OSError, EOFError):
                with self._lock:
                    if self._forkservers.get(place.key) is forkserver:
                        del self._forkservers[place.key]
                log = forkserver.end()
            finally:
                with self._lock:
                    forkserver.asked -= 1
        raise RuntimeError(f"no process could be started that computes units of a job\n{log}")

    def give_back(self, work: Work, connection: Connection) -> None:
        with self._lock:
            self._idle.append((time.monotonic(), work.key, connection))
            jobs = [*dict.fromkeys(job for _, job, _ in reversed(self._idle))]
            self._close([each for each in self._idle if each[1] in jobs[JOBS:]])
            self._look_later()

    def _close(self, idle: Sequence[tuple[float, str, Connection]]) -> None:
        for each in idle:
            self._idle.remove(each)
            each[2].close()

    def _forkserver(self, place: Placed) -> _Forkserver:
        with self._lock:
            found = self._forkservers.pop(place.key, None) or _Forkserver(place)
            found.used = time.monotonic()
            found.asked += 1
            self._forkservers[place.key] = found  # the one that was used last comes last
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
        """End processes that have waited long: their job has ended, or has no units left."""
        with self._lock:
            now = time.monotonic()
            for where, forkserver in [*self._forkservers.items()]:
                if forkserver.is_used():
                    forkserver.used = now
                elif forkserver.used < now - KEPT:
                    self._forkservers.pop(where).end()
            self._close([each for each in self._idle if each[0] < now - KEPT])
            self._is_looking = False
            if self._idle or self._forkservers:
                self._look_later()


class _Forkserver:
    """A `shortloop.engines.forkserver`, which ends with this process."""

    def __init__(self, place: Placed) -> None:
        self._folder = tempfile.mkdtemp(prefix="shortloop-")
        self.address = os.path.join(self._folder, "forks")
        self._log = Path(self._folder, "log")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shortloop.engines.forkserver", self.address],
            cwd=place.job["project"],
            env=environment(with_surroundings(place.job["surroundings"])),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log.open("wb"),
            pass_fds=place.holds[:1],
        )
        cast("IO[bytes]", self._process.stdout).readline()  # it is ready, or has ended
        self.used, self.asked = 0.0, 0  # when it was last, and how many wait for a fork
        # To processes that compute, or wait for a batch.
        self.forks: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()
        atexit.register(self.end)

    def fork(self, work: Work) -> Connection:
        connection = Client(self.address, "AF_UNIX")
        connection.send_bytes(work.data)
        if (answer := connection.recv_bytes()) == STALE:
            connection.close()
            raise EOFError
        self.forks[connection] = int(answer)
        return connection

    def is_used(self) -> bool:
        """True if it has or was asked for a fork; with it, its forks end."""
        return self.asked > 0 or any(not each.closed for each in [*self.forks])

    def end(self) -> str:
        """End it; return the last lines of its log."""
        atexit.unregister(self.end)
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            text = self._log.read_text(encoding="utf-8", errors="replace")
            shutil.rmtree(self._folder, ignore_errors=True)
            return text[-LOG_END:]
        return ""


_processes = _Processes()


class NodeLacksFiles(Exception):
    """This node must be sent something before a job can be computed here: a `Missing`."""


class Placed(NamedTuple):
    """The work of a job, with paths as they are on this node."""

    work: Work
    job: JobWork
    holds: tuple[int, ...]  # open files; while the first is open, the mirror of the code is kept

    @property
    def key(self) -> tuple[str, ...]:
        """Modules of two projects, paths or environments may have the same names."""
        surroundings = {**self.job["surroundings"], GPUS: os.environ.get(GPUS, "")}.items()
        return self.job["project"], *self.job["path"], *(f"{name}={each}" for name, each in surroundings)


def placed(work: Work) -> Placed:
    """Find what a job needs in the project or in mirrors; raise NodeLacksFiles if something is missing."""
    job: JobWork = pickle.loads(work.data)
    holds: tuple[int, ...] = ()
    if not _is_here(*work.here):
        cache = node_cache()
        listed = cache.read(work.listed) if work.listed else None
        if listed is None:
            raise NodeLacksFiles(Missing(cache.name, [work.listed] if work.listed else []))
        listing: Listing = json.loads(listed)
        with contextlib.ExitStack() as fails:
            code, data = _mirrors(cache, listing, fails)
            job = _moved(job, listing, code.folder, data.folder)
            fails.pop_all()
        work, holds = work._replace(data=pickle.dumps(job)), (code.hold, data.hold)
    return Placed(work, job, holds)


def keep_parcel(parcel: Parcel) -> tuple[str, str]:
    """Put a parcel into the cache of this node; return the name of the cache, and the error."""
    cache = node_cache()
    try:
        return cache.name, cache.put(parcel.pieces, parcel.sender)
    except OSError as error:
        return cache.name, f"{error.strerror or error}: {error.filename or ''}"


@functools.cache
def node_cache() -> NodeCache:
    return NodeCache()


def _is_here(file: str, token: str) -> bool:
    """True if the project is on this node: there is a file that the run has written."""
    try:
        return not file or Path(file).read_text(encoding="ascii", errors="replace") == token
    except OSError:
        return False


def _mirrors(cache: NodeCache, listing: Listing, fails: contextlib.ExitStack) -> tuple[Mirror, Mirror]:
    parts = listing["code"], listing["data"]
    wanted = {content: size for part in parts for content, size in part.values()}
    if lacking := cache.lacking(wanted):
        raise NodeLacksFiles(Missing(cache.name, lacking))
    found: list[Mirror] = []
    for files in parts:
        if (mirror := cache.mirror(files)) is None:  # another worker has just removed something
            raise NodeLacksFiles(Missing(cache.name, cache.lacking(wanted)))
        fails.callback(os.close, mirror.hold)
        found.append(mirror)
    return found[0], found[1]


def _moved(job: JobWork, listing: Listing, code: Path, data: Path) -> JobWork:
    folders, task = listing["folders"], job["task"]

    def moved(given: object) -> object:
        if isinstance(given, list):
            return [moved(each) for each in given]
        return str(data / folders[given]) if isinstance(given, str) else given

    for place in (*folders.values(), *listing["inputs"].values()):
        check_place(f"{place}/.x")
    for place in folders.values():  # a folder of modules may have none that the job needs
        (code / place).mkdir(parents=True, exist_ok=True)
    mirrored: Mirrored = {
        "project": listing["project"],
        "code": str(code),
        "data": str(data),
        "inputs": {content: str(data / place) for content, place in listing["inputs"].items()},
        "whole": [str(data / place) for place in listing["whole"]],
        "absent": listing["absent"],
    }
    jobs = {name: moved(each) for name, each in cast("dict[str, object]", task["jobs"]).items()}
    return {
        **job,
        "project": str(code / INSIDE),
        "path": [str(code / folders[each]) if each in folders else each for each in job["path"]],
        "task": {**task, "jobs": jobs, "before": moved(task["before"])},
        "mirrored": mirrored,
    }
