"""``shortloop run``: a run of a build script, with a server of its own if none answers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.errors import InputError
from shortloop.jobs.build_scripts import chosen_script
from shortloop.jobs.exax.user import user
from shortloop.jobs.settings_files import TAKE_OVER
from shortloop.jobs.store.locks import only_run
from shortloop.jobs.termination import need_room
from shortloop.settings.variable import SETTINGS_VARIABLE

if TYPE_CHECKING:
    from shortloop.jobs.selection import Selection

__all__ = ["run_script"]


def run_script(script: str | None, settings: Path | None, selection: Selection, take_over: bool) -> int:
    """Run a build script.

    Parameters
    ----------
    script : str or None
        Its name; None: as of `shortloop.jobs.build_scripts.chosen_script`.
    settings : Path or None
        Settings file; None: the one that is used else.
    selection : Selection
        Which jobs to build.
    take_over : bool
        Whether to run even if another settings file has the name of this one.

    Returns
    -------
    int
        Exit status.
    """
    need_room()
    if settings is not None and not settings.exists():  # at once, and not when a server has been started
        raise InputError("there is no such settings file", file=settings, hint="name one that exists")
    script = chosen_script(script)
    environ = {"USER": user()}  # exax signs its lists of jobs with it
    if settings is not None:
        environ[SETTINGS_VARIABLE] = str(settings.absolute())
    selection.into(environ)
    if take_over:
        environ[TAKE_OVER] = "1"
    # Nobody else begins to run while a server that goes with this run is there.
    with only_run(script):
        status = _run(script, environ, partial(_check_part, script, environ) if selection.words else None)
    return status if status >= 0 else 128 - status


def _check_part(script: str, environ: Mapping[str, str]) -> None:
    """At once, and by a plan: a script that runs no pipeline would not know of it, and build everything."""
    from shortloop.jobs.dry_run import dry_run

    os.environ.update(environ)
    dry_run(script)


def _run(script: str, environ: Mapping[str, str], check: Callable[[], None] | None) -> int:
    from shortloop.jobs.exax.forked import fork_ax
    from shortloop.jobs.exax.server import running_server
    from shortloop.jobs.project import configuration_file
    from shortloop.jobs.store.locks import HELD

    with running_server() as server:
        environ = {**environ, HELD: str(os.getpid())}
        # From another folder, the project is the one that this code is part of.
        command = ["--config", str(configuration_file()), "run"]
        # A server that was just started has just loaded the methods and looked through the workdirs.
        quick = ["--quick"] if server.is_fresh else []
        told, tell = os.pipe()
        run = fork_ax([*command, *quick, script], environ, partial(_wait_until_told, told), [told])
        try:
            if check is not None:
                check()
            server.wait()
            if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                # Ctrl-C is passed on to the run, which ends its job and itself; that is waited for.
                signal.signal(signal.SIGINT, lambda number, frame: None)
            with run.passing_signals_on():
                os.write(tell, b"go")
                return run.wait()
        finally:
            os.close(tell)


def _wait_until_told(told: int) -> None:
    """In the run, until the server answers: it imports meanwhile what build scripts need."""
    from shortloop.jobs.exax.loading import load_from_source

    load_from_source()  # as they do first
    from shortloop.script import pipeline  # noqa: F401

    if not os.read(told, 2):
        raise SystemExit(1)
