"""Care of the exax server: what it needs before it starts, starting it when none answers, ending it."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shortloop.errors import InputError
from shortloop.jobs.lifeline import ends_with_this, forks_end_with_this
from shortloop.jobs.loading import runs_jobs
from shortloop.jobs.mending import mend, mend_lists, own
from shortloop.jobs.project import configuration, project_directory
from shortloop.jobs.repairs import SOCKET_PATH_LIMIT, leave_nothing_behind, one_at_a_time
from shortloop.jobs.warm import import_before_forks
from shortloop.jobs.watch import watch_jobs

__all__ = ["answers", "prepare_runner", "prepare_server", "running_server"]

START_SECONDS = 60


def prepare_server() -> None:
    """Complete the configuration of the exax server that imports the methods package; elsewhere nothing.

    ``slices: -1`` becomes the number of cores this process may use; so does a larger number, as each job
    would wait for processes that only are in the way of the others. Folders of workdirs are made, and
    their note of the slice count is brought up to date: no job here has files per slice, so the count
    may change from run to run. No other server may use them, and jobs that a power cut broke are taken out
    of use, as the server would not start.
    """
    # The processes that run methods import the package too, but have loaded no configuration.
    cfg = getattr(sys.modules.get("accelerator.shell"), "cfg", None)
    exax = sys.modules.get("accelerator.g")
    if cfg is None or getattr(exax, "running", None) != "server":
        return
    cores = len(os.sched_getaffinity(0))
    cfg.slices = min(cfg.slices, cores) if cfg.slices > 0 else cores
    workdirs = {name: Path(folder) for name, folder in cfg.workdirs.items()}
    for folder in workdirs.values():
        folder.mkdir(parents=True, exist_ok=True)
    one_at_a_time()
    own(workdirs)
    leave_nothing_behind(_socket().parent / "multiprocessing")
    mend(workdirs)
    for line in mend_lists(Path.cwd()):  # too late for this server, but not for the next
        print(f"{line}; start the server again", flush=True)
    for folder in workdirs.values():
        (folder / ".slices").write_text(f"{cfg.slices}\n", encoding="utf-8")


def prepare_runner() -> None:
    """In the process that loads methods and forks jobs: what these need; elsewhere nothing.

    It imports what jobs to come need, and has them die with it.
    """
    if runs_jobs():
        forks_end_with_this()
        import_before_forks()
        watch_jobs()


def answers() -> bool:
    """Whether this project's exax server answers; one that is still starting is waited for.

    Returns
    -------
    bool
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(START_SECONDS)
        try:
            # Its socket is there before it is ready, so a reply is what counts.
            probe.connect(str(_socket()))
            probe.sendall(b"GET /status HTTP/1.0\r\n\r\n")
            return bool(probe.recv(1))
        except OSError:
            return False


@contextmanager
def running_server() -> Iterator[bool]:
    """A running exax server: the one that answers, else one that is started and ended with the block.

    Yields
    ------
    bool
        Whether it was started.

    Raises
    ------
    InputError
        If it does not start.
    """
    # A plain kill would leave the server behind; as an exception it passes through here.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with _only_one_starts():
        started = None if answers() else _start()
    try:
        yield started is not None
    finally:
        if started is not None:
            _end(started)


def _start() -> subprocess.Popen[bytes]:
    if len(os.fsencode(_socket())) > SOCKET_PATH_LIMIT:
        raise InputError(
            "the path of the server's socket is too long for this system",
            file=_socket(),
            expected=f"at most {SOCKET_PATH_LIMIT} bytes",
            hint="move the project to a folder nearer to the root, or change `listen` in accelerator.conf",
        )
    for line in mend_lists(project_directory()):
        print(line, flush=True)
    log = _socket().parent / "server.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("ax")), "server"],
            cwd=project_directory(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=ends_with_this(),
        )
    deadline = time.monotonic() + START_SECONDS
    while not answers():
        if process.poll() is not None or time.monotonic() > deadline:
            _end(process)
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-25:]
            raise InputError(
                "the exax server did not start",
                file=log,
                found="\n    ".join(said),
                hint="mend what it says; `ax server` starts it by hand",
            )
        time.sleep(0.02)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server; it ends its own children, which are in its session."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def _only_one_starts() -> Iterator[None]:
    """Two runs that begin together must not start two servers on one workdir."""
    lock = _socket().parent / "start.lock"
    lock.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    with lock.open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _socket() -> Path:
    listen = configuration().listen
    return project_directory() / str(listen)
