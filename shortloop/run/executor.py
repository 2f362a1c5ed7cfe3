"""Run a pipeline: plan it, then build the missing jobs."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import shortloop.run.progress  # noqa: F401  which keeps the terminal before exax puts another one in its place
from shortloop.base.errors import InputError
from shortloop.base.text import counted, one_line, substitute_unencodable
from shortloop.exax.client import Urd, of_server
from shortloop.exax.datasets import prepare_script
from shortloop.exax.listener import answers, is_idle, slices_now, watched
from shortloop.exax.patches.loading import load_from_source
from shortloop.exax.tracebacks import user_traceback
from shortloop.plan.dry_run import DryRun
from shortloop.plan.pipeline import Built, Pipeline, Run
from shortloop.plan.planner import Planner
from shortloop.plan.selected_part import choose
from shortloop.plan.selection import Selection
from shortloop.plan.settings_files import SettingsFile, cache_of
from shortloop.project.project import cache_directory, configuration, configuration_file, in_project, keep
from shortloop.run.runs import Recorder, recorded
from shortloop.run.sharing import sharing
from shortloop.run.termination import explain_errors, print_error, signals_raise
from shortloop.settings.engine import ENGINE_TABLE, engine_settings
from shortloop.store.inputs import keep_hashes, register
from shortloop.store.store import Store
from shortloop.store.workdir import only_run

PREPARE = "shortloop.prepare"
ENDING, LOOK_EVERY = 5.0, 0.02  # s that a job may take to end when it was told to


def run_pipeline(
    urd: Urd,
    pipeline: Pipeline,
    finish: Callable[[Run, Built, float], None] | None = None,
    *,
    name: str,
    settings: SettingsFile | None = None,
) -> int:
    """Run a pipeline; the ``main`` of a build script.

    Parameters
    ----------
    urd : Urd
        As exax gives it to a build script.
    pipeline : callable
        Takes a `Run`, builds the jobs, returns the last one.
    finish : callable, optional
        Takes the run, the last job and the seconds it all took, when all is built.
    name : str
        Name of the pipeline, part of the place of each job: a job is compared with the one that was in its
        place when a pipeline of this name was last run.
    settings : SettingsFile, optional
        The file that its settings were read from, if they have a name of their own.

    Returns
    -------
    int
        Exit status: 0; 1 after a message if something is not as it must be; 130 when interrupted.
    """
    from accelerator.error import JobError

    started, plan = time.time(), None
    if isinstance(urd, DryRun):
        status = urd.plan(pipeline, name, settings)
        if not urd.goes_on:
            return status
        plan = urd.plans[-1]
    substitute_unencodable()
    load_from_source()
    prepare_script()
    try:
        table = settings.table(ENGINE_TABLE) if settings else None
        selection, engine = Selection.given(), engine_settings(table, settings.file if settings else None)
        with (
            begin_run(name, settings, selection.words) as (store, record),
            in_project(),
            sharing(store, cache_of(settings)) as shared,
        ):
            plan = plan or Planner.of(pipeline, store, name)
            plan.lookup.store = store
            part = choose(selection, plan, store.index)
            if settings is not None:
                settings.note(store.index)
            run: Run = plan
            last = None if selection.words else _reused(plan, store, record)
            if last is None:
                from shortloop.run.build_jobs import execute  # a run that builds nothing has no need of it

                run, last = execute(of_server(urd), pipeline, store, plan, part, record, engine, shared)
            if finish is not None and any(job is last for job in run.jobs):
                finish(run, last, time.time() - started)
            elif finish is not None:
                print(f"{last.stage} is not part of this run, so no results are delivered")
            fresh = sum(job.fresh for job in run.jobs)
            for line in earlier_notes(run.jobs):
                print(line)
        seconds = time.time() - started
        print(f"{counted(fresh, 'job')} built, {len(run.jobs) - fresh} reused, {seconds:.1f} s")
    except InputError as error:
        print_error(error)
        return 1
    except KeyboardInterrupt:
        print("interrupted: finished jobs are kept; run again to go on", file=sys.stderr, flush=True)
        return 130
    except Exception as error:
        if not isinstance(error, JobError):  # what a job has said was printed
            print(user_traceback(error), file=sys.stderr, flush=True)
        return 1
    return 0


def _reused(plan: Planner, store: Store, record: Recorder) -> Built | None:
    """Find the last job if all jobs of a plan are finished."""
    if not plan.is_there or register([*plan.given]) != [*plan.given.values()]:
        return None
    keep_hashes()
    record.jobs = plan.jobs
    store.index.put_in_places(plan.lookup.places)
    store.index.finish_pipeline(plan.name, plan.lookup.places)
    return plan.last


def earlier_notes(jobs: Iterable[Built]) -> list[str]:
    """Count notes of reused jobs in a line, and name the command that shows them."""
    reused = {f"{job.job} {job.content}": job for job in jobs if not job.fresh}
    file = cache_directory("notes") / "counts.json"  # because reading hundreds of records takes long
    try:
        known = json.loads(file.read_text(encoding="ascii"))
        counts = {name: int(known[name]) for name in reused}
    except (OSError, ValueError, KeyError, TypeError):
        counts = {name: len(job.notes()) for name, job in reused.items()}
        keep(file, json.dumps(counts))
    if not (noted := [reused[name].job for name, count in counts.items() if count]):
        return []
    more = f", and {len(noted) - 1} jobs more" if len(noted) > 1 else ""
    return [f"{counted(sum(counts.values()), 'note')} of earlier runs: shortloop show {noted[0]}{more}"]


@contextmanager
def begin_run(
    name: str, settings: SettingsFile | None = None, part: str = ""
) -> Iterator[tuple[Store, Recorder]]:
    """Begin a run: nobody else builds jobs, signals end it with its job, and a record of it is kept."""
    with (
        recorded(name, settings, part) as record,
        explain_errors(),
        signals_raise(),
        only_run(name),
        watched(),
        Store(slices_now) as store,
    ):
        _begin(store, settings)
        store.index.start_pipeline(name, settings.name if settings else "")
        try:
            yield store, record
        except (KeyboardInterrupt, SystemExit):
            _tell_kept(store)
            raise


def _tell_kept(store: Store) -> None:
    """Print how many units of the job that this run ended are kept."""
    with contextlib.suppress(Exception):  # the server may have been ended as well
        deadline = time.monotonic() + ENDING
        while not (idle := is_idle()):  # of one that is stopped, it says so at once
            if idle is None or time.monotonic() > deadline:
                return
            time.sleep(LOOK_EVERY)
        for line in store.tidy():
            print(one_line(line), flush=True)


def _begin(store: Store, settings: SettingsFile | None) -> None:
    """Check that the run may begin, and clean up after interrupted runs."""
    if (first := next(iter(configuration().method_directories))) != PREPARE:
        raise InputError(
            "Shortloop is not the first method package, so exax's processes are not prepared",
            file=configuration_file(),
            field="method packages",
            found=f"{first} is the first",
            expected=f"{PREPARE} auto-discover, before all others",
            hint="add that line, and restart a running server",
        )
    if not store.index.kept:
        problem = "this run may not write the project's index of jobs"
        hint = "run as the owner of the project, or in a copy of it"
        raise InputError(problem, file=", ".join(configuration().workdirs.values()), hint=hint)
    answers()  # exax itself would wait for ever for one that is stopped
    if is_idle():  # else somebody's job, that is not ours, is not finished yet
        for line in store.tidy():
            print(one_line(line))
    if settings is not None and (taken := settings.take_over(store.index)):
        print(one_line(taken))
