"""Execute a pipeline: call it again with jobs that are built."""

from __future__ import annotations

import os
import sys

from shortloop.base.errors import InputError
from shortloop.base.text import counted, one_line, short_list
from shortloop.engines.running import RunningEngine, running_engine
from shortloop.exax.cost import Meter
from shortloop.exax.listener import slices_now
from shortloop.exax.live_output import VERBOSE, LiveOutput
from shortloop.exax.patches import preload
from shortloop.exax.submission import Urd
from shortloop.plan.part import Part
from shortloop.plan.pipeline import Built, NotThereYet, Pipeline, follow
from shortloop.plan.planner import Lookup, Planner
from shortloop.plan.selection import FAIL_FAST
from shortloop.run.build_job import cores_of_jobs
from shortloop.run.build_jobs import Executor
from shortloop.run.progress import Progress
from shortloop.run.ready_jobs import Schedule
from shortloop.run.runs import Recorder
from shortloop.run.scheduler import Machine
from shortloop.settings.engine import EngineSettings
from shortloop.store.inputs import keep_hashes
from shortloop.store.store import Store
from shortloop.units.messages import SLICES

__all__ = ["execute"]

LISTED = 12  # names in a message


def execute(
    urd: Urd,
    pipeline: Pipeline,
    store: Store,
    plan: Planner,
    part: Part,
    record: Recorder,
    engine: EngineSettings,
) -> tuple[Executor, Built]:
    """Build the jobs of a part of a pipeline, and find those that are there; the run, and the last job."""
    from accelerator.error import JobError

    name, meter = plan.name, Meter()
    lookup = Lookup(store, name)

    def planned() -> Planner:
        again = Planner(Lookup(store, name))
        again.follow(pipeline)
        return again

    history = store.index.seconds()
    schedule = Schedule(plan, planned, part, history)
    with (
        running_engine(engine, slices_now()) as running,
        Progress(part.plan, history, meter.fraction) as progress,
        LiveOutput(progress.say, VERBOSE in os.environ) as output,
        Executor(lookup, urd, progress.on, meter, part, running, schedule, _machine(running), output) as run,
    ):
        record.jobs, record.utilisation = run.done, run.utilisation
        run.scheduler.keeps_going = not os.environ.get(FAIL_FAST)
        try:
            last = follow(pipeline, run)
        except (InputError, JobError) as error:
            _go_on(run, error)
            raise
        except NotThereYet as error:
            if len(run.done) < len(part.chosen):
                raise InputError(
                    "the pipeline needs the results of a job that is not built",
                    found=error.job.name,
                    hint="run the whole pipeline",
                ) from None
            last = error.job  # all that was asked for is there
        finally:
            preload.forget()
            keep_hashes()
            store.index.put_in_places(lookup.places)
        if part.is_whole:
            store.index.finish_pipeline(name, lookup.places)
        run.jobs[:] = run.done  # what others see of this run
    return run, last


def _machine(engine: RunningEngine) -> Machine:
    slices, settings = slices_now(), engine.settings
    cores = cores_of_jobs(slices)
    if settings.name == SLICES:
        return Machine(cores)
    return Machine(cores, settings.name, settings.workers or slices, settings.address is None)


def _go_on(run: Executor, error: BaseException) -> None:
    """Build what needs none of the jobs that failed, and say what failed and what is left."""
    scheduler = run.scheduler
    if not scheduler.can_go_on:
        return
    if scheduler.keeps_going:
        scheduler.drain()
    for job in scheduler.failures():  # what exax says of jobs was printed, and `error` will be
        said = job.error if job.built is None else InputError(run.problem_of(job))
        if isinstance(said, InputError) and str(said) != str(error):
            print(f"{one_line(job.wanted.caption)}: {said}", file=sys.stderr, flush=True)
    names = [job.wanted.caption for job in scheduler.failures()]
    left = [each.caption for each in scheduler.left]
    if len(names) > 1:
        print(f"{len(names)} jobs failed: {short_list(names, LISTED)}", flush=True)
    if left:
        why = "they need what failed" if scheduler.keeps_going else "of --fail-fast"
        print(f"{counted(len(left), 'job')} not built, because {why}: {short_list(left, LISTED)}", flush=True)
