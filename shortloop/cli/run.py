"""``shortloop run``: run a build script, starting a server if none is running."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.exax.client import user
from shortloop.exax.forked import fork_ax, noting_interrupts
from shortloop.exax.server import running_server
from shortloop.keys.methods import chosen_script
from shortloop.plan.selection import Selection
from shortloop.project.project import configuration_file
from shortloop.run.termination import check_disk_space
from shortloop.store.workdir import HELD, only_run

NEEDED = b"needed"


def run_script(
    script: str | None, settings: Path | None, selection: Selection, environ: Mapping[str, str]
) -> int:
    check_disk_space()
    if settings is not None and not settings.exists():  # before a server is started
        raise InputError("settings file not found", file=settings, hint="correct the path")
    script = chosen_script(script)
    environ = {**environ, "USER": user()}  # exax signs its lists of jobs with it
    selection.into(environ, settings)
    # No other run starts while the server of this run exists.
    with only_run(script):
        status = _run(script, environ, bool(selection.words))
    return status if status >= 0 else 128 - status


def _run(script: str, environ: Mapping[str, str], is_part: bool) -> int:
    with running_server() as server:
        environ = {**environ, HELD: str(os.getpid())}
        # In another directory, the project is the one that this code is part of.
        command = ["--config", str(configuration_file()), "run"]
        # A server that was just started has just loaded the methods and listed the workdirs.
        quick = ["--quick"] if server.is_fresh else []
        ready_read, ready_write = os.pipe()
        needed_read, needed_write = os.pipe()
        alone = script if server.is_fresh else ""
        begin = partial(_begin, alone, ready_read, needed_write)
        run = fork_ax([*command, *quick, script], environ, begin, [ready_read, needed_write])
        os.close(needed_write)
        try:
            if is_part:  # a script without a pipeline would ignore --until and --only
                from shortloop.plan.dry_run import dry_run

                os.environ.update(environ)
                dry_run(script)
            if alone:
                with noting_interrupts(), run.passing_signals_on():
                    server.is_needed = bool(os.read(needed_read, len(NEEDED)))
                if not server.is_needed:
                    return run.wait()
            server.wait()
            with noting_interrupts(), run.passing_signals_on():
                os.write(ready_write, b"go")
                return run.wait()
        finally:
            os.close(ready_write)
            os.close(needed_read)


def _begin(alone: str, ready: int, needed: int) -> None:
    """In the run, until the server answers: import what scripts need, and finish if all jobs are cached."""
    from shortloop.exax.patches.loading import load_from_source

    load_from_source()  # as build scripts do first
    from shortloop.plan.dry_run import run_without_server

    status = run_without_server(alone) if alone else None
    if status is not None:
        raise SystemExit(status)
    with suppress(BrokenPipeError):  # the run was refused meanwhile, which the pipe below says too
        os.write(needed, NEEDED)
    if not os.read(ready, 2):
        raise SystemExit(1)
