"""Running a pipeline: it is called once to plan it, and once more to have exax build what is not there."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from shortloop.engines.running import RunningEngine, forget_early_results, running_engine
from shortloop.errors import InputError
from shortloop.jobs.begin import begun
from shortloop.jobs.build import Order, make
from shortloop.jobs.coming import Coming, has_units
from shortloop.jobs.dry_run import DryRun
from shortloop.jobs.earlier_notes import earlier_notes
from shortloop.jobs.events import Ended, Listener, Reading, Started
from shortloop.jobs.exax import preload
from shortloop.jobs.exax.client import Urd
from shortloop.jobs.exax.cost import Meter
from shortloop.jobs.exax.datasets import prepare_script
from shortloop.jobs.exax.listener import slices_now
from shortloop.jobs.exax.loading import load_from_source
from shortloop.jobs.exax.tracebacks import user_traceback
from shortloop.jobs.explain.outcome import outcome
from shortloop.jobs.explain.phrases import counted
from shortloop.jobs.keys.code import at_one_moment
from shortloop.jobs.keys.key import Parts
from shortloop.jobs.keys.methods import find_method
from shortloop.jobs.letters import print_any_letter
from shortloop.jobs.lookup import Lookup, reused
from shortloop.jobs.namesakes import files_of, named_files, options_of, problem_of
from shortloop.jobs.part import ASKED, Part, choose, lacking
from shortloop.jobs.pipeline import Built, NotThereYet, Pipeline, Run, follow
from shortloop.jobs.planner import Planner
from shortloop.jobs.progress import Progress
from shortloop.jobs.project import in_project, project_directory
from shortloop.jobs.request import Request
from shortloop.jobs.runs import Recorder
from shortloop.jobs.selection import Selection
from shortloop.jobs.settings_files import SettingsFile
from shortloop.jobs.store.declarations import withdraw
from shortloop.jobs.store.inputs import keep_hashes, point_to, register
from shortloop.jobs.store.store import Store
from shortloop.jobs.termination import say_why
from shortloop.settings.engine import ENGINE_TABLE, EngineSettings, engine_settings
from shortloop.text import one_line
from shortloop.worker.fields import BEFORE
from shortloop.worker.inputs import File
from shortloop.worker.records import EARLIER

__all__ = ["Executor", "run_pipeline"]

ATTEMPTS = 3  # to build a job whose code is edited meanwhile
EARLIER_JOBS = 20  # that are asked for rows of units


class Executor(Run):
    """Builds the jobs of a pipeline, one after the other.

    Parameters
    ----------
    lookup : Lookup
        Finds what is there.
    urd : Urd
        As exax gives it to a build script.
    tell : callable
        Is told what happens; see `shortloop.jobs.events`.
    meter : Meter, optional
        Measures what jobs cost.
    part : Part, optional
        Which jobs to build; others are only looked up. Default: all.
    engine : RunningEngine, optional
        Computes units of jobs. Default: slices.
    coming : Coming, optional
        Which jobs the engine is told of early. Default: none.
    """

    def __init__(
        self,
        lookup: Lookup,
        urd: Urd,
        tell: Listener,
        meter: Meter | None = None,
        part: Part | None = None,
        engine: RunningEngine | None = None,
        coming: Coming | None = None,
    ) -> None:
        super().__init__(lookup.pipeline)
        self.done: list[Built] = []
        """Its jobs that are there, without those that are only looked up."""
        self._lookup = lookup
        self._urd = urd
        self._tell = tell
        self._meter = meter or Meter()
        self._part = part or Part()
        self._engine = engine
        self._coming = coming
        self._files: dict[str, Path] = {}  # of the run, and of the job that is asked for
        self._given: dict[str, Path] = {}

    def build(
        self,
        stage: str,
        *,
        partition: str | None = None,
        modules: Sequence[str] = (),
        datasets: Mapping[str, object] | None = None,
        **arguments: object,
    ) -> Built:
        """Find a job, or have it built; see `Run.build`."""
        number = len(self.jobs)
        with at_one_moment():
            wanted = self._lookup.request(stage, partition, modules, arguments, datasets)
            if not self._part.has(number, stage, partition):
                self.jobs.append(self._lookup.look(wanted))
                self._lookup.places.pop(wanted.place, None)  # which stays as it was
                return self.jobs[-1]
            parts = wanted.parts()
        if self._part.selection.only:
            lacking(self._part.selection, wanted.above())
        self._tell(Started(stage, partition, wanted.variant))
        self._given = files_of(arguments)
        built, said = self._found_or_made(wanted, parts, number in self._part.forced, options_of(arguments))
        self.jobs.append(built)
        self.done.append(built)
        self._tell(Ended(built))
        for note in built.notes() if built.fresh else ():
            print(one_line(f"note: {note}"), flush=True)
        if said:
            print(one_line(said), flush=True)
        if built.rejected:
            raise InputError(problem_of(built, wanted.above(), {**self._files, **self._given}))
        return built

    def files(self, paths: Sequence[Path]) -> list[File]:
        """Input files, read if their content is not known."""
        paths = [project_directory() / path for path in paths]
        found = register(paths, lambda *how_far: self._tell(Reading(*how_far)))
        self._files |= dict(zip(found, paths, strict=True))
        return named_files(found, paths)

    def _found_or_made(
        self, wanted: Request, parts: Parts, forced: bool, files: Sequence[tuple[str, Path]]
    ) -> tuple[Built, str]:
        """The job, and how it came out if it was there and is built anew."""
        for _ in range(ATTEMPTS):
            found = self._lookup.find(wanted, parts)
            if found is not None and not forced:
                return found, ""
            preload.announce(wanted.stage, wanted.modules)
            self._announce(wanted)
            point_to(files)  # where files of others have the same content
            keep_hashes()  # which the job looks up
            order = self._order(wanted, parts, anew=found is not None)
            made = make(self._urd, self._lookup.store, order, self._meter)
            now = wanted.parts()
            if isinstance(made, str):
                changed = made
            elif now == parts:
                job, fresh = made
                self._lookup.places[wanted.place] = job.job
                reason = order.reason if fresh else ""
                built = replace(reused(job, wanted), fresh=fresh, plan="", reason=reason)
                if EARLIER in order.options:
                    built = built.with_units()
                return built, "" if found is None else self._outcome(found.job, job.job, order.key)
            else:
                changed = "the code changed"
                print(
                    f"the code of {wanted.stage} was edited while {made[0].job} ran, so it is built again",
                    flush=True,
                )
            parts = now
        raise InputError(
            "the code, or what it runs on, goes on changing while a job runs",
            file=find_method(wanted.stage)[1],
            found=changed,
            hint="run again when it is as it should be; if nobody edits it, end the server and run again",
        )

    def _announce(self, wanted: Request) -> None:
        """Tell the engine that a job comes next, and which come later."""
        engine = self._engine
        if engine is not None:
            engine.announce(lambda: self._seconds_here(wanted))
            if self._coming is not None and engine.is_there:
                later, over = self._coming.after(self.jobs, engine.packed, self._seconds_here)
                engine.coming(has_units(wanted.stage), later, over)

    def _seconds_here(self, wanted: Request) -> float | None:
        """Seconds that this machine would take for a job: by the one in its place before, or by others of
        its stage. Workers elsewhere, which may have made that one, may have been more than are here."""
        before = self._lookup.before(wanted)
        if before is None or "seconds" not in before.cost:
            return self._lookup.store.index.seconds().get(wanted.stage)
        if "cpu_seconds" not in before.cost:
            return before.cost["seconds"]
        return before.cost["cpu_seconds"] / slices_now()

    def _outcome(self, before: str, now: str, key: str) -> str:
        store = self._lookup.store
        store.written()
        old, new = store.manifest_of(before), store.manifest_of(now)
        if old is None or new is None:
            return ""
        if old.content != new.content and withdraw(store, before, key):
            return f"{outcome(old, new, declared=True)}; that declaration is withdrawn"
        return outcome(old, new)

    def _order(self, wanted: Request, parts: Parts, anew: bool) -> Order:
        ids, base = wanted.ids(), wanted.base(parts)
        before = self._lookup.before(wanted)
        store = self._lookup.store
        options, alike = wanted.sent, dict[str, str]()
        previous = "" if before is None else before.job
        if base and not anew:  # else it would take over what it is to compute
            most = -1 if wanted.grows else EARLIER_JOBS
            found = store.find_alike(base, previous, wanted.partition, most)
            alike = {each.job: each.libraries for each in found if not each.rejected}
            if alike and wanted.grows:
                ids[BEFORE] = most_grown = max(alike, key=lambda job: self._amount(job, wanted.grows))
                alike = {most_grown: alike[most_grown]}
            elif alike:
                alike = dict(islice(alike.items(), EARLIER_JOBS))
                options = {**options, EARLIER: [*alike]}
        return Order(
            method=wanted.stage,
            options=options,
            jobs=ids,
            datasets=wanted.dataset_ids(),
            paths=wanted.paths,
            caption=one_line(" ".join(filter(None, (wanted.stage, wanted.partition)))),
            parts=parts,
            base=base,
            units=wanted.of_units,
            partition=wanted.partition,
            pipeline=self.name,
            reason=ASKED if anew else self._lookup.reason(wanted, parts),
            previous=previous,
            modules=wanted.modules,
            anew=anew,
            libraries={name: each for of in alike.values() for name, each in json.loads(of).items()},
        )

    def _amount(self, job: str, grows: str) -> float:
        manifest = self._lookup.store.manifest_of(job)
        amount = None if manifest is None else manifest.parts.options[grows]
        return float(amount) if isinstance(amount, int | float) else -1


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

    started = time.time()
    if isinstance(urd, DryRun):
        return urd.plan(pipeline, name, settings)
    print_any_letter()
    load_from_source()
    prepare_script()
    try:
        selection, engine = Selection.given(), _engine(settings)
        with (
            begun(name, settings, selection.words) as (store, record),
            in_project(),
        ):
            plan = Planner(Lookup(store, name))
            plan.follow(pipeline)
            part = choose(selection, plan, store.index)
            if settings is not None:
                settings.note(store.index)
            run, last = _execute(urd, pipeline, store, plan, part, record, engine)
            if finish is not None and any(job is last for job in run.done):
                finish(run, last, time.time() - started)
            elif finish is not None:
                print(f"{last.stage} is not part of this run, so no results are delivered")
            fresh = sum(job.fresh for job in run.jobs)
            for line in earlier_notes(run.jobs):
                print(line)
        seconds = time.time() - started
        print(f"{counted(fresh, 'job')} built, {len(run.jobs) - fresh} reused, {seconds:.1f} s")
    except InputError as error:
        say_why(error)
        return 1
    except KeyboardInterrupt:
        print("interrupted: finished jobs are kept; run again to go on", file=sys.stderr, flush=True)
        return 130
    except Exception as error:
        if not isinstance(error, JobError):  # what a job has said was printed
            print(user_traceback(error), file=sys.stderr, flush=True)
        return 1
    return 0


def _engine(settings: SettingsFile | None) -> EngineSettings:
    """Which engine computes the units of jobs, as the environment or the run's settings say."""
    table = None if settings is None else settings.table(ENGINE_TABLE)
    return engine_settings(table, None if settings is None else settings.file)


def _execute(
    urd: Urd,
    pipeline: Pipeline,
    store: Store,
    plan: Planner,
    part: Part,
    record: Recorder,
    engine: EngineSettings,
) -> tuple[Executor, Built]:
    name, meter = plan.name, Meter()
    lookup = Lookup(store, name)

    def planned() -> Planner:
        again = Planner(Lookup(store, name))
        again.follow(pipeline)
        return again

    if part.forced:  # they may be asked for as something was wrong with the machine
        forget_early_results()
    with (
        running_engine(engine, slices_now()) as running,
        Progress(part.plan, store.index.seconds(), meter.fraction) as progress,
    ):
        coming = Coming(plan, planned, part, store, slices_now())
        run = Executor(lookup, urd, progress.on, meter, part, running, coming)
        record.jobs = run.done
        try:
            last = follow(pipeline, run)
        except NotThereYet as error:
            if len(run.done) < len(part.chosen):
                raise InputError(
                    "the pipeline asks for results of a job that is not there",
                    found=error.job.name,
                    hint="run all of the pipeline",
                ) from None
            last = error.job  # all that was asked for is there
        finally:
            preload.forget()
            keep_hashes()
            store.index.put_in_places(lookup.places)
        if part.is_whole:
            store.index.ended(name, lookup.places)
    run.jobs[:] = run.done  # what others see of this run
    return run, last
