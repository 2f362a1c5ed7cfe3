"""The ``shortloop`` commands and their parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from shortloop.cli import parameters as given
from shortloop.plan.selection import FAIL_FAST, Selection, prepared
from shortloop.project.system_errors import need_files

app = typer.Typer()
with_settings = typer.Typer()  # commands that need an analysis with a settings file
FEWEST_FILES = 16  # open at once, that exax needs to start a run


@with_settings.command()
def study(
    file: Annotated[Path | None, Argument(readable=False, help="Settings file to check.")] = None,
    quick: Annotated[bool, Option("--quick", help="Check only the file, without opening its data.")] = False,
    named: given.Named = None,
    as_json: given.Json = False,
) -> None:
    """Check a settings file and the data it names, and report every problem. Exit status 1 if any.

    Without a file, list all fields with units and defaults; --NAME selects the analysis.
    """
    from shortloop.cli.study import check_file, kind_of, list_fields

    kind = kind_of(named or (), file)
    if file is None:
        list_fields(kind, as_json)
    else:
        raise typer.Exit(check_file(kind, file, quick, as_json))


@app.command()
def init(folder: given.NewFolder, data: given.Data = None, named: given.Named = None) -> None:
    """Create a project that is ready to run: a small example, or an installed analysis with --NAME.

    Exit status 3 if the settings file has questions to answer before the first run.
    """
    from shortloop.analyses import find_analyses, selected
    from shortloop.cli.init import EXAMPLE, look_at_data, write_project

    analyses = find_analyses()
    if data is not None:
        raise typer.Exit(write_project(folder, *look_at_data(analyses, named or (), data, folder)))
    templates = {name: each.template for name, each in analyses.items() if each.template is not None}
    write_project(folder, selected(templates, named) if named else EXAMPLE)


@app.command()
def run(
    script: given.Script = None,
    settings: given.SettingsFile = None,
    until: given.Until = None,
    only: given.Only = None,
    partition: given.Partition = None,
    force: given.Force = None,
    take_over: given.TakeOver = False,
    verbose: Annotated[bool, Option("--verbose", help="Also show INFO log records.")] = False,
    fail_fast: given.FailFast = False,
) -> None:
    """Run a build script, starting a server if none is running."""
    from shortloop.cli.run import run_script
    from shortloop.exax.forked import leave
    from shortloop.exax.live_output import VERBOSE
    from shortloop.plan.settings_files import TAKE_OVER

    need_files(FEWEST_FILES)
    selection = Selection(until or "", only or "", partition or "", tuple(force or ()))
    flags = {TAKE_OVER: take_over, VERBOSE: verbose, FAIL_FAST: fail_fast}
    leave(run_script(script, settings, selection, {name: "1" for name, is_set in flags.items() if is_set}))


@with_settings.command(
    epilog="Each combination is an ordinary run: unaffected jobs are reused, so that a second sweep, or "
    "one resumed after Ctrl-C, builds only the missing jobs.\n\n"
    "The settings file is not modified. Each combination has its own results folder, for example "
    "results/NAME-decoding.folds-5+estimator.kind-lda; results/NAME-sweep compares them in a table (CSV) and "
    "a figure.\n\n"
    "If a combination fails, the others still run; the table lists the failure and the exit status is 1."
)
def sweep(
    file: Annotated[Path | None, Argument(readable=False, help=given.OWN_FILE)] = None,
    vary: given.Vary = None,
    together: given.Together = None,
    script: given.SweepScript = None,
) -> None:
    """Run a build script with each combination of settings and compare the results."""
    from shortloop.cli.study import kind_of
    from shortloop.cli.sweep import run_sweep
    from shortloop.exax.forked import leave

    need_files(FEWEST_FILES)
    leave(run_sweep(script or kind_of((), file).script, file, vary or [], together or []))


@app.command()
def plan(
    script: given.Script = None,
    settings: given.SettingsFile = None,
    until: given.Until = None,
    only: given.Only = None,
    partition: given.Partition = None,
    force: given.Force = None,
    every: Annotated[bool, Option("--all", help="List every job.")] = False,
    as_json: given.Json = False,
) -> None:
    """Show which jobs a run would build or reuse, why, and the expected time. Builds nothing."""
    from shortloop.cli.plan import print_plan

    selection = Selection(until or "", only or "", partition or "", tuple(force or ()))
    print_plan(prepared(script, settings, selection), every, as_json)


@app.command()
def graph(
    script: given.Script = None,
    settings: given.SettingsFile = None,
    by_partition: given.ByPartition = False,
    output: given.Picture = None,
    as_json: given.Json = False,
) -> None:
    """Show the graph of a pipeline: its stages, what each is made from, and what a run would do."""
    from shortloop.cli.lookup.graph import print_graph

    print_graph(prepared(script, settings, Selection()), by_partition, output, as_json)


@app.command()
def why(
    job: Annotated[str, Argument(help="Job id or stage, e.g. main-12 or train.")],
    settings: given.SettingsName = None,
    full: Annotated[bool, Option("--full", help="Print code differences in full.")] = False,
    as_json: given.Json = False,
) -> None:
    """Explain why a job, or each job of a stage in the latest run, was built and not reused."""
    from shortloop.cli.lookup.why import print_why

    print_why(job, settings, full, as_json)


@app.command()
def show(job: Annotated[str, Argument(help="Job id, e.g. main-12.")], as_json: given.Json = False) -> None:
    """Show how a job was made (code, inputs, options), why, its cost and its contents."""
    from shortloop.cli.lookup.show import show_job

    show_job(job, as_json)


@app.command()
def logs(
    job: Annotated[str, Argument(help="Job id or stage, e.g. main-12 or train.")],
    partition: Annotated[given.Text, Option(help="Only the stage's job for this partition.")] = None,
    unit: Annotated[given.Text, Option(metavar="NAME", help="Only the output of this unit.")] = None,
    follow: Annotated[bool, Option("--follow", "-f", help="Keep printing until the job has ended.")] = False,
) -> None:
    """Print the output of a job, or of a stage's newest jobs, even while they run or after they failed."""
    from shortloop.cli.lookup.logs import print_logs

    print_logs(job, partition, unit, follow)


@app.command()
def board(
    port: Annotated[int, Option(help="Port; default: a free one.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Open a local page of the pipeline's graph, runs, jobs, logs and results, live while a run goes on."""
    from shortloop.cli.board import open_board

    raise typer.Exit(open_board(port, not no_browser))


@app.command()
def profile(
    job: Annotated[str | None, Argument(help="Job id or stage; default: the latest run.")] = None,
    last: Annotated[bool, Option("--last", help="The longest job that the latest run built.")] = False,
    run: Annotated[int | None, Option(metavar="NUMBER", help="A run, of which no job is repeated.")] = None,
    time: Annotated[bool, Option("--time", help="Functions, by cProfile (default).")] = False,
    lines: Annotated[bool, Option("--lines", help="Lines of functions, by line_profiler.")] = False,
    function: Annotated[list[str] | None, Option(help="With --lines: of this one. Repeatable.")] = None,
    memory: Annotated[bool, Option("--memory", help="Allocations, by memray.")] = False,
    sample: Annotated[bool, Option("--sample", help="Stacks of all processes, by py-spy.")] = False,
    timeline: given.Timeline = None,
    output: Annotated[Path | None, Option(help="Folder to write to; default: profile/ in results.")] = None,
    as_json: given.Json = False,
) -> None:
    """Show where the time or memory of a job goes: it is repeated in a scratch folder, the cache untouched.

    Of a stage, the longest job. Without a job, show which jobs of a run decide how long it takes.
    """
    from shortloop.cli.profile import chosen_job, chosen_profiler, print_run_times, profile_job

    how = chosen_profiler({"time": time, "lines": lines, "memory": memory, "sample": sample}, function)
    if job is None and not last:
        print_run_times(run, how, timeline, as_json)
    else:
        profile_job(chosen_job(job, last, run), how or "time", function or [], timeline, output, as_json)


@app.command()
def isolate(
    job: Annotated[str, Argument(help="Job id or stage, e.g. main-12 or train: its newest job.")],
    unit: Annotated[str | None, Option(metavar="NAME", help="This unit; default: the first, or all.")] = None,
    debug: Annotated[bool, Option("--debug", help="Open pdb where the first unit fails.")] = False,
    dummy: Annotated[bool, Option("--dummy", help="Random inputs of the same shapes and types.")] = False,
    script: Annotated[Path | None, Option(help="Write a script that does this, e.g. for a notebook.")] = None,
) -> None:
    """Open a stage alone in one process, on the inputs of a job: a Python session. The cache is untouched."""
    from shortloop.cli.isolate import isolate_stage

    isolate_stage(job, unit, debug, dummy, script)


@app.command()
def limits(
    again: Annotated[bool, Option("--again", help="Measure again.")] = False, as_json: given.Json = False
) -> None:
    """Show what this machine can do: arithmetic, memory, disk and processes. Measured once, and kept."""
    from shortloop.cli.lookup.limits import print_limits

    print_limits(again, as_json)


@app.command()
def history(
    stage: Annotated[str, Argument(help="Stage, e.g. train.")],
    partition: Annotated[given.Text, Option(help="Only jobs of this partition.")] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Draw it: FILE.svg, .png or .pdf.")] = None,
    as_json: given.Json = False,
) -> None:
    """Show how fast a stage was in past runs, and point out where it became slower."""
    from shortloop.cli.lookup.history import print_history

    print_history(stage, partition, output, as_json)


@app.command()
def export(
    job: Annotated[str, Argument(help="Job id, e.g. main-12.")],
    ro_crate: Annotated[Path, Option("--ro-crate", help="Workflow Run RO-Crate: a new folder, or FILE.zip.")],
    inputs: Annotated[bool, Option("--inputs", help="With the input files, not only their hashes.")] = False,
    as_json: given.Json = False,
) -> None:
    """Write a job with its provenance, to archive it: results, code, options, versions and hashes."""
    from shortloop.cli.output import print_json, print_lines
    from shortloop.provenance import write_crate

    write_crate(job, ro_crate, inputs)
    if as_json:
        print_json(job=job, file=ro_crate)
    else:
        print_lines(f"written: {ro_crate}, a Workflow Run RO-Crate of {job} and all that it was made from")


@app.command()
def compare(
    first: Annotated[str, Argument(help="Job id, e.g. main-12.")],
    second: Annotated[str, Argument(help="Job id of the same stage, e.g. main-31.")],
    figure: given.ComparedFigure = None,
    as_json: given.Json = False,
) -> None:
    """Compare two jobs of a stage: their code, options, inputs and results."""
    from shortloop.analyses import find_analyses
    from shortloop.cli.lookup.compare import compare_jobs

    compare_jobs(first, second, figure, [*find_analyses().values()], as_json)


@app.command()
def jobs(
    stage: Annotated[given.Text, Option(help="Only jobs of this stage.")] = None,
    partition: Annotated[given.Text, Option(help="Only jobs of this partition.")] = None,
    settings: given.SettingsName = None,
    state: Annotated[given.Text, Option(help="Only jobs in this state, e.g. superseded.")] = None,
    older: given.Older = None,
    newer: Annotated[given.Text, Option(help="Only jobs younger than this, e.g. 2h.")] = None,
    larger: Annotated[given.Text, Option(help="Only jobs at least this large, e.g. 100MB.")] = None,
    scripts: Annotated[bool, Option("--scripts", help="Include jobs of build scripts.")] = False,
    sort: Annotated[str, Option(help="Sort by id, made, seconds, size, stage or partition.")] = "id",
    reverse: Annotated[bool, Option("--reverse", help="Reverse the order.")] = False,
    as_json: given.Json = False,
) -> None:
    """List jobs with their stage, partition, cost and whether they are still needed."""
    from shortloop.cli.lookup.jobs import Filter, print_jobs

    wanted = Filter(stage, partition, settings, state, older, newer, larger, scripts)
    print_jobs(wanted, sort, reverse, as_json)


@app.command()
def runs(
    number: Annotated[int | None, Argument(help="Run to show in full.")] = None,
    settings_to: given.SettingsTo = None,
    every: Annotated[bool, Option("--all", help="List all runs, not only the latest.")] = False,
    as_json: given.Json = False,
) -> None:
    """List runs with their start, settings, number of jobs built and reused, and exit status."""
    from shortloop.cli.lookup.runs import look_at_runs

    look_at_runs(number, settings_to, every, as_json)


@app.command()
def harmless(
    stage: Annotated[str, Argument(help="Stage, e.g. train.")],
    why: given.Reason,
    script: given.Script = None,
    settings: given.SettingsFile = None,
) -> None:
    """Declare that changed code or libraries do not affect a stage's results, so that its jobs are reused."""
    from shortloop.cli.plan import print_harmless

    print_harmless(prepared(script, settings, Selection()), stage, why)


@app.command()
def verify(set_aside: given.SetAside = False, as_json: given.Json = False) -> None:
    """Verify every byte of all jobs and their input files. Exit status 1 if anything changed.

    Skips printed output (OUTPUT/), files whose names begin with a dot, and jobs of build scripts.
    """
    from shortloop.cli.verify import verify_jobs

    raise typer.Exit(verify_jobs(set_aside, as_json))


@app.command()
def gc(
    delete: given.Delete = False,
    older: given.Older = None,
    to: given.FitsInto = None,
    forget: given.Forget = None,
    as_json: given.Json = False,
) -> None:
    """Delete jobs that no latest run uses, oldest first, and leftover files. Job ids are never reused."""
    from shortloop.cli.gc import collect_garbage

    collect_garbage(delete, older, to, forget, as_json)


@app.command()
def cache(
    settings: given.SettingsFile = None,
    push: Annotated[bool, Option("--push", help="Push all finished jobs that nobody has pushed.")] = False,
    collect: given.Collect = False,
    older: given.Older = None,
    to: given.FitsInto = None,
    as_json: given.Json = False,
) -> None:
    """Show what is in the shared cache of jobs, push finished jobs to it, or delete old ones there."""
    from shortloop.cli.cache import use_cache

    use_cache(settings, push, collect, older, to, as_json)
