"""Build the jobs that a pipeline requests, each when its inputs are ready."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from shortloop.base.errors import InputError, JobFailed
from shortloop.base.text import one_line
from shortloop.engines.running import RunningEngine
from shortloop.exax.cost import Meter, limited
from shortloop.exax.listener import slices_now
from shortloop.exax.live_output import LiveOutput
from shortloop.exax.patches import preload
from shortloop.exax.submission import Exax, Urd
from shortloop.keys.code import at_one_moment
from shortloop.keys.key import Parts
from shortloop.keys.methods import find_method
from shortloop.plan.explain.arrays import outcome
from shortloop.plan.part import ASKED, Part, require_inputs
from shortloop.plan.pipeline import Built, Call, Run
from shortloop.plan.planner import Asked, Lookup, asked_of_joblib, reused
from shortloop.plan.request import Request, files_of, named_files, options_of, problem_of
from shortloop.project.project import configuration, project_directory
from shortloop.run.build_job import Order, make
from shortloop.run.events import Ended, Listener, Reading, Started
from shortloop.run.lock import Turn
from shortloop.run.ready_jobs import Schedule
from shortloop.run.scheduler import Job, Machine, Scheduler
from shortloop.stages.fields import BEFORE
from shortloop.stages.inputs import File
from shortloop.stages.needs import Needs
from shortloop.stages.records import EARLIER, RETRIED
from shortloop.store.inputs import keep_hashes, note_locations, register
from shortloop.store.store import withdraw
from shortloop.store.stored_job import StoredJob

__all__ = ["Executor"]

ATTEMPTS = 3  # to build a job whose code is edited meanwhile
FAILED = "units of it failed"
WORTH_A_SHARE = 1.0  # s
EARLIER_JOBS = 20  # that are asked for rows of units


class Executor(Run):
    """Builds the jobs of a pipeline: those that it asks for, and meanwhile others of its plan.

    lookup: finds what is there.
    urd: asks exax.
    tell: is told what happens; see `shortloop.run.events`.
    meter: measures what jobs cost.
    part: which jobs to build; others are only looked up. Default: all.
    engine: computes units of jobs. Default: slices.
    schedule: planned jobs, which are built before the pipeline asks for them. Default: none.
    machine: what jobs share. Default: one core.
    output: shows what jobs print.
    """

    def __init__(
        self,
        lookup: Lookup,
        urd: Urd,
        tell: Listener,
        meter: Meter | None = None,
        part: Part | None = None,
        engine: RunningEngine | None = None,
        schedule: Schedule | None = None,
        machine: Machine | None = None,
        output: LiveOutput | None = None,
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
        self._output = output or LiveOutput(lambda line: None)
        self._seen: dict[object, Any] = {}  # of code, since something last took time
        self._files: dict[str, Path] = {}  # of the run, and of the job that is asked for
        self._given: dict[str, Path] = {}
        self._made_here: set[str] = set()  # keys of jobs that this run has made
        self._machine = machine or Machine(1)
        self._turn = Turn()
        self._turn.changed.acquire()  # it is of this thread until the end, but while that waits
        if isinstance(urd, Exax):
            urd.released = self._turn.released
        self.scheduler = Scheduler(
            self._make,
            self._find,
            self._begin,
            self._end_jobs,
            self._turn,
            self._machine,
            schedule,
            self._reserve if isinstance(urd, Exax) else None,
        )
        if isinstance(urd, Exax):
            urd.is_followed = self.scheduler.expects

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.scheduler.abort()
        if self.scheduler.began is not None and isinstance(self._urd, Exax):
            self._urd.close()
        ahead = (job.built for job in self.scheduler.jobs.values() if not job.seen)
        self.done += [built for built in ahead if built is not None]

    def ask(self, stage: str, partition: str | None, call: Call) -> Built:
        """Find a job, or have it built."""
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
        self._given = files_of(call.arguments)
        asked = Asked(options_of(call.arguments), asked_of_joblib())
        job = self.scheduler.get(wanted, parts, number in self._part.forced, asked)
        built = job.built
        assert built is not None
        if not job.was_started:
            self._tell(Started(stage, partition, wanted.variant))
            self._tell(Ended(built))
            _say_failed_units(built)
        self.jobs.append(built)
        self.done.append(built)
        if built.rejected:
            raise InputError(self.problem_of(job))
        return built

    def problem_of(self, job: Job) -> str:
        """Why a job rejected its input."""
        assert job.built is not None
        return problem_of(job.built, job.wanted.above(), {**self._files, **self._given})

    def files(self, paths: Sequence[Path]) -> list[File]:
        """Input files, read if their content is not known; jobs that need none of these start meanwhile."""
        paths = [project_directory() / path for path in paths]

        def tell(*how_far: Any) -> None:
            self._tell(Reading(*how_far))
            self.scheduler.go_on()

        found = register(paths, tell, self._turn.others, self.scheduler.files_read)
        self._seen = {}
        self._files |= dict(zip(found, paths, strict=True))
        return named_files(found, paths)

    def utilisation(self) -> float | None:
        """Share of the cores' time that jobs and this run used, from the first job to the last."""
        if self.scheduler.began is None:
            return None
        span, own = (last - first for first, last in zip(self.scheduler.began, self.scheduler.ended))
        store = self._lookup.store
        made = (job.built.job for job in self.scheduler.jobs.values() if job.built and job.built.fresh)
        costs = [manifest.cost for manifest in map(store.manifest_of, made) if manifest is not None]
        used = own + sum(cost.get("cpu_seconds", 0.0) for cost in costs)
        return round(used / (span * self._machine.cores), 3) if span >= WORTH_A_SHARE else None

    def _find(self, wanted: Request, parts: Parts) -> Built | None:
        """A job that is there, unless units of it failed in an earlier run: these are computed again."""
        found = self._lookup.find(wanted, parts)
        return None if found is not None and self._is_retried(found, parts) else found

    def _is_retried(self, found: Built, parts: Parts) -> bool:
        return found.incomplete and parts.key() not in self._made_here

    def _make(self, job: Job) -> None:
        """Find a job that has just come to be there, or have it built."""
        wanted, parts, found = job.wanted, job.parts, None
        self._seen = {}
        for _ in range(ATTEMPTS):
            found = self._lookup.find(wanted, parts)
            retried = found is not None and self._is_retried(found, parts) and not job.forced
            if found is not None and not job.forced and not retried:
                job.built = found
                break
            preload.announce(wanted.stage, wanted.modules)
            note_locations(job.asked.files)  # where files of others have the same content
            keep_hashes()  # which the job looks up
            order = self._order(wanted, parts, found is not None and job.forced, retried)
            made = self._tried(job, order)
            now = wanted.parts()
            if isinstance(made, str):
                changed = made
            elif now == parts:
                self._made(job, *made, order, found if job.forced else None)
                break
            else:
                changed = "the code changed"
                print(
                    f"the code of {wanted.stage} was edited while {made[0].job} ran, so it is built again",
                    flush=True,
                )
            parts = now
        else:
            raise InputError(
                "the code or its environment keeps changing while a job runs",
                file=find_method(wanted.stage)[1],
                found=changed,
                hint="run again when editing is finished; if nobody is editing, end the server and run again",
            )
        assert job.built is not None
        self._seen = {}
        self._tell(Ended(job.built))
        _say_failed_units(job.built)
        for line in [f"note: {note}" for note in job.built.notes() if job.built.fresh] + job.said:
            print(one_line(line), flush=True)

    def _tried(self, job: Job, order: Order) -> tuple[StoredJob, bool] | str:
        """Have a job built, again if it fails. Of a stage with units, these are tried again instead."""
        from accelerator.error import JobError

        said, what = Needs() if job.needs.has_units else job.needs.said, job.wanted.caption
        for attempt in range(said.retries + 1):
            order = replace(order, attempts=attempt + 1)
            with limited(what, lambda: job.folder, said) as is_over, self._shown(job):
                try:
                    store, number = self._lookup.store, lambda: self._number(job)
                    return make(self._urd, store, order, self._meter, number, self._turn.reload)
                except (JobError, JobFailed):
                    if attempt == said.retries or self.scheduler.is_over:
                        if is_over.is_set():
                            raise _took_too_long(what, said) from None
                        raise
            print(one_line(f"{what} is built again: retry {attempt + 1} of {said.retries}"), flush=True)
        raise AssertionError

    def _number(self, job: Job) -> int | None:
        """Number of a job that is submitted now: another one if it was submitted before."""
        if job.folder is not None:
            if job.folder.exists():
                self._output.ended(job.folder, failed=True)
                self.scheduler.number_again(job)
            self._output.follow(job.folder, job.wanted.caption)
        return job.number

    @contextmanager
    def _shown(self, job: Job) -> Iterator[None]:
        """Show all that a job has printed when the block, which waits for it, ends."""
        is_failed = True
        try:
            yield
            is_failed = False
        finally:
            if job.folder is not None:
                self._output.ended(job.folder, is_failed)

    def _made(self, job: Job, made: StoredJob, fresh: bool, order: Order, found: Built | None) -> None:
        self._made_here.add(order.key)
        self._lookup.places[job.wanted.place] = made.job
        built = reused(made, job.wanted)
        job.built = replace(built, fresh=fresh, plan="", reason=order.reason if fresh else "")
        if order.options.keys() & {EARLIER, RETRIED}:
            job.built = job.built.with_units()
        if found is not None:
            job.said = [self._outcome(found.job, made.job, order.key)]

    def _begin(self, job: Job) -> None:
        wanted = job.wanted
        self._tell(Started(wanted.stage, wanted.partition, wanted.variant, lambda: job.folder))
        if self._engine is not None:
            self._engine.announce(wanted.caption, job.asked.joblib, lambda: self._seconds_here(wanted))

    def _reserve(self, count: int) -> tuple[Path, int]:
        exax = cast("Exax", self._urd)
        return Path(configuration().workdirs[exax.workdir]), exax.reserve(count)

    def _end_jobs(self) -> None:
        self._output.mute()
        if isinstance(self._urd, Exax):
            self._urd.end()

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

    def _order(self, wanted: Request, parts: Parts, anew: bool, retried: bool) -> Order:
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
        failed = store.find(parts.key()) if retried else None
        if failed is not None:
            options, alike = {**options, RETRIED: failed.job}, {**alike, failed.job: failed.libraries}
        return Order(
            method=wanted.stage,
            options=options,
            jobs=ids,
            datasets=wanted.dataset_ids(),
            paths=wanted.paths,
            caption=wanted.caption,
            parts=parts,
            base=base,
            units=wanted.of_units,
            partition=wanted.partition,
            pipeline=self.name,
            reason=ASKED if anew else FAILED if failed else self._lookup.reason(wanted, parts),
            previous=previous,
            modules=wanted.modules,
            anew=anew,
            retried=failed,
            libraries={name: each for of in alike.values() for name, each in json.loads(of).items()},
        )

    def _amount(self, job: str, grows: str) -> float:
        manifest = self._lookup.store.manifest_of(job)
        amount = None if manifest is None else manifest.parts.options[grows]
        return float(amount) if isinstance(amount, int | float) else -1


def _say_failed_units(built: Built) -> None:
    if built.incomplete:
        print(one_line(f"{built.name}: {built.failed_units()}"), flush=True)


def _took_too_long(what: str, said: Needs) -> JobFailed:
    return JobFailed(
        "a job took longer than its stage allows",
        job=what,
        found=f"over {said.limit}",
        hint="raise `timeout` of the stage, or look at what it waits for",
    )
