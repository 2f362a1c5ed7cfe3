"""Execute a pipeline: build the jobs that it requests, each when its inputs are ready."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from accelerator.error import JobError

from shortloop.base.errors import InputError, JobFailed
from shortloop.base.text import counted, one_line, short_list
from shortloop.engines.engine_lifetime import RunningEngine
from shortloop.exax.client import Exax, Urd
from shortloop.exax.cost import Meter, limited
from shortloop.exax.listener import slices_now
from shortloop.exax.live_output import VERBOSE, LiveOutput
from shortloop.exax.patches import preload
from shortloop.exax.patches.preload import Lane
from shortloop.keys.file_state import at_one_moment
from shortloop.keys.key import Parts
from shortloop.keys.methods import find_method
from shortloop.plan.pipeline import Built, Call, NotThereYet, Pipeline, Run, as_reused, follow
from shortloop.plan.planner import TAKEN, Lookup, Planner, reused
from shortloop.plan.request import Request, files_of, named_files, options_of, problem_of
from shortloop.plan.selected_part import Part, require_inputs
from shortloop.plan.selection import FAIL_FAST
from shortloop.run.build_job import Order, cores_of_jobs, make, order_for
from shortloop.run.progress import Progress
from shortloop.run.ready_jobs import Schedule
from shortloop.run.runs import Recorder
from shortloop.run.scheduler import Job, Machine, Scheduler, Turn
from shortloop.run.sharing import Sharing, prefetched
from shortloop.settings.engine import NAMES, EngineSettings
from shortloop.stages.inputs import File
from shortloop.stages.needs import Needs
from shortloop.stages.records import EARLIER, RECORD, RETRIED
from shortloop.store.inputs import content_of, keep_hashes, note_locations
from shortloop.store.integrity import NOTES
from shortloop.store.manifest import StoredJob
from shortloop.store.store import Store, withdraw

ATTEMPTS = 3  # to build a job whose code is edited meanwhile
WORTH_A_SHARE = 1.0  # s
LISTED, NAMED = 12, 6  # jobs and files in a message


class Executor(Run, AbstractContextManager["Executor"]):
    """Builds the jobs of a pipeline: those that it asks for, and meanwhile others of its plan."""

    def __init__(
        self,
        lookup: Lookup,
        urd: Urd,
        progress: Progress,
        part: Part | None = None,  # other jobs are only looked up
        engine: RunningEngine | None = None,  # None: slices
        schedule: Schedule | None = None,  # None: no job is built before the pipeline asks for it
        machine: Machine | None = None,
        output: LiveOutput | None = None,
        shared: Sharing | None = None,
    ) -> None:
        super().__init__(lookup.pipeline)
        self.done: list[Built] = []  # its finished jobs, without those that are only looked up
        self._lookup = lookup
        self._urd = urd
        self._exax = urd if isinstance(urd, Exax) else None
        self._progress = progress
        self._meter = Meter()
        self._part = part or Part()
        self._engine = engine
        self._shared = shared
        self._output = output or LiveOutput(lambda line: None)
        self._seen: dict[object, Any] = {}  # of code, since something last took time
        self._files: dict[str, Path] = {}  # by content
        self._made_here: set[str] = set()  # keys of jobs that this run has made
        self._machine = machine or Machine(1)
        self._turn = Turn()
        self._turn.changed.acquire()  # it is of this thread until the end, but while that waits
        jobs = self._make, self._find, self._begin, self._end_jobs
        self._schedule = schedule or Schedule(Planner(lookup), lambda: Planner(lookup), Part(), {})
        self.scheduler = Scheduler(*jobs, self._turn, self._machine, self._schedule, self._exax)
        if self._exax:
            self._exax.released, self._exax.is_followed = self._turn.released, self.scheduler.expects

    def __exit__(self, *error: object) -> None:
        self.scheduler.abort()
        if self.scheduler.began is not None and self._exax:
            self._exax.close()
        ahead = (job.built for job in self.scheduler.jobs.values() if not job.is_requested)
        self.done += [built for built in ahead if built is not None]

    def ask(self, stage: str, partition: str | None, call: Call) -> Built:
        """Find a job or build it; see `Run.build`."""
        number = len(self.jobs)
        with at_one_moment(self._seen):
            wanted = self._lookup.request(stage, partition, call)
            if not self._part.has(number, stage, partition):
                self.jobs.append(self._lookup.look(wanted))
                self._lookup.places.pop(wanted.place, None)  # which stays as it was
                return self.jobs[-1]
            parts = wanted.parts()
        if self._part.selection.only:
            require_inputs(self._part.selection, wanted.above())
        self._files |= files_of(call.arguments)
        job = self.scheduler.get(wanted, parts, number in self._part.forced)
        built = job.built
        assert built is not None
        if not job.was_started:
            self._progress.started((stage, partition, wanted.variant))
            self._ended(built)
        self.jobs.append(built)
        self.done.append(built)
        if built.rejected:
            raise InputError(self.problem_of(job))
        return built

    def problem_of(self, job: Job) -> str:
        assert job.built is not None
        return problem_of(job.built, job.wanted.above(), self._files)

    def files(self, paths: Sequence[Path]) -> list[File]:
        """Input files, read if their content is not known; jobs that need none of these start meanwhile."""
        paths = self.placed(paths)

        def tell(*how_far: Any) -> None:
            self._progress.reading(*how_far)
            self.scheduler.start_ready()

        found = content_of(paths, tell, self._turn.released, self._schedule.files_read)
        note_locations(zip(found, paths, strict=True))
        self._seen = {}
        self._files |= dict(zip(found, paths, strict=True))
        return named_files(found, paths, self.addresses)

    def utilisation(self) -> float | None:
        """Return the share of the cores' time that jobs and this run used, from the first job to the last."""
        if self.scheduler.began is None:
            return None
        span, own = (last - first for first, last in zip(self.scheduler.began, self.scheduler.ended))
        made = (job.built.job for job in self.scheduler.jobs.values() if job.built and job.built.fresh)
        manifests = filter(None, map(self._lookup.store.manifest_of, made))
        used = own + sum(manifest.cost.get("cpu_seconds", 0.0) for manifest in manifests)
        return round(used / (span * self._machine.cores), 3) if span >= WORTH_A_SHARE else None

    def _find(self, wanted: Request, parts: Parts) -> Built | None:
        """Find a finished job, unless units of it failed in an earlier run: these are computed again."""
        found = self._lookup.find(wanted, parts)
        return None if found is None or self._is_retried(found, parts) else found

    def _is_retried(self, found: Built, parts: Parts) -> bool:
        return found.incomplete and parts.key() not in self._made_here

    def _make(self, job: Job) -> None:
        wanted, parts, outcome = job.wanted, job.parts, ""
        self._seen = {}
        for _ in range(ATTEMPTS):
            found = self._lookup.find(wanted, parts)
            retried = found is not None and self._is_retried(found, parts) and not job.forced
            if found is not None and not job.forced and not retried:
                job.built = found
                break
            if self._shared is not None and not job.forced and not retried:
                job.built = self._taken(job, parts, self._shared)
                if job.built is not None:
                    break
            preload.announce(wanted.stage, wanted.modules, self._later)
            note_locations(options_of(wanted.call.arguments))  # where others have files of the same content
            keep_hashes()  # which the job looks up
            order = order_for(self._lookup, wanted, parts, found is not None and job.forced, retried)
            made = self._tried(job, order)
            now = wanted.parts()
            if isinstance(made, str):
                changed = made
            elif now == parts:
                outcome = self._made(job, *made, order, found if job.forced else None)
                break
            else:
                changed = "the code changed"
                edited = f"the code of {wanted.stage} was edited while {made[0].job} ran"
                print(f"{edited}, so it is built again", flush=True)
            parts = now
        else:
            problem = "the code or its environment keeps changing while a job runs"
            hint = "run again when editing is finished; if nobody is editing, end the server and run again"
            raise InputError(problem, file=find_method(wanted.stage)[1], found=changed, hint=hint)
        assert job.built is not None
        self._seen = {}
        self._ended(job.built)
        notes = [f"note: {note}" for note in job.built.notes() if job.built.fresh]
        for line in filter(None, [*notes, outcome]):
            print(one_line(line), flush=True)

    def _taken(self, job: Job, parts: Parts, shared: Sharing) -> Built | None:
        """Take a job from the shared cache."""
        if job.folder is None or job.folder.exists():
            return None
        with self._turn.released():
            found = shared.ask(parts.key())
        if (there := self._lookup.find(job.wanted, parts)) is not None:  # taken meanwhile, for another place
            return there
        name = self._lookup.pipeline
        made = None if found is None else shared.take(found, job.wanted, job.folder, name)
        if made is None:
            return None
        self._made_here.add(made.key)
        self._lookup.places[job.wanted.place] = made.job
        return replace(reused(made, job.wanted), plan="", reason=TAKEN)

    def _tried(self, job: Job, order: Order) -> tuple[StoredJob, bool] | str:
        """Build a job, again if it fails; of a stage with units, these are tried again instead."""
        declared, what = Needs() if job.needs.has_units else job.needs.declared, job.wanted.caption
        for attempt in range(declared.retries + 1):
            order, is_failed = replace(order, attempts=attempt + 1), True
            try:
                with limited(what, lambda: job.folder, declared) as is_over:
                    number, reload = lambda: self._number(job), self._turn.reload
                    made = make(self._urd, self._lookup.store, order, self._meter, number, reload)
                    is_failed = False
                    return made
            except (JobError, JobFailed):
                if attempt == declared.retries or self.scheduler.is_over:
                    if not is_over.is_set():
                        raise
                    problem = "a job took longer than its stage allows"
                    hint = "raise `timeout` of the stage, or look at what it waits for"
                    raise JobFailed(problem, job=what, found=f"over {declared.limit}", hint=hint) from None
            finally:
                if job.folder is not None:
                    self._output.ended(job.folder, is_failed)
            print(one_line(f"{what} is built again: retry {attempt + 1} of {declared.retries}"), flush=True)
        raise AssertionError

    def _number(self, job: Job) -> int | None:
        """Return the number of a job to submit: a new one if it was submitted before."""
        if job.folder is not None:
            if job.folder.exists():
                self._output.ended(job.folder, failed=True)
                self.scheduler.number_again(job)
            self._output.follow(job.folder, job.wanted.caption)
        return job.number

    def _made(self, job: Job, made: StoredJob, fresh: bool, order: Order, found: Built | None) -> str:
        """Note a job that was built, or taken over; compare it with one that it replaces."""
        self._made_here.add(order.key)
        self._lookup.places[job.wanted.place] = made.job
        if fresh and self._shared is not None:
            self._shared.built(made)
            self._schedule.look_again()
        built = reused(made, job.wanted)
        job.built = replace(built, fresh=fresh, plan="", reason=order.reason if fresh else "")
        if fresh:
            job.built = job.built.with_units(made.work, bool(order.options.keys() & {EARLIER, RETRIED}))
        return "" if found is None else self._outcome(found.job, made.job, order.key)

    def _ended(self, built: Built) -> None:
        self._progress.ended(built)
        if built.incomplete:
            print(one_line(f"{built.name}: {built.failed_units()}"), flush=True)

    def _later(self) -> Iterable[Lane]:
        """Methods of jobs that are to come, if a core is idle that can prepare for them."""
        if not self.scheduler.can_prepare():
            return ()
        planned = [(each.stage, each.modules) for each in self.scheduler.left()]
        if self._schedule.is_open:  # what follows is as in the last run, for all that is known
            store, name = self._lookup.store, self._lookup.pipeline
            jobs = {each.stage: job for each, job in store.index.places().items() if each.pipeline == name}
            for stage, manifest in zip(jobs, map(store.manifest_of, jobs.values())):
                named: Any = manifest and manifest.parts.options.get("modules")
                planned.append((stage, tuple(named or ())))
        return dict.fromkeys(planned)

    def _begin(self, job: Job) -> None:
        wanted = job.wanted
        self._progress.started((wanted.stage, wanted.partition, wanted.variant), lambda: job.folder)
        cache = self._lookup.store.shared
        is_shared = cache is not None and cache.known(job.parts.key()) is not None
        if self._engine is None or not self._engine.is_apart or is_shared:
            return
        if job.needs.has_units:
            asked = {**wanted.call.joblib, **job.needs.resources}
            self._engine.announce(wanted.caption, asked, lambda: self._seconds_here(wanted))
        elif any(self._machine.needs(each.stage).has_units for each in self.scheduler.left()):
            self._engine.start()  # which takes seconds, while jobs without units are computed

    def _end_jobs(self) -> None:
        if self._shared is not None:
            self._shared.end()
        self._output.mute()
        if self._exax:
            self._exax.end()

    def _seconds_here(self, wanted: Request) -> float | None:
        """Estimate the seconds of a job here; its predecessor may have had more workers, elsewhere."""
        before = self._lookup.before(wanted)
        cost = {} if before is None else before.cost
        if "seconds" in cost:
            return cost["cpu_seconds"] / slices_now() if "cpu_seconds" in cost else cost["seconds"]
        return self._lookup.store.index.seconds().get(wanted.stage)

    def _outcome(self, before: str, now: str, key: str) -> str:
        """Compare a job that was built anew with the one before it; withdraw a declaration that was wrong."""
        store = self._lookup.store
        store.written()
        old, new = store.manifest_of(before), store.manifest_of(now)
        if old is None or new is None:
            return ""
        if old.content == new.content:
            return f"{now} came out the same as {before}"
        files = (name for name in sorted({*old.files, *new.files}) if name not in {*NOTES, RECORD})
        differ = [name for name in files if old.files.get(name) != new.files.get(name)]
        # The record differs whenever an array does, or the versions in it: it is worth a word only by itself.
        named = [f"array {name[:-4]}" if name.endswith(".npy") else f"file {name}" for name in differ]
        words = f"{now} came out different from {before}: {short_list(named or ['the record'], NAMED)}"
        if withdraw(store, before, key):
            return f"{words}; the change between the two was declared harmless; that declaration is withdrawn"
        return f"{words}; its key did not change: give random draws a seed"


def execute(
    urd: Urd,
    pipeline: Pipeline,
    store: Store,
    plan: Planner,
    part: Part,
    record: Recorder,
    engine: EngineSettings,
    shared: Sharing | None = None,
) -> tuple[Executor, Built]:
    """Build the missing jobs of a part of a pipeline; return the run and the last job."""
    name = plan.name
    lookup, history = Lookup(store, name), store.index.seconds()

    def plan_again() -> Planner:
        return prefetched(Planner.of(pipeline, store, name), part, shared)

    schedule = Schedule(prefetched(plan, part, shared), plan_again, part, history)
    record.note_plan(part.plan, {(of.stage, each.stage) for each in plan.requests for of in each.above()})
    with (
        RunningEngine(engine, slices_now()) as running,
        Progress(as_reused(part.plan), history) as progress,
        LiveOutput(progress.say, VERBOSE in os.environ) as output,
        Executor(lookup, urd, progress, part, running, schedule, _machine(running), output, shared) as run,
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
                wrong = "the pipeline needs the results of a job that is not built"
                raise InputError(wrong, found=error.job.name, hint="run the whole pipeline") from None
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
    if not engine.is_apart:
        return Machine(cores_of_jobs(slices))
    is_here = settings.address is None and settings.name in NAMES
    return Machine(cores_of_jobs(slices), settings.name, settings.workers or slices, is_here)


def _go_on(run: Executor, error: BaseException) -> None:
    """Build the jobs that need no failed one, and report the failed jobs and those left."""
    scheduler, alone = run.scheduler, (JobError, JobFailed)  # such a job says nothing of others
    failures = scheduler.failures()
    if not failures or any(job.error is not None and not isinstance(job.error, alone) for job in failures):
        return
    if scheduler.keeps_going:
        scheduler.drain()
    for job in scheduler.failures():  # what exax says of jobs was printed, and `error` will be
        problem = job.error if job.built is None else InputError(run.problem_of(job))
        if isinstance(problem, InputError) and str(problem) != str(error):
            print(f"{one_line(job.wanted.caption)}: {problem}", file=sys.stderr, flush=True)
    names = [job.wanted.caption for job in scheduler.failures()]
    left = [each.caption for each in scheduler.left()]
    if len(names) > 1:
        print(f"{len(names)} jobs failed: {short_list(names, LISTED)}", flush=True)
    if left:
        why = "they need what failed" if scheduler.keeps_going else "of --fail-fast"
        print(f"{counted(len(left), 'job')} not built, because {why}: {short_list(left, LISTED)}", flush=True)
