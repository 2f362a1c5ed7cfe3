"""Care of the exax server: what it needs before it starts, starting it when none answers, ending it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shortloop.errors import InputError
from shortloop.jobs.exax.cells import find_announced, load_announced
from shortloop.jobs.exax.datasets import forget_other_slices, refuse_other_slices
from shortloop.jobs.exax.endings import leave_pipe_of_job, look_often_for_end, see_ends
from shortloop.jobs.exax.listener import PATIENCE, answers, socket_file
from shortloop.jobs.exax.loading import load_from_source
from shortloop.jobs.exax.parent_death import ends_with_this, forks_end_with_this
from shortloop.jobs.exax.patches import SOCKET_PATH_LIMIT, leave_nothing_behind, one_at_a_time
from shortloop.jobs.exax.permissions import answer_this_user_only, keep_private, private_folder
from shortloop.jobs.exax.preload import import_before_forks
from shortloop.jobs.exax.watch import watch_jobs
from shortloop.jobs.project import project_directory, running_configuration, runs_jobs
from shortloop.jobs.store.leftovers import mend, own, repair_lists
from shortloop.jobs.store.slices import wanted
from shortloop.jobs.system_errors import system_error_in
from shortloop.text import one_line

__all__ = ["prepare_runner", "prepare_server", "running_server"]


def prepare_server() -> None:
    """Complete the configuration of the exax server that imports the methods package; elsewhere nothing.

    ``slices: -1`` becomes a number. Folders of workdirs are made, and their note of that number, which may
    change from run to run, is brought up to date: what hangs on it is looked after job by job. No other
    server may use the workdirs, and jobs that a power cut broke are taken out of use, as the server would
    not start.
    """
    cfg = running_configuration("server")
    if cfg is None:
        return
    cfg.slices = wanted(cfg.slices)
    workdirs = {name: Path(folder) for name, folder in cfg.workdirs.items()}
    for folder in workdirs.values():
        folder.mkdir(parents=True, exist_ok=True)
    one_at_a_time()
    look_often_for_end()
    load_announced()
    forget_other_slices(cfg.slices)
    own(workdirs)
    answer_this_user_only()
    leave_nothing_behind(private_folder() / "multiprocessing")
    listens = (cfg.listen, cfg.urd_listen if cfg.urd_local else None, cfg.board_listen)
    keep_private(project_directory() / each for each in listens if isinstance(each, str))
    mend(workdirs)
    for line in repair_lists(Path.cwd()):  # too late for this server, but not for the next
        print(one_line(f"{line}; start the server again"), flush=True)
    for folder in workdirs.values():
        (folder / ".slices").write_text(f"{cfg.slices}\n", encoding="utf-8")


def prepare_runner() -> None:
    """In the process that loads methods and forks jobs: what these need; elsewhere nothing.

    It imports what jobs to come need, has them die with it, and lets them read no part for the whole.
    """
    if runs_jobs():
        load_from_source()
        find_announced()
        forks_end_with_this()
        see_ends()
        leave_pipe_of_job()
        import_before_forks()
        watch_jobs()
        refuse_other_slices()


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
        If it does not start, or there is one that does not answer.
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
    if len(os.fsencode(socket_file())) > SOCKET_PATH_LIMIT:
        raise InputError(
            "the path of the server's socket is too long for this system",
            file=socket_file(),
            expected=f"at most {SOCKET_PATH_LIMIT} bytes",
            hint="move the project to a folder nearer to the root, or change `listen` in accelerator.conf",
        )
    for line in repair_lists(project_directory()):
        print(one_line(line), flush=True)
    log = private_folder() / "server.log"
    with log.open("wb") as stream:
        log.chmod(0o600)
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("ax")), "server"],
            cwd=project_directory(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=ends_with_this(),
        )
    deadline = time.monotonic() + PATIENCE
    while not answers():
        if process.poll() is not None or time.monotonic() > deadline:
            _end(process)
            text = log.read_text(encoding="utf-8", errors="replace").strip()
            said = text.splitlines()[-25:]
            fault = system_error_in(text)
            if fault is not None:
                problem = f"the exax server did not start: {fault.problem}"
                raise InputError(problem, file=log, found=fault.found, hint=fault.hint)
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
    with (private_folder() / "start.lock").open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
