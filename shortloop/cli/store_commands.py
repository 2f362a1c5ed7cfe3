"""The ``shortloop`` commands about stored jobs and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from shortloop.base.errors import InputError
from shortloop.cli.main import Json, Script, SettingsFile, SettingsName, Text, app, prepared
from shortloop.plan.selection import Selection

Older = Annotated[Text, Option(help="Only jobs at least this old, e.g. 12h, 30d or 2w.")]


@app.command()
def jobs(
    stage: Annotated[Text, Option(help="Only jobs of this stage.")] = None,
    partition: Annotated[Text, Option(help="Only jobs of this partition.")] = None,
    settings: SettingsName = None,
    state: Annotated[Text, Option(help="Only jobs in this state, e.g. superseded.")] = None,
    older: Older = None,
    newer: Annotated[Text, Option(help="Only jobs younger than this, e.g. 2h.")] = None,
    larger: Annotated[Text, Option(help="Only jobs at least this large, e.g. 100MB.")] = None,
    scripts: Annotated[bool, Option("--scripts", help="Include jobs of build scripts.")] = False,
    sort: Annotated[str, Option(help="Sort by id, made, seconds, size, stage or partition.")] = "id",
    reverse: Annotated[bool, Option("--reverse", help="Reverse the order.")] = False,
    as_json: Json = False,
) -> None:
    """List jobs with their stage, partition, cost and whether they are still needed."""
    from shortloop.cli.jobs import Filter, print_jobs

    wanted = Filter(stage, partition, settings, state, older, newer, larger, scripts)
    print_jobs(wanted, sort, reverse, as_json)


@app.command()
def runs(
    number: Annotated[int | None, Argument(help="Run to show in full.")] = None,
    settings_to: Annotated[
        Path | None, Option("--settings-to", metavar="FILE", help="Write the run's settings to a new file.")
    ] = None,
    every: Annotated[bool, Option("--all", help="List all runs, not only the latest.")] = False,
    as_json: Json = False,
) -> None:
    """List runs with their start, settings, number of jobs built and reused, and exit status."""
    from shortloop.cli.runs import print_run, print_runs, write_settings

    if settings_to is not None:
        if number is None:
            raise InputError("--settings-to needs a run", hint="add its number, which `shortloop runs` lists")
        write_settings(number, settings_to, as_json)
    elif number is not None:
        print_run(number, as_json)
    else:
        print_runs(every, as_json)


@app.command()
def harmless(
    stage: Annotated[str, Argument(help="Stage, e.g. train.")],
    why: Annotated[
        str, Argument(help="Reason why the change cannot affect results; recorded with the jobs.")
    ],
    script: Script = None,
    settings: SettingsFile = None,
) -> None:
    """Declare that changed code or libraries do not affect a stage's results, so that its jobs are reused."""
    from shortloop.cli.plan import print_harmless

    print_harmless(prepared(script, settings, Selection()), stage, why)


@app.command()
def verify(
    set_aside: Annotated[
        bool, Option("--set-aside", help="Take damaged jobs out of use, keeping their files.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Verify every byte of all jobs and their input files. Exit status 1 if anything changed.

    Skips printed output (OUTPUT/), files whose names begin with a dot, and jobs of build scripts.
    """
    from shortloop.cli.verify import verify_jobs

    raise typer.Exit(verify_jobs(set_aside, as_json))


@app.command()
def gc(
    delete: Annotated[
        bool, Option("--delete", help="Delete the jobs instead of only counting them.")
    ] = False,
    older: Older = None,
    to: Annotated[
        str | None, Option(help="Delete only until all remaining jobs fit in this size, e.g. 20GB.")
    ] = None,
    forget: Annotated[
        str | None, Option(metavar="NAME", help="Also delete jobs needed only by these settings' latest run.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Delete jobs that no latest run uses, oldest first, and leftover files. Job ids are never reused."""
    from shortloop.cli.gc import collect_garbage

    collect_garbage(delete, older, to, forget, as_json)
