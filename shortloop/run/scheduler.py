"""Scheduler of a run: starts jobs and waits for them in threads, of which one at a time holds a lock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

from shortloop.base.plain import Plain
from shortloop.exax import client
from shortloop.exax.client import Exax
from shortloop.exax.cost import progress_of
from shortloop.keys.key import Parts
from shortloop.plan.pipeline import Built
from shortloop.plan.request import Request
from shortloop.plan.signature import signature_of
from shortloop.project.project import configuration
from shortloop.run.ready_jobs import Schedule
from shortloop.stages.needs import Needs, needs_of
from shortloop.stages.stage import Stage
from shortloop.store.index import Place
from shortloop.units.messages import SLICES

LOOK_EVERY = 0.02  # s, for a core to spare, while jobs could start
ENDING = 10.0  # s that jobs may take to end
OVERLAP = 2  # times the cores, for processes of all jobs together, most of which wait
MOST = 64  # jobs at a time
RESOURCES = ("cores", "memory", "gpus")  # that stages declare, and engines have


class _Lock:
    """A lock that knows which thread holds it. Any may release it: a pipeline may build from threads."""

    # An exception that a signal raises may keep the main thread from the lock at the end of a wait. A
    # condition takes any held lock for its own, and would release that of a job's thread.
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.holder = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        is_held = self._lock.acquire(blocking, timeout)
        if is_held:
            self.holder = threading.get_ident()
        return is_held

    def release(self, *error: object) -> None:
        self.holder = 0
        self._lock.release()

    __enter__, __exit__ = acquire, release


class Turn:
    """Lock of a run, whose store, index and caches are written for one thread at a time."""

    def __init__(self) -> None:
        self._lock = _Lock()
        self.changed = threading.Condition(cast("threading.Lock", self._lock))
        self._waiting = 0
        self._is_alone = False
        self._jobs: set[int] = set()  # threads

    @contextmanager
    def released(self) -> Iterator[None]:
        """Let others go on within the block, which waits for a job, or a moment for files."""
        self.changed.wait_for(lambda: not self._is_alone)
        self._waiting += 1
        self.changed.release()
        try:
            yield
        finally:
            try:
                self.changed.acquire()
            finally:  # a signal may keep the main thread from the lock
                self._waiting -= 1
            self.changed.notify_all()

    @contextmanager
    def of_job(self) -> Iterator[None]:
        """Hold the lock within the block, in a thread that builds a job."""
        me = threading.get_ident()
        self._jobs.add(me)
        try:
            with self.changed:
                try:
                    yield
                finally:
                    self.changed.notify_all()
        finally:
            self._jobs.discard(me)

    def regain(self, seconds: float) -> None:
        """Take the lock again if a signal kept the main thread from it at the end of a wait."""
        if not self._lock.holder or self._lock.holder in self._jobs:
            self._lock.acquire(timeout=seconds)
            self.changed.notify_all()  # as the end of the wait would have done

    def reload(self) -> None:
        """Have exax reload the methods when no job of this run is running, and let none start meanwhile."""
        self.changed.wait_for(lambda: not self._is_alone)
        self._is_alone = True
        try:
            self.changed.wait_for(lambda: not self._waiting)
        finally:
            self._is_alone = False
            self.changed.notify_all()
        client.reload_methods()


class JobNeeds(NamedTuple):
    """What a stage says of how its jobs are computed, and whether processes share their work."""

    declared: Needs
    has_units: bool

    @property
    def is_least(self) -> bool:
        """True if no job needs less."""
        return self.declared.cores == 1 and not self.declared.memory

    @property
    def resources(self) -> dict[str, Plain]:
        """What its units ask of an engine, where that is more than usual."""
        usual, found = Needs(), self.declared
        return {
            name: getattr(found, name) for name in RESOURCES if getattr(found, name) != getattr(usual, name)
        }


@dataclass
class Job:
    wanted: Request
    parts: Parts
    forced: bool
    needs: JobNeeds
    number: int | None = None
    folder: Path | None = None  # where it is, if it gets that number
    built: Built | None = None
    error: BaseException | None = None
    is_done: bool = False
    is_requested: bool = False  # True if the pipeline has asked for it
    was_started: bool = False


class Machine:
    """Cores and memory that the jobs of a run share, and `workers` of an engine, if units are its."""

    def __init__(self, cores: int, engine: str = SLICES, workers: int = 0, is_here: bool = True) -> None:
        self.cores, self._engine = cores, engine
        self._workers, self._is_here = workers or cores, is_here
        self._memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self._needs: dict[str, JobNeeds] = {}

    def needs(self, stage: str) -> JobNeeds:
        if stage not in self._needs:
            kind = signature_of(stage).stage
            needs = Needs() if kind is None else needs_of(kind)
            self._needs[stage] = JobNeeds(needs, kind is not None and kind.units is not Stage.units)
        return self._needs[stage]

    def has_room(self, needs: JobNeeds, running: Sequence[Job]) -> bool:
        """True if a job can start beside those that are running."""
        if not running:
            return True
        here = self._here(needs)
        memory = here.memory + sum(self._here(each.needs).memory for each in running)
        if len(running) >= MOST or (here.memory > 0 and memory > self._memory):
            return False
        used = [*map(self._busy, running)]
        busy, processes = sum(each[0] for each in used), sum(each[1] for each in used)
        limit = OVERLAP * (self.cores if self._is_here else self.cores + self._workers)
        width = self._workers if needs.has_units else here.cores
        return busy + here.cores <= self.cores and processes + width <= limit

    def _here(self, needs: JobNeeds) -> Needs:
        """Resources of this machine that a job needs."""
        return needs.declared if self._is_here or not needs.has_units else Needs()

    def _busy(self, job: Job) -> tuple[int, int]:
        """Cores that a job keeps busy now, and processes that it has or may soon have."""
        if not job.needs.has_units:
            return job.needs.declared.cores, job.needs.declared.cores
        said = None if job.folder is None else progress_of(job.folder)
        if said is None:  # it opens its stage, or is about to end
            return 1, self._workers
        if self._engine == SLICES:
            return max(said.busy, 1), max(min(said.left, self._workers), 1)
        at_work = min(said.left, self._workers)
        return at_work if self._is_here and at_work else 0 if at_work else 1, max(at_work, 1)


class Scheduler:
    """Builds the jobs that a pipeline asks for, and meanwhile others of its plan."""

    def __init__(
        self,
        make: Callable[[Job], None],  # in a thread that holds the lock of the run; sets `Job.built`
        find: Callable[[Request, Parts], Built | None],
        begins: Callable[[Job], None],
        end_jobs: Callable[[], None],
        turn: Turn,
        machine: Machine,
        schedule: Schedule,
        exax: Exax | None,  # None: jobs get numbers when they start
    ) -> None:
        self._make, self._find, self._begins, self._end_jobs = make, find, begins, end_jobs
        self._turn, self._machine, self._schedule, self._exax = turn, machine, schedule, exax
        self.left = schedule.left
        self._first: int | None = None  # number reserved for the first job of the plan
        self.jobs: dict[tuple[Place, str], Job] = {}  # started ones, by places and keys
        self._running: list[Job] = []
        self._ranks: set[int] = set()  # that jobs have
        self.is_over = False  # True if no job starts any more
        self._is_reserved = False
        self.keeps_going = True  # True if jobs start that need none of those that failed
        # Time and processor time of the run, s, when the first job started, and when the last one ended.
        self.began: tuple[float, float] | None = None
        self.ended = (0.0, 0.0)

    def get(self, wanted: Request, parts: Parts, forced: bool) -> Job:
        """A job that the pipeline asks for, built if it is not there; meanwhile others are built as well."""
        job = self.jobs.get((wanted.place, parts.key())) if self.jobs else None
        if job is None:
            self._schedule.note_started(wanted.place)
            found = None if forced else self._find(wanted, parts)
            if found is not None:
                self._schedule.note_finished(wanted.place, found)
                least = JobNeeds(Needs(), False)
                return Job(wanted, parts, False, least, built=found, is_done=True, is_requested=True)
            for failed in () if self.keeps_going else self.failures():
                if failed.error is not None:
                    raise failed.error
            self._wait_for_room(self._machine.needs(wanted.stage))
            job = self._start(wanted, parts, forced)
        job.is_requested = True
        self._wait(lambda: job.is_done)
        if job.error is not None:
            raise job.error
        return job

    def drain(self) -> None:
        """Build all jobs of the plan that need none of those that failed."""
        self._wait(lambda: not self._running and not self.start_ready() and not self._running)

    def number_again(self, job: Job) -> None:
        """Give a job a number: its rank in the plan, or one after all of these if it has that already."""
        if self._exax is None:
            return
        if self._first is None:
            self._first = self._exax.reserve(max(self._schedule.count, 1))
        rank = self._schedule.number(job.wanted.place) if job.number is None else self._schedule.count
        while rank in self._ranks:  # the plan may have grown, past the number of a job that was started again
            rank += 1
        self._ranks.add(rank)
        job.number, name = self._first + rank, self._exax.workdir
        job.folder = Path(configuration().workdirs[name]) / f"{name}-{job.number}"

    def expects(self, stage: str) -> bool:
        """True if a planned job of a stage has not started, and an idle core can prepare for it."""
        return self.has_idle_core() and any(each.stage == stage for each in self.left())

    def has_idle_core(self) -> bool:
        return len(self._running) < self._machine.cores

    def can_prepare(self) -> bool:
        """True if a core is idle, and stays so: no running job has units, for all cores."""
        return self.has_idle_core() and not any(each.needs.has_units for each in self._running)

    def failures(self) -> list[Job]:
        """Jobs that failed, or rejected their input."""
        done = (each for each in self.jobs.values() if each.is_done)
        return [each for each in done if each.error is not None or (each.built and each.built.rejected)]

    def _wait_for_room(self, needs: JobNeeds) -> None:
        """Wait until a job can start that needs more than a core."""
        if needs.is_least:  # the pipeline waits for it
            return
        self._is_reserved = True  # else others would come before it again and again
        try:
            self._wait(lambda: self._machine.has_room(needs, self._running))
        finally:
            self._is_reserved = False

    def _wait(self, is_over: Callable[[], bool]) -> None:
        try:
            while not is_over():
                could_start = self.start_ready()
                if is_over():
                    return
                self._turn.changed.wait(LOOK_EVERY if could_start or self._is_reserved else None)
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """End all jobs, and start no more."""
        was_over, self.is_over = self.is_over, True
        self._turn.regain(ENDING)
        if self._running and not was_over:  # else it was waited for already, in vain
            self._end_jobs()
            with suppress(KeyboardInterrupt):
                self._turn.changed.wait_for(lambda: not self._running, ENDING)

    def start_ready(self) -> bool:
        """Start planned jobs that can start; True if others could, and there is no room for them."""
        if self.is_over or self._is_reserved or (not self.keeps_going and self.failures()):
            return False
        could_start, found_one = False, True
        while found_one:
            found_one = could_start = False
            for number, planned in self._schedule.ready():
                try:
                    needs = self._machine.needs(planned.stage)
                    if not self._machine.has_room(needs, self._running):
                        could_start = True
                        if needs.is_least:
                            break
                        continue
                    wanted, forced = self._schedule.resolve(number)
                    parts = wanted.parts()
                except Exception:  # an edit meanwhile: the pipeline will meet it where it asks for the job
                    self._schedule.note_started(planned.place)
                    continue
                if any(each.parts == parts for each in self._running):
                    continue  # the same, in another place
                found = None if forced else self._find(wanted, parts)
                if found is None:
                    self._start(wanted, parts, forced)
                else:
                    self._schedule.note_finished(wanted.place, found)
                    found_one = True
        return could_start

    def _start(self, wanted: Request, parts: Parts, forced: bool) -> Job:
        job = Job(wanted, parts, forced, self._machine.needs(wanted.stage))
        self._schedule.note_started(wanted.place)
        self.number_again(job)
        job.was_started = True
        self.jobs[wanted.place, parts.key()] = job
        self._running.append(job)
        self.began = self.began or (time.monotonic(), time.process_time())
        self._begins(job)
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return job

    def _run(self, job: Job) -> None:
        with self._turn.of_job():
            try:
                self._make(job)
            except BaseException as error:  # raised where the pipeline asks for it
                job.error = error
            finally:
                job.is_done = True
                self.ended = time.monotonic(), time.process_time()
                self._running.remove(job)
                if job.built is not None:
                    self._schedule.note_finished(job.wanted.place, job.built)
