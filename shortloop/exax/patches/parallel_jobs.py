"""Let one client of the exax server build several jobs at a time, with numbers and spare processes for them.

exax builds one job at a time because each client holds one lock, by its cookie. Here a client has a cookie
for each running job. To everybody else the server is busy until the last of them has ended.

A run says with each job if more of its method follow. A spare is then forked, while an earlier job runs, from
the process that forks jobs; it does what every job of a method begins with, and its notes go to its job. It
ends if no job comes for a while, or if its method starts threads or processes when it is imported.

Made for exax 2025.11.11. Upstream: `job_tracking` could count the jobs of a client in place of one lock,
`submit` could take a job number, and `reap_later` and `leave_early` could go there.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple, NoReturn

from shortloop.exax.patches import patch
from shortloop.project.project import job_folders

CLIENT = "shortloop-"  # how a cookie begins
NUMBER = "shortloop_number"  # field of a submission: the number that its job is to have
FOLLOWED = "shortloop_followed"  # field of a submission: whether more jobs of its method come next
RESERVE = "shortloop_reserve"  # request for consecutive job numbers, in place of all reserved before
LANE = "shortloop_lane"
"""Field of what starts a job: its method, modules that an option names, and whether more such jobs follow."""
MOMENT = 0.25  # s; a status request holds the lock for less
PATIENCE = 20.0  # s of a spare; no longer than a run would take idle processes for stuck ones
MOST = 2**15  # bytes of a message

Lane = tuple[str, tuple[str, ...]]
_chosen = threading.local()


def build_side_by_side() -> None:
    from accelerator import server
    from accelerator.control import Main
    from accelerator.workspace import WorkSpace

    if isinstance(server.job_tracking, _Lanes):
        return
    server.job_tracking = _Lanes(server.job_tracking)
    server.Thread = _JobThread
    reserved: dict[str, int] = {}  # the first number after those reserved, by workdir
    followed: set[str] = set()  # jobs that are to start, and are followed by others of their method

    @patch(Main, "initialise_jobs")
    def initialise_jobs(original: Any, main: Any, setup: Any, workdir: Any = None) -> Any:
        _chosen.number, is_followed = setup.pop(NUMBER, None), setup.pop(FOLLOWED, False)
        jobs, found = original(main, setup, workdir)
        followed.update(jobs if is_followed else ())
        return jobs, found

    @patch(WorkSpace, "allocate_jobs")
    def allocate_jobs(allocate: Any, workspace: Any, count: int) -> Any:
        from accelerator.job import Job

        number: Any = getattr(_chosen, "number", None)
        _chosen.number = None
        job = None if number is None or count != 1 else Job._create(workspace.name, number)
        if job is None or job in workspace.known_jobids or os.path.exists(f"{workspace.path}/{job}"):
            number = max(_free_number(workspace), reserved.get(workspace.name, 0))
        workspace._get_highest_jobnumber = lambda: number - 1
        try:
            return allocate(workspace, count)
        finally:
            del workspace._get_highest_jobnumber

    @patch(server.XtdHandler, "_handle_req")
    def handle_request(original: Any, handler: Any, path: Any, args: Any) -> None:
        if path != [RESERVE]:
            original(handler, path, args)
            return
        workspace = handler.ctrl.workspaces[args["workdir"]]
        first = _free_number(workspace)
        reserved[workspace.name] = first + int(args["count"])
        handler.do_response(200, "text/json", {"first": first})

    _send_lanes(followed)


def _free_number(workspace: Any) -> int:
    """First number after those of all jobs; exax has not seen those that a run took from a shared cache."""
    folders = job_folders({workspace.name: Path(workspace.path)})
    numbers = (int(folder.name.rpartition("-")[2]) for folder in folders)
    return int(max(workspace._get_highest_jobnumber(), *numbers, -1)) + 1


class _Lanes(dict[Any, Any]):
    """exax's table of clients by cookie. Lanes are added as they are named."""

    def __init__(self, tracking: Any) -> None:
        super().__init__(tracking)
        # The lock of clients without a lane is held while any lane is busy.
        self.shared, self.guard, self.busy = self[None].lock, Lock(), 0

    def get(self, cookie: Any, default: Any = None) -> Any:
        if cookie is not None and cookie not in self and str(cookie).startswith(CLIENT):
            lock = _LaneLock(self)
            self[cookie] = type(self[None])(self[None], lock=lock, last_error=None, last_time=0)
        return super().get(cookie, default)

    def __len__(self) -> int:
        """As many as exax would have for the mean depth of builds within jobs, which it limits."""
        lanes = sum(str(cookie).startswith(CLIENT) for cookie in tuple(self.keys()))
        return 1 + (super().__len__() - 1 - lanes) // max(self.busy, 1)


class _LaneLock:
    def __init__(self, lanes: _Lanes) -> None:
        self._lanes, self._own = lanes, Lock()

    def acquire(self, blocking: bool = True) -> bool:
        if not self._own.acquire(blocking):
            return False
        with self._lanes.guard:
            if self._lanes.busy or self._lanes.shared.acquire(timeout=MOMENT):
                self._lanes.busy += 1
                return True
        self._own.release()
        return False

    def release(self) -> None:
        self._own.release()
        with self._lanes.guard:
            self._lanes.busy -= 1
            if not self._lanes.busy:
                self._lanes.shared.release()


class _JobThread(Thread):
    """exax answers after two seconds that a job goes on, and then looks for its end ten times a second."""

    def join(self, timeout: float | None = None) -> None:
        super().join(None if self.name == "job runner" else timeout)


class _Spare(NamedTuple):
    process: int
    connection: socket.socket
    pipe: int  # for what the job says at its end


class Spares:
    """The spares of the process that forks jobs, one of each lane."""

    prepare: Callable[[Lane], None]  # done by a spare before it waits

    def __init__(self) -> None:
        self._waiting: dict[Lane, _Spare] = {}
        self.wanted: list[Lane] = []  # spares that are to be forked
        self._unfit: set[Lane] = set()
        os.register_at_fork(after_in_child=self._let_go)

    def __bool__(self) -> bool:
        return bool(self._waiting or self.wanted)

    @property
    def connections(self) -> list[int]:
        """Return file descriptors that become readable when a spare ends."""
        return [each.connection.fileno() for each in self._waiting.values()]

    def start(self, lane: Lane, follows: bool, data: Mapping[str, object]) -> tuple[int, int] | None:
        """Have a spare run a job; return its process and pipe, as exax's ``launch_start`` does."""
        if follows and lane not in (*self.wanted, *self._unfit):
            self.wanted.append(lane)
        if (spare := self._waiting.pop(lane, None)) is None:
            return None
        with spare.connection, contextlib.suppress(OSError):
            spare.connection.send(json.dumps(data).encode())
            return spare.process, spare.pipe
        self._reap(lane, spare)
        return None

    def fork(self) -> None:
        lane = self.wanted.pop()
        if lane in self._waiting:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        reader, writer = os.pipe()
        gc.disable()  # as exax has it in jobs
        process = os.fork()
        if not process:
            os.close(reader)
            ours.close()
            self._wait(lane, theirs, writer)
        gc.enable()
        os.close(writer)
        theirs.close()
        self._waiting[lane] = _Spare(process, ours, reader)

    def ended(self, descriptor: int) -> bool:
        """Remove a spare that has ended; True if the open file is that of a spare."""
        for lane, spare in self._waiting.items():
            if spare.connection.fileno() == descriptor:
                del self._waiting[lane]
                spare.connection.close()
                self._reap(lane, spare)
                return True
        return False

    def _reap(self, lane: Lane, spare: _Spare) -> None:
        os.close(spare.pipe)
        if os.waitpid(spare.process, 0)[1]:
            self._unfit.add(lane)

    def _let_go(self) -> None:
        for spare in self._waiting.values():  # else they would not know that this process has ended
            spare.connection.close()
            os.close(spare.pipe)
        self._waiting, self.wanted = {}, []

    def _wait(self, lane: Lane, connection: socket.socket, pipe: int) -> NoReturn:
        try:
            from accelerator.dispatch import close_fds
            from accelerator.launch import run

            os.setpgid(0, 0)  # as of a job
            close_fds([pipe, int(os.environ["BD_STATUS_FD"]), int(os.environ["BD_TERM_FD"])])
            self.prepare(lane)
            if not _is_alone():  # as a job's, all that it has started ends with it
                os.killpg(0, signal.SIGKILL)
            if said := _received(connection):
                connection.close()
                run(**json.loads(said), prof_fd=pipe)
        finally:
            os._exit(0)


def keep_spares() -> Spares:
    """Have spares run jobs of this process, which forks them."""
    runner: Any = sys.modules["__main__"]
    spares = Spares()

    @patch(runner, "launch_start")
    def launch_start(original: Any, data: dict[str, Any]) -> Any:
        method, modules, follows = data.pop(LANE, (None, (), False))
        started = None
        if method is not None and not data["debuggable"]:
            started = spares.start((method, tuple(modules)), follows, data)
        return started or original(data)

    return spares


def _send_lanes(followed: set[str]) -> None:
    """Let the server send the method of each job that starts, and whether more follow."""
    from accelerator import dispatch
    from accelerator.runner import Runner

    lanes: dict[str, tuple[str, list[str], bool]] = {}

    @patch(dispatch, "launch")
    def launched(launch: Any, workdir: str, setup: Any, *more: Any) -> Any:
        named = setup.options.get("modules") or ()
        named = [*named] if isinstance(named, Sequence) and not isinstance(named, str) else []
        lanes[setup.jobid] = f"{setup.package}.a_{setup.method}", named, setup.jobid in followed
        followed.discard(setup.jobid)
        try:
            return launch(workdir, setup, *more)
        finally:
            lanes.pop(setup.jobid, None)

    @patch(Runner, "launch_start")
    def launch_start(start: Any, self: Any, data: dict[str, Any]) -> Any:
        return start(self, {**data, LANE: lanes.pop(data["jobid"])})


def leave_early() -> None:
    """Signal the ends of a job and of its output before the memory of the job is freed."""
    from accelerator import launch

    @patch(launch, "run")
    def run(original: Any, *arguments: Any, **more: Any) -> None:
        original(*arguments, **more)
        if len(os.listdir("/proc/self/task")) == 1:  # else others may still write
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            os.close(more["prof_fd"])


def reap_later() -> None:
    """Let the server not wait until the killed process of a job is reaped."""
    from accelerator.runner import Runner

    def launch_waitpid(self: Any, child: int) -> None:
        with self._lock:
            self._waiter(self.cookie)
            data = pickle.dumps((self.cookie, child), 2)
            self.cookie += 1
            self.sock.sendall(struct.pack("<cI", b"w", len(data)) + data)

    Runner.launch_waitpid = launch_waitpid


def _is_alone() -> bool:
    """True if this process has one thread, and has never had a child."""
    if len(os.listdir("/proc/self/task")) > 1 or resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt:
        return False
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return False
    return True


def _received(connection: socket.socket) -> bytes:
    """Receive a job; empty if none comes."""
    connection.settimeout(PATIENCE)
    try:
        return connection.recv(MOST)
    except TimeoutError:
        connection.shutdown(socket.SHUT_RD)  # from now on, nobody can send one
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            return connection.recv(MOST)
    return b""
