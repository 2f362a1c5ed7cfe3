"""``shortloop run``: run a build script, starting a server if none is running."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.base.errors import InputError
from shortloop.exax.client import user
from shortloop.keys.methods import chosen_script
from shortloop.run.termination import check_disk_space
from shortloop.settings.paths import SETTINGS_VARIABLE
from shortloop.store.workdir import only_run

if TYPE_CHECKING:
    from shortloop.plan.selection import Selection

__all__ = ["run_script"]

NEEDED = b"needed"


def run_script(
    script: str | None, settings: Path | None, selection: Selection, environ: Mapping[str, str]
) -> int:
    """Run a build script; the exit status."""
    check_disk_space()
    if settings is not None and not settings.exists():  # at once, and not when a server has been started
        raise InputError("settings file not found", file=settings, hint="correct the path")
    script = chosen_script(script)
    environ = {**environ, "USER": user()}  # exax signs its lists of jobs with it
    if settings is not None:
        environ[SETTINGS_VARIABLE] = str(settings.absolute())
    selection.into(environ)
    # Nobody else begins to run while a server that goes with this run is there.
    with only_run(script):
        status = _run(script, environ, partial(_check_part, script, environ) if selection.words else None)
    return status if status >= 0 else 128 - status


def _check_part(script: str, environ: Mapping[str, str]) -> None:
    """At once, and by a plan: a script that runs no pipeline would not know of it, and build everything."""
    from shortloop.plan.dry_run import dry_run

    os.environ.update(environ)
    dry_run(script)


def _run(script: str, environ: Mapping[str, str], check: Callable[[], None] | None) -> int:
    from shortloop.exax.forked import fork_ax
    from shortloop.exax.server import running_server
    from shortloop.project.project import configuration_file
    from shortloop.store.workdir import HELD

    with running_server() as server:
        environ = {**environ, HELD: str(os.getpid())}
        # From another folder, the project is the one that this code is part of.
        command = ["--config", str(configuration_file()), "run"]
        # A server that was just started has just loaded the methods and looked through the workdirs.
        quick = ["--quick"] if server.is_fresh else []
        told, tell = os.pipe()
        asked, ask = os.pipe()
        alone = script if server.is_fresh else ""
        begin = partial(_begin, alone, told, ask)
        run = fork_ax([*command, *quick, script], environ, begin, [told, ask])
        os.close(ask)
        try:
            if check is not None:
                check()
            if alone:
                with _ctrl_c_passed_on(), run.passing_signals_on():
                    server.is_needed = bool(os.read(asked, len(NEEDED)))
                if not server.is_needed:
                    return run.wait()
            server.wait()
            with _ctrl_c_passed_on(), run.passing_signals_on():
                os.write(tell, b"go")
                return run.wait()
        finally:
            os.close(tell)
            os.close(asked)


@contextmanager
def _ctrl_c_passed_on() -> Iterator[None]:
    """Ctrl-C is passed on to the run, which ends its job and itself; that is waited for."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin(alone: str, told: int, ask: int) -> None:
    """In the run, until the server answers: it imports what build scripts need, and does without the server
    if all jobs are there."""
    from shortloop.exax.patches.loading import load_from_source

    load_from_source()  # as they do first
    from shortloop.plan.dry_run import run_without_server

    status = run_without_server(alone) if alone else None
    if status is not None:
        raise SystemExit(status)
    os.write(ask, NEEDED)
    if not os.read(told, 2):
        raise SystemExit(1)
