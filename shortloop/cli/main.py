"""The ``shortloop`` command."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from shortloop.errors import InputError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Days-long EEG decoding analyses as a loop of minutes.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point: errors that are a user's to mend are one message and status 1."""
    try:
        app()
    except InputError as error:
        print(f"shortloop: {error.message}", file=sys.stderr)
        raise SystemExit(1) from None
    except BrokenPipeError:  # | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@app.command()
def run(
    script: Annotated[str, typer.Argument(help="Build script, as `ax run` takes it.")] = "build_pipeline",
    study: Annotated[
        Path | None, typer.Option(help="Study file; default: the variable STUDY, else the embedded study.")
    ] = None,
) -> None:
    """Run a build script, with a server of its own if none answers."""
    from shortloop.jobs.locks import HELD, only_run
    from shortloop.jobs.project import configuration_file
    from shortloop.jobs.server import running_server
    from shortloop.study.load import STUDY_VARIABLE

    environ = {"USER": getpass.getuser(), **os.environ}  # exax signs its lists of jobs with it
    if study is not None:
        environ[STUDY_VARIABLE] = str(study.absolute())
    # Nobody else begins to run while a server that goes with this run is there.
    with only_run(script), running_server() as fresh:
        environ[HELD] = str(os.getpid())
        # From another folder, the project is the one that this code is part of.
        ax = [str(Path(sys.executable).with_name("ax")), "--config", str(configuration_file())]
        # A server that was just started has just loaded the methods and looked through the workdirs.
        quick = ["--quick"] if fresh else []
        # Ctrl-C reaches the run too, which ends its job and itself; that is waited for.
        signal.signal(signal.SIGINT, lambda number, frame: None)
        status = _wait(subprocess.Popen([*ax, "run", *quick, script], env=environ))
    raise typer.Exit(status if status >= 0 else 128 - status)


def _wait(run: subprocess.Popen[bytes]) -> int:
    try:
        return run.wait()
    except SystemExit:  # a signal that ends this process ends the run
        run.terminate()
        run.wait()
        raise


@app.command()
def show(job: Annotated[str, typer.Argument(help="Job id, e.g. main-12.")]) -> None:
    """What made a job, from what, with which options, what it holds."""
    from shortloop.cli.show import show_job

    show_job(job)


@app.command()
def study(
    file: Annotated[Path | None, typer.Argument(help="Study file to check; default: none.")] = None,
) -> None:
    """Check a study file; without one, list all fields with units and defaults."""
    from shortloop.cli.fields import check_file, list_fields

    if file is None:
        list_fields()
    else:
        check_file(file)
