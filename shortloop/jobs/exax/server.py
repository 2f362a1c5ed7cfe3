"""Care of the exax server: what it needs before it starts, starting it when none answers, ending it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shortloop.errors import InputError
from shortloop.jobs.exax.as_loaded import keep_methods_as_loaded, note_what_is_read
from shortloop.jobs.exax.cells import find_announced, load_announced
from shortloop.jobs.exax.datasets import forget_other_slices, refuse_other_slices
from shortloop.jobs.exax.endings import leave_pipe_of_job, look_often_for_end, see_ends
from shortloop.jobs.exax.forked import Forked, fork_ax
from shortloop.jobs.exax.listener import PATIENCE, answers, ask, socket_file
from shortloop.jobs.exax.loading import load_from_source
from shortloop.jobs.exax.outputs import keep_output_in_one_process
from shortloop.jobs.exax.parent_death import forks_end_with_this
from shortloop.jobs.exax.patches import (
    SOCKET_PATH_LIMIT,
    board_later,
    leave_nothing_behind,
    one_at_a_time,
    read_few_jobs_itself,
)
from shortloop.jobs.exax.permissions import answer_this_user_only, keep_private, private_folder
from shortloop.jobs.exax.preload import import_before_forks
from shortloop.jobs.exax.watch import watch_jobs
from shortloop.jobs.project import project_directory, running_configuration, runs_jobs
from shortloop.jobs.store.leftovers import mend, own, repair_lists
from shortloop.jobs.store.slices import wanted
from shortloop.jobs.system_errors import system_error_in
from shortloop.text import one_line

__all__ = ["Server", "prepare_runner", "prepare_server", "running_server"]

LOOK_EVERY = 0.005  # s


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
    keep_methods_as_loaded()
    one_at_a_time()
    read_few_jobs_itself()
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
        keep_output_in_one_process()
        note_what_is_read()
        find_announced()
        forks_end_with_this()
        see_ends()
        leave_pipe_of_job()
        import_before_forks()
        watch_jobs()
        refuse_other_slices()


class Server:
    """The exax server that a run uses.

    Parameters
    ----------
    started : Forked or None
        The server if it goes with this run; None: it ran before.
    """

    def __init__(self, started: Forked | None) -> None:
        self._started = started
        self._answers = started is None

    @property
    def is_fresh(self) -> bool:
        """Whether it goes with this run."""
        return self._started is not None

    def wait(self) -> None:
        """Wait until it answers.

        Raises
        ------
        InputError
            If it does not start.
        """
        deadline = time.monotonic() + PATIENCE
        while self._started is not None and not answers():
            if self._started.poll() is not None or time.monotonic() > deadline:
                raise _not_started()
            time.sleep(LOOK_EVERY)
        self._answers = True

    def end(self) -> None:
        """End it, if it goes with this run, and its own children, which are in its session."""
        if self._started is None:
            return
        if self._answers and _is_idle():  # it has none that are worth waiting for
            self._started.signal_group(signal.SIGKILL)
        else:
            self._started.signal(signal.SIGTERM)
            if not self._started.ends_within(10):
                self._started.signal_group(signal.SIGKILL)
        self._started.wait()


@contextmanager
def running_server() -> Iterator[Server]:
    """An exax server: the one that answers, else one that is started and ended with the block.

    No other run of the project may be in progress.

    Yields
    ------
    Server
        Which may not be ready yet.

    Raises
    ------
    InputError
        If it cannot be started, or there is one that does not answer.
    """
    # A plain kill would leave the server behind; as an exception it passes through here.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    server = Server(None if answers() else _start())
    try:
        yield server
    finally:
        server.end()


def _start() -> Forked:
    if len(os.fsencode(socket_file())) > SOCKET_PATH_LIMIT:
        raise InputError(
            "the path of the server's socket is too long for this system",
            file=socket_file(),
            expected=f"at most {SOCKET_PATH_LIMIT} bytes",
            hint="move the project to a folder nearer to the root, or change `listen` in accelerator.conf",
        )
    for line in repair_lists(project_directory()):
        print(one_line(line), flush=True)
    project, log = project_directory(), _log()

    def begin() -> None:
        os.setsid()
        os.chdir(project)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        for output in (1, 2):
            os.dup2(stream.fileno(), output)
        board_later()

    with log.open("wb") as stream:
        log.chmod(0o600)
        return fork_ax(["server"], before=begin, keep=(stream.fileno(),))


def _is_idle() -> bool:
    try:
        return bool(json.loads(ask("status") or b"{}").get("idle"))
    except (InputError, ValueError):
        return False


def _log() -> Path:
    return private_folder() / "server.log"


def _not_started() -> InputError:
    text = _log().read_text(encoding="utf-8", errors="replace").strip()
    fault = system_error_in(text)
    if fault is not None:
        problem = f"the exax server did not start: {fault.problem}"
        return InputError(problem, file=_log(), found=fault.found, hint=fault.hint)
    return InputError(
        "the exax server did not start",
        file=_log(),
        found="\n    ".join(text.splitlines()[-25:]),
        hint="mend what it says; `ax server` starts it by hand",
    )
