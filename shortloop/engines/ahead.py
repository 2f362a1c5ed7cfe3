"""Units of jobs that have not begun: they are computed where workers would idle.

exax has one job at a time. A run says which jobs come next; what they are made from is there already. One
worker begins such a job: it opens its stage, says what units cost, and computes one of them. The others are
handed out when those of all jobs before are, in the order of the jobs: in few large batches, as each worker
that has one opens the stage for it. What was computed is kept in a file until the job asks for it.
"""

from __future__ import annotations

import pickle
import shutil
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from shortloop.engines.batches import Batches
from shortloop.engines.engine import Engine
from shortloop.engines.listing import list_needs
from shortloop.engines.messages import BEGIN, Coming, Later, Reply, Work
from shortloop.engines.node_messages import Needs
from shortloop.engines.spool import Batch, Spool, clear_old
from shortloop.engines.supply import Sent, Supplies
from shortloop.jobs.keys.code import code_state
from shortloop.plain import Plain

__all__ = ["Ahead", "Early"]

MOST = 2 << 30  # bytes on disk that wait for their jobs
OPENING = 0.1  # s that a worker takes to open a stage, about
FULL = 2  # batches in work, for each worker: more would only wait
LOOK_EVERY = 0.05  # s
NOT_BEGUN, BEGINS, BEGUN, COMPUTED, ENDED = range(5)  # of a job


class Early(NamedTuple):
    """What is there of a job when it begins.

    Parameters
    ----------
    work : Work
        As it was computed by: processes that have its stage open know it by that.
    batches : generator of Batch
        What was computed. What is being computed is waited for.
    """

    work: Work
    batches: Generator[Batch, None, None]


class Ahead:
    """Computes units of coming jobs.

    Parameters
    ----------
    engine : callable
        Gives the engine, when it is there.
    folder : Path
        Where results wait for their jobs.
    sent : Sent
        What all jobs have sent to nodes that have not the project.
    say : callable
        Is given a line for the one who has started the run.
    """

    def __init__(
        self, engine: Callable[[], Engine], folder: Path, sent: Sent, say: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._folder = folder
        self._sent, self._say = sent, say
        self._changed = threading.Condition()
        self._jobs: dict[str, _Job] = {}  # by what they compute, in the order in which they come
        self._in_work: list[Batches[bytes]] = []
        self._awaits = True  # a job, which has not asked yet: its units come first
        folder.mkdir(parents=True, exist_ok=True)
        clear_old(folder)
        threading.Thread(target=self._follow, daemon=True).start()

    def coming(self, said: Coming) -> None:
        """A job begins now, and others come later; all that these are made from is there.

        Parameters
        ----------
        said : Coming
        """
        with self._changed:
            if said["is_next"] is not None:
                self._awaits = said["is_next"]
            for later in said["coming"]:
                if later.work.what not in self._jobs:
                    spool = Spool(self._folder / later.work.what)
                    self._jobs[later.work.what] = _Job(later, said["asked"], spool)
            for what in said["over"]:  # it was another one than was told, or needed no units
                if (job := self._jobs.pop(what, None)) is not None:
                    job.is_over = True
                    self._drop(job)
            self._changed.notify_all()

    @contextmanager
    def after(self, batches: Batches[bytes]) -> Iterator[None]:
        """Within the block, no other job is computed before all batches of this one are handed out.

        Parameters
        ----------
        batches : Batches
            Of a job that has begun.
        """
        with self._changed:
            self._in_work.append(batches)
            self._awaits = False
        try:
            yield
        finally:
            with self._changed:
                self._in_work.remove(batches)
                self._changed.notify_all()

    def of(self, work: Work) -> Early:
        """What is there of a job that begins now.

        Parameters
        ----------
        work : Work
            The job.

        Returns
        -------
        Early
        """
        with self._changed:
            job = self._jobs.pop(work.what, None)
            if job is not None and job.state in (BEGINS, COMPUTED):  # of its units, some are handed out
                self._awaits = False
        if job is None:
            return Early(work, self._of_runs_before(work.what))
        return Early(job.work, self._batches(job))

    def _drop(self, job: _Job) -> None:
        """End a job that nobody will ask for, as soon as nobody computes it."""
        if job.batches is not None:
            job.batches.stop()
        if job.state not in (BEGINS, COMPUTED):
            job.state = ENDED
            job.spool.close()

    def _of_runs_before(self, what: str) -> Generator[Batch, None, None]:
        if (self._folder / what).is_file():
            with closing(Spool(self._folder / what)) as spool:
                for number in range(len(spool)):
                    yield spool.read(number)

    def _batches(self, job: _Job) -> Generator[Batch, None, None]:
        number = 0
        with closing(job.spool):
            while self._is_there(job, number):
                yield job.spool.read(number)
                number += 1

    def _is_there(self, job: _Job, number: int) -> bool:
        """Whether there is such a batch of a job, if need be in a moment."""
        with self._changed:
            if job.state in (NOT_BEGUN, BEGUN):  # it goes on as any other job
                job.state = ENDED
            self._changed.wait_for(lambda: number < len(job.spool) or job.state in (BEGUN, ENDED))
            return number < len(job.spool)

    def _follow(self) -> None:
        """Begin jobs, and have them computed when it is their turn."""
        try:
            self._follow_with(self._engine())
        except BaseException:  # jobs will meet it, and say so
            traceback.print_exc()
            with self._changed:  # what is computed by now goes on
                for job in self._jobs.values():
                    if job.state in (NOT_BEGUN, BEGUN):
                        job.state = ENDED
                self._changed.notify_all()

    def _follow_with(self, engine: Engine) -> None:
        while True:
            with self._changed:
                for job in self._jobs.values():
                    if job.state == NOT_BEGUN and not engine.shares(job.asked):
                        job.state = ENDED
                jobs = [job for job in self._jobs.values() if job.state in (NOT_BEGUN, BEGINS, BEGUN)]
                if not jobs:
                    self._changed.wait()
                    continue
                self._step(engine, jobs)
                self._changed.wait(LOOK_EVERY)

    def _step(self, engine: Engine, jobs: list[_Job]) -> None:
        workers = max(engine.workers(jobs[0].asked), 1)
        if sum(job.spool.size for job in self._jobs.values()) >= min(MOST, self._free() // 4):
            return
        if self._awaits or any(each.has_next() for each in self._in_work):
            return
        out = sum(each.out for each in self._in_work)
        if jobs[0].state == BEGUN and out < FULL * workers:
            share = max(workers // len(jobs), 1)
            self._start(COMPUTED, self._compute, engine, jobs[0], jobs[0].left(share, engine.message))
            return
        begun = sum(job.state in (BEGINS, BEGUN) for job in jobs)
        for job in jobs:
            if job.state == NOT_BEGUN and begun < workers and out < FULL * workers:
                self._start(
                    BEGINS,
                    self._begin,
                    engine,
                    job,
                    Batches(dict.fromkeys(BEGIN, 1.0), BEGIN, 1, engine.message),
                )
                begun, out = begun + 1, out + 1

    def _free(self) -> int:
        """Bytes of the disk that the jobs themselves may need."""
        return shutil.disk_usage(self._folder).free

    def _start(
        self,
        state: int,
        step: Callable[[Engine, _Job, Batches[bytes]], None],
        engine: Engine,
        job: _Job,
        batches: Batches[bytes],
    ) -> None:
        def whole() -> None:
            try:
                step(engine, job, batches)
            except BaseException:  # the job itself will meet it, and say so
                traceback.print_exc()
                self._now(job, ENDED)
            finally:
                with self._changed:
                    self._in_work.remove(batches)
                    if job.is_over:
                        self._drop(job)
                    self._changed.notify_all()

        threading.Thread(target=whole, daemon=True).start()  # it waits for this one to let go
        self._in_work.append(batches)
        job.state, job.batches = state, batches

    def _begin(self, engine: Engine, job: _Job, batches: Batches[bytes]) -> None:
        for _, reply in self._computed(engine, job, batches):
            if reply.costs:
                self._keep(job, [_costliest(reply.costs)], reply)
                job.costs, job.seconds = reply.costs, reply.seconds
        self._now(job, BEGUN if job.costs else ENDED)

    def _compute(self, engine: Engine, job: _Job, batches: Batches[bytes]) -> None:
        for units, reply in self._computed(engine, job, batches):
            self._keep(job, units, reply)
        self._now(job, ENDED)

    def _computed(
        self, engine: Engine, job: _Job, batches: Batches[bytes]
    ) -> Iterator[tuple[list[bytes], Reply]]:
        """What comes of batches. After one that fails no more are handed out: the job is to compute it again,
        and to say why."""
        supplies = Supplies(job.work, self._sent, job.needs, self._say)
        with (
            closing(supplies),
            closing(engine.compute(supplies, batches, job.asked)) as computed,  # type: ignore[type-var]
        ):
            for units, reply in computed:
                if reply.lost:
                    if batches.put_back(units):
                        batches.stop()
                    continue
                batches.done(units, reply.seconds)
                if reply.failed:
                    batches.stop()
                else:
                    yield units, reply

    def _keep(self, job: _Job, units: list[bytes], reply: Reply) -> None:
        job.spool.add(units, reply.data)
        with self._changed:
            self._changed.notify_all()

    def _now(self, job: _Job, state: int) -> None:
        with self._changed:
            job.state = state
            self._changed.notify_all()


class _Job:
    """A job that comes later."""

    def __init__(self, later: Later, asked: Mapping[str, Plain], spool: Spool) -> None:
        self.work = later.work
        self.asked = asked
        self.spool = spool
        self.state = NOT_BEGUN
        self.batches: Batches[bytes] | None = None  # which are computed, or were last
        self.is_over = False
        self.costs: Mapping[bytes, float] = {}
        self.seconds = 0.0
        self._later = later

    def left(self, share: int, message: float) -> Batches[bytes]:
        """Its units but those that are there, for a share of the workers."""
        there = self.spool.units()
        left = [unit for unit in self.costs if unit not in there]
        batches = Batches(self.costs, left, share, message, 1, OPENING)
        batches.measured([_costliest(self.costs)], self.seconds)
        return batches

    def needs(self) -> Needs:
        """What to send to nodes that have not the project."""
        code = code_state(self._later.method, self._later.modules)
        listing, sources = list_needs(pickle.loads(self.work.data), code)
        name, seconds = self._later.name, self._later.seconds
        return {"what": name, "listing": listing, "sources": sources, "seconds": seconds}


def _costliest(costs: Mapping[bytes, float]) -> bytes:
    return max(costs, key=costs.__getitem__)
