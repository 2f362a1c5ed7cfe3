"""The ``shortloop`` command."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from shortloop.cli.version import options
from shortloop.errors import InputError
from shortloop.jobs.letters import print_any_letter
from shortloop.jobs.system_errors import need_files, system_error

__all__ = ["app", "main"]

app = typer.Typer(
    help="Run analyses that are made of many independent fits, and run again only what a change touches.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.callback()(options)

with_settings = typer.Typer()
"""What there is if an analysis has a settings file."""
FEWEST_FILES = 16  # open at once, that exax needs to begin a run

Script = Annotated[
    str | None,
    typer.Argument(
        help="Build script, as `ax run` takes it; default: build_pipeline, or the only one that there is."
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        readable=False,
        help="Settings file; default: the one that SHORTLOOP_SETTINGS names, else the script's own.",
    ),
]
SettingsName = Annotated[
    str | None, typer.Option("--settings", help="Only jobs of the settings of this name.")
]
Until = Annotated[
    str | None,
    typer.Option(metavar="STAGE", help="Only jobs of this stage, and what they are made from."),
]
Only = Annotated[str | None, typer.Option(metavar="STAGE", help="Only the jobs of this stage.")]
Partition = Annotated[
    str | None, typer.Option(help="With --until or --only: of the stage, only the jobs of this partition.")
]
Force = Annotated[
    list[str] | None,
    typer.Option(metavar="JOB", help="Build a job, or those of a stage, though it is there. Repeatable."),
]
Older = Annotated[str | None, typer.Option(help="Only jobs at least this old, e.g. 12h, 30d, 2w.")]


def main() -> None:
    """Entry point: what is a user's to mend is one message and status 1; what is not keeps its traceback."""
    print_any_letter()
    interrupted = _note_interrupts()
    try:
        if not _own_commands() & set(sys.argv[1:2]):  # which work whatever state an analysis is in
            _add_commands_of_analyses()
        app()
    except KeyboardInterrupt:  # before or after the command itself
        raise SystemExit(130) from None
    except BrokenPipeError:  # | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except Exception as error:
        if interrupted:  # of which some libraries make something else while they are imported
            raise SystemExit(130) from None
        known = error if isinstance(error, InputError) else system_error(error)
        if known is None:
            from shortloop.jobs.exax.tracebacks import user_traceback
        print(f"shortloop: {known.message}" if known else user_traceback(error), file=sys.stderr)
        raise SystemExit(1) from None


def _note_interrupts() -> list[int]:
    """Has one element more after each Ctrl-C, which raises as ever."""
    noted: list[int] = []

    def note(number: int, frame: object) -> None:
        noted.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, note)
    return noted


def _own_commands() -> set[str]:
    return {command.callback.__name__ for command in app.registered_commands if command.callback}


def _add_commands_of_analyses() -> None:
    from shortloop.cli.analyses import find_analyses

    analyses = find_analyses().values()
    for analysis in analyses:
        if analysis.commands is not None:
            app.registered_commands += analysis.commands.registered_commands
    if any(analysis.settings is not None for analysis in analyses):
        checks, sweeps = with_settings.registered_commands
        app.registered_commands[1:3] = [checks, *app.registered_commands[1:3], sweeps]  # as one meets them


@with_settings.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def study(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(readable=False, help="Settings file to check; default: none.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Check the file alone, and open no data that it names.")
    ] = False,
) -> None:
    """Check a study file, and open all data that it names, to say all that is wrong with them. Status 1 then.

    Without a file, list all fields with units and defaults: of an analysis, as --NAME.
    """
    from shortloop.cli.analyses import find_analyses
    from shortloop.cli.study import check_file, kind_of, list_fields

    options = list(context.args)
    if file is not None and str(file).startswith("--"):
        options, file = [str(file), *options], None
    if file is None and options and not options[-1].startswith("--"):
        file = Path(options.pop())
    kinds = {name: each.settings for name, each in find_analyses().items() if each.settings is not None}
    kind = kind_of(kinds, options, file)
    if file is None:
        list_fields(kind)
    else:
        raise typer.Exit(check_file(kind, file, quick))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def init(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(help="Folder to make, e.g. my-analysis; its name is the project's.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            readable=False,
            help="Look at these data, say what is there, and write a settings file for them.",
        ),
    ] = None,
) -> None:
    """Write a new project, which runs at once: a small analysis, or an installed one, as --NAME.

    Status 3 if the data leave a question open, which is to be answered in the settings file before it runs.
    """
    from shortloop.cli.analyses import find_analyses
    from shortloop.cli.init import look_at_data, template_of, write_project

    analyses = find_analyses()
    if data is not None:
        raise typer.Exit(write_project(folder, *look_at_data(analyses, context.args, data, folder)))
    templates = {name: each.template for name, each in analyses.items() if each.template is not None}
    write_project(folder, template_of(templates, context.args))


@app.command()
def run(
    script: Script = None,
    settings: SettingsFile = None,
    until: Until = None,
    only: Only = None,
    partition: Partition = None,
    force: Force = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Even if another settings file has the name of this one.")
    ] = False,
) -> None:
    """Run a build script, with a server of its own if none answers."""
    from shortloop.cli.run import run_script
    from shortloop.jobs.exax.forked import leave
    from shortloop.jobs.selection import Selection

    need_files(FEWEST_FILES)
    selection = Selection(until or "", only or "", partition or "", tuple(force or ()))
    leave(run_script(script, settings, selection, take_over))


@with_settings.command(
    epilog="Each is a run as others are: jobs that a combination leaves as they were are used again, so that "
    "a second sweep, or one that goes on after Ctrl-C, builds only what is missing.\n\n"
    "The file stays as it is. In each run, the name of the settings is followed by what varies, so that it "
    "has a folder of its own, as results/NAME-decoding.folds-5+estimator.kind-lda. What changed between them "
    "is in results/NAME-sweep, as a table (CSV) and a figure.\n\n"
    "A combination that fails is a row of the table; the others go on, and the status is 1.",
)
def sweep(
    file: Annotated[
        Path | None,
        typer.Argument(
            readable=False,
            help="Settings file; default: the one that SHORTLOOP_SETTINGS names, else the script's own.",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE,VALUE…",
            help="A field and its values, in TOML; texts need no quotes. Repeatable: all combinations run.",
        ),
    ] = None,
    together: Annotated[
        list[str] | None,
        typer.Option(
            "--zip",
            metavar="FIELD=VALUE,VALUE…",
            help="The same, of fields whose first values go together, and their second, and so on.",
        ),
    ] = None,
    script: Annotated[
        str | None,
        typer.Option(help="Build script, as `ax run` takes it; default: the one for such a file."),
    ] = None,
) -> None:
    """Run a build script with each combination of some settings, and show what changed."""
    from shortloop.cli.analyses import find_analyses
    from shortloop.cli.study import kind_of
    from shortloop.cli.sweep import run_sweep
    from shortloop.jobs.exax.forked import leave

    need_files(FEWEST_FILES)
    if script is None:
        kinds = {name: each.settings for name, each in find_analyses().items() if each.settings is not None}
        script = kind_of(kinds, (), file).script
    leave(run_sweep(script, file, vary or [], together or []))


@app.command()
def plan(
    script: Script = None,
    settings: SettingsFile = None,
    until: Until = None,
    only: Only = None,
    partition: Partition = None,
    force: Force = None,
    every: Annotated[bool, typer.Option("--all", help="List each job.")] = False,
) -> None:
    """What a run would build and reuse, why, and how long that would take. Runs nothing."""
    from shortloop.cli.plan import print_plan
    from shortloop.jobs.build_scripts import chosen_script
    from shortloop.jobs.selection import Selection
    from shortloop.settings.variable import SETTINGS_VARIABLE

    if settings is not None:
        os.environ[SETTINGS_VARIABLE] = str(settings.absolute())
    Selection(until or "", only or "", partition or "", tuple(force or ())).into(os.environ)
    print_plan(script or chosen_script(None), every)


@app.command()
def why(
    job: Annotated[str, typer.Argument(help="Job id, e.g. main-12, or a stage, e.g. train.")],
    settings: SettingsName = None,
    full: Annotated[bool, typer.Option("--full", help="Print all of long differences of code.")] = False,
) -> None:
    """Why a job, or each job of a stage in the last run, was built: what differs from the one before."""
    from shortloop.cli.why import print_why

    print_why(job, settings, full)


@app.command()
def show(job: Annotated[str, typer.Argument(help="Job id, e.g. main-12.")]) -> None:
    """What made a job, why, from what, with which options, what it cost and what it holds."""
    from shortloop.cli.show import show_job

    show_job(job)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help="Job id, e.g. main-12.")],
    second: Annotated[str, typer.Argument(help="Another of the same kind, e.g. main-31.")],
    figure: Annotated[
        Path | None, typer.Option(help="Where to write the figure; default: compare/ in the results folder.")
    ] = None,
) -> None:
    """What differs between two jobs: what they were made of, and what came out."""
    from shortloop.cli.analyses import find_analyses
    from shortloop.cli.compare import compare_jobs

    compare_jobs(first, second, figure, [*find_analyses().values()])


@app.command()
def jobs(
    stage: Annotated[str | None, typer.Option(help="Only jobs of this stage.")] = None,
    partition: Annotated[str | None, typer.Option(help="Only jobs of this partition.")] = None,
    settings: SettingsName = None,
    state: Annotated[str | None, typer.Option(help="Only jobs in this state, e.g. superseded.")] = None,
    older: Older = None,
    newer: Annotated[str | None, typer.Option(help="Only jobs younger than this, e.g. 2h.")] = None,
    larger: Annotated[str | None, typer.Option(help="Only jobs at least this large, e.g. 100MB.")] = None,
    scripts: Annotated[bool, typer.Option("--scripts", help="Also jobs of build scripts.")] = False,
    sort: Annotated[str, typer.Option(help="id, made, seconds, size, stage or partition.")] = "id",
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
) -> None:
    """List jobs: which stage and partition, what they took, whether anybody needs them."""
    from shortloop.cli.jobs import Filter, print_jobs

    print_jobs(Filter(stage, partition, settings, state, older, newer, larger, scripts), sort, reverse)


@app.command()
def runs(
    number: Annotated[int | None, typer.Argument(help="A run, to see it in full.")] = None,
    settings_to: Annotated[
        Path | None,
        typer.Option(
            "--settings-to", metavar="FILE", help="Write its settings, as they were, to a new file."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List all runs, not only the last.")] = False,
) -> None:
    """Runs of this project: when, what for, how many jobs were built and reused, how they ended."""
    from shortloop.cli.runs import print_run, print_runs, write_settings

    if settings_to is not None:
        if number is None:
            raise InputError(
                "settings are those of a run", hint="give its number: `shortloop runs` lists them"
            )
        write_settings(number, settings_to)
    elif number is not None:
        print_run(number)
    else:
        print_runs(every)


@app.command()
def harmless(
    stage: Annotated[str, typer.Argument(help="A stage, e.g. train.")],
    why: Annotated[
        str, typer.Argument(help="Why what changed cannot change its results; kept with the jobs.")
    ],
    script: Script = None,
    settings: SettingsFile = None,
) -> None:
    """Say that a change of code or libraries changes no result of a stage: its jobs are not built again."""
    from shortloop.cli.harmless import print_harmless
    from shortloop.jobs.build_scripts import chosen_script
    from shortloop.jobs.selection import Selection
    from shortloop.settings.variable import SETTINGS_VARIABLE

    if settings is not None:
        os.environ[SETTINGS_VARIABLE] = str(settings.absolute())
    Selection().into(os.environ)
    print_harmless(script or chosen_script(None), stage, why)


@app.command()
def verify(
    set_aside: Annotated[
        bool, typer.Option("--set-aside", help="Take damaged jobs out of use; their files stay.")
    ] = False,
) -> None:
    """Read all bytes of all jobs and of their input files. Status 1 if anything is not as it was.

    Left out are what jobs printed (OUTPUT/), files whose names begin with a dot, and jobs of build scripts.
    """
    from shortloop.cli.verify import verify_jobs

    raise typer.Exit(verify_jobs(set_aside))


@app.command()
def gc(
    delete: Annotated[bool, typer.Option("--delete", help="Delete them; otherwise only count.")] = False,
    older: Older = None,
    to: Annotated[
        str | None, typer.Option(help="Only as many as it takes for all jobs to fit, e.g. 20GB.")
    ] = None,
    forget: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Settings whose last run is not needed any more."),
    ] = None,
) -> None:
    """Delete jobs that nothing rests on, the oldest first, and leftovers. Their ids are not used again."""
    from shortloop.cli.gc import collect_garbage

    collect_garbage(delete, older, to, forget)
