"""Start and stop the exax server."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.base.text import one_line
from shortloop.exax.forked import Forked, fork_ax
from shortloop.exax.listener import PATIENCE, answers, ask, is_idle, server_process, socket_file
from shortloop.exax.patches.processes import (
    SOCKET_PATH_LIMIT,
    board_later,
    keep_line_ends,
    private_folder,
    refuse_unknown_version,
    take_folders_literally,
)
from shortloop.exax.tracebacks import of_user
from shortloop.keys.code import pass_on_options
from shortloop.project.project import configuration, project_directory
from shortloop.project.system_errors import system_error_in
from shortloop.store.crash_repair import repair_lists

LOOK_EVERY = 0.005  # s


class Server(contextlib.AbstractContextManager["Server"]):
    """The exax server that a run uses: one started for it, or, if None, one that ran before."""

    def __init__(self, started: Forked | None) -> None:
        self._started = started
        self.is_fresh = started is not None
        self._answers = not self.is_fresh
        self.is_needed = True  # it may have been asked for anything

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self._started is not None and not answers():
            if self._started.poll() is not None or time.monotonic() > deadline:
                raise _not_started()
            time.sleep(LOOK_EVERY)
        self._answers = True

    def __exit__(self, *error: object) -> None:
        """End the server with its children, which are in its session, if it was started for this run."""
        if self._started is None:
            return
        idle = False
        with contextlib.suppress(InputError, ValueError):
            idle = not self.is_needed or (self._answers and is_idle() is True)
        if idle:  # it has no children that are worth waiting for
            with contextlib.suppress(ProcessLookupError):  # it is only beginning, and has no group yet
                self._started.signal(signal.SIGKILL, group=True)
            self._started.signal(signal.SIGKILL)
        else:
            self._started.signal(signal.SIGTERM)
            if not self._started.ends_within(10):
                self._started.signal(signal.SIGKILL, group=True)
        self._started.wait()


def running_server() -> Server:
    """Give the exax server that answers, else one that is started for the only run, and ended with it."""
    # A plain kill would leave the server behind; as an exception it passes through here.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    refuse_unknown_version()
    if (info := ask("workspace_info")) is None:
        return Server(_start())
    _check_place(json.loads(info))
    return Server(None)


def _check_place(info: Mapping[str, str | None]) -> None:
    """Refuse a server that has other folders, as after the project was moved while it ran."""
    for name in ("result_directory", "input_directory"):
        there, here = (of.get(name) or "" for of in (info, configuration()))
        if os.path.realpath(there) != os.path.realpath(here):
            problem = f"the exax server has another {name.replace('_', ' ')} than the project"
            hint = f"end the server with `kill {server_process()}`, and run again"
            raise InputError(problem, found=there, expected=here, hint=hint)


def _start() -> Forked:
    if len(os.fsencode(socket_file())) > SOCKET_PATH_LIMIT:
        problem = "the path of the server's socket is too long for this system"
        expected = f"at most {SOCKET_PATH_LIMIT} bytes"
        hint = "move the project to a folder nearer to the root, or change `listen` in accelerator.conf"
        raise InputError(problem, file=socket_file(), expected=expected, hint=hint)
    for line in repair_lists(project_directory()):
        print(one_line(line), flush=True)
    project, log = project_directory(), _log()

    def begin() -> None:
        os.setsid()
        os.chdir(project)
        pass_on_options()
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        for output in (1, 2):
            os.dup2(stream.fileno(), output)
        board_later()
        keep_line_ends()
        take_folders_literally()

    with log.open("wb") as stream:
        log.chmod(0o600)
        return fork_ax(["server"], before=begin, keep=(stream.fileno(),))


def _log() -> Path:
    return private_folder() / "server.log"


def _not_started() -> InputError:
    text = of_user(_log().read_text(encoding="utf-8", errors="replace")).strip()
    if (fault := system_error_in(text)) is not None:
        problem = f"the exax server did not start: {fault.problem}"
        return InputError(problem, file=_log(), found=fault.found, hint=fault.hint)
    found = "\n    ".join(text.splitlines()[-25:])
    hint = "correct the reported problem; `ax server` starts the server by hand"
    return InputError("the exax server did not start", file=_log(), found=found, hint=hint)
