"""Which job starts when: room on the machine, order of the plan, files being read; the lock of a run."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from jobs_exax import Exax, FakeJob
from jobs_project import write
from jobs_runs import Told

from shortloop.base.errors import InputError
from shortloop.keys import hashing
from shortloop.plan.pipeline import Built, Pipeline, Run
from shortloop.plan.planner import Lookup, Planner
from shortloop.plan.request import request
from shortloop.plan.selected_part import Part
from shortloop.run.build_jobs import Executor
from shortloop.run.ready_jobs import Schedule
from shortloop.run.scheduler import Job, JobNeeds, Machine, Turn
from shortloop.stages.needs import Needs
from shortloop.store.store import Store
from shortloop.units.queue import PROGRESS

METHOD = """\
from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options = {"number": 0, "file": None, "partition": None}
jobs = ("first", ["all"])


def synthesis():
    pass
"""
UNITS, ALONE = JobNeeds(Needs(), True), JobNeeds(Needs(), False)


def job(needs: JobNeeds, folder: Path | None = None) -> Job:
    return Job(None, None, False, needs, folder=folder)  # type: ignore[arg-type]


def progress(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / PROGRESS).write_text(text, encoding="ascii")
    return folder


def test_a_job_with_units_starts_where_another_leaves_cores_idle(tmp_path: Path) -> None:
    """Jobs without units fill the cores."""
    machine = Machine(3)
    assert [machine.has_room(ALONE, [job(ALONE)] * running) for running in range(4)] == [True] * 3 + [False]
    machine = Machine(4)
    first = job(UNITS, tmp_path)
    assert machine.has_room(UNITS, [first])  # it opens its stage on one core
    assert not machine.has_room(UNITS, [first, first])  # their processes would be three times the cores
    progress(tmp_path, "0.100 4 90")
    assert not machine.has_room(UNITS, [first])
    progress(tmp_path, "0.950 3 3")
    assert machine.has_room(UNITS, [first])
    assert machine.has_room(ALONE, [first])
    assert not machine.has_room(ALONE, [first, job(ALONE)])


@pytest.mark.parametrize("is_here", [True, False])
def test_units_that_an_engine_computes_leave_room_for_other_jobs(tmp_path: Path, is_here: bool) -> None:
    machine = Machine(2, "dask", 8, is_here)
    busy = job(UNITS, progress(tmp_path, "0.100 0 90"))
    assert machine.has_room(UNITS, [busy]) == (not is_here)
    assert machine.has_room(ALONE, [busy]) == (not is_here)
    progress(tmp_path, "0.990 0 1")
    assert machine.has_room(ALONE, [busy])


def test_memory_and_cores_that_a_stage_needs() -> None:
    machine = Machine(4)
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    large = JobNeeds(Needs(memory=int(0.6 * most)), False)
    assert machine.has_room(large, [])
    assert machine.has_room(large, [job(ALONE)])
    assert not machine.has_room(large, [job(large)])
    assert machine.has_room(ALONE, [job(large)])
    wide = JobNeeds(Needs(cores=3), False)
    assert machine.has_room(wide, [job(ALONE)])
    assert not machine.has_room(wide, [job(ALONE)] * 2)
    assert not machine.has_room(ALONE, [job(wide), job(ALONE)])
    assert machine.has_room(JobNeeds(Needs(cores=99), False), [])
    elsewhere = JobNeeds(Needs(cores=99, memory=2 * most), True)
    assert Machine(4, "dask", 4, is_here=False).has_room(elsewhere, [job(ALONE)])
    assert not machine.has_room(elsewhere, [job(ALONE)])


class Runs:
    """Runs pipelines by their plans."""

    def __init__(self, project: Path) -> None:
        self.exax = Exax(project)

    def go(self, pipeline: Pipeline, cores: int = 1) -> Executor:
        with Store() as store:

            def planned() -> Planner:
                return Planner.of(pipeline, store, "toy")

            schedule = Schedule(planned(), planned, Part(), {"long": 50.0})
            with Executor(
                Lookup(store, "toy"), self.exax, Told(), schedule=schedule, machine=Machine(cores)
            ) as run:
                pipeline(run)
        return run

    @property
    def order(self) -> list[str]:
        """Stages and partitions, as they were asked for."""
        return [f"{stage} {options['partition']}" for stage, options, _ in self.exax.asked]


@pytest.fixture
def runs(package: Path) -> Runs:
    for name in ("first", "second", "long"):
        write(package, f"methods/a_{name}.py", METHOD)
    return Runs(package)


def test_the_longest_critical_path_comes_first(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the pipeline waits for one job, what `long` needs is made before what only `second` needs."""
    build = Exax.build

    def with_others(self: Exax, method: str, **more: Any) -> FakeJob:
        made = build(self, method, **more)
        time.sleep(0.05)
        return made

    monkeypatch.setattr(Exax, "build", with_others)

    def pipeline(run: Run) -> Built:
        run.build("first", partition="A")
        for name in "BC":
            run.build("second", partition=name, first=run.build("first", partition=name))
        return run.build("long", partition="D", first=run.build("first", partition="D"))

    runs.go(pipeline, cores=2)
    assert {*runs.order[:2]} == {"first A", "first D"}  # which two threads ask for at once
    assert len(runs.order) == 7


def test_jobs_start_while_other_files_are_read(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [write(runs.exax.project, f"{name}.csv", name * 10) for name in "abc"]
    read, waited = hashing.hash_file, []

    def slowly(file: Path, step: Any = lambda size: None) -> str:
        deadline = time.monotonic() + 60
        while file.name == "c.csv" and len(runs.exax.asked) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
            step(0)
        if file.name == "c.csv":
            waited.append(len(runs.exax.asked))
        return read(file, step)

    monkeypatch.setattr(hashing, "hash_file", slowly)

    def pipeline(run: Run) -> Built:
        given = run.files(files)
        firsts = [run.build("first", partition=file.path.stem, file=file) for file in given]
        return run.build("second", all=firsts)

    made = runs.go(pipeline, cores=2)
    assert waited[0] == 2  # jobs of a and b, before the third file was read
    assert [job.stage for job in made.done] == ["first"] * 3 + ["second"]
    assert len(runs.exax.asked) == 4


def test_the_same_in_two_places_is_built_once(runs: Runs) -> None:
    """And what a pipeline does not ask for, other than was planned, is kept."""
    is_run = []

    def pipeline(run: Run) -> Built:
        first = run.build("first", partition="A")
        twice = [run.build("second", partition="B", first=first) for _ in range(2)]
        if isinstance(run, Executor):
            is_run.append(True)
            return run.build("long", partition="other", all=twice)
        return run.build("long", partition="planned", all=twice)

    made = runs.go(pipeline, cores=2)
    assert is_run
    assert {"first A", "second B", "long other"} <= {*runs.order}
    assert runs.order.count("second B") == 1
    assert [job.partition for job in made.jobs] == ["A", "B", "B", "other"]
    assert made.jobs[1].job == made.jobs[2].job


def test_wrong_later_jobs_wait_until_they_are_asked_for(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an edit makes it, of the stage of a job that was planned."""

    def wrong(pipeline: str, stage: str, *more: Any) -> Any:
        if stage == "second":
            raise InputError("the stage was edited")
        return request(pipeline, stage, *more)

    monkeypatch.setattr("shortloop.run.ready_jobs.request", wrong)

    def pipeline(run: Run) -> Built:
        first = run.build("first", partition="A")
        run.build("first", partition="B")
        return run.build("second", partition="C", first=first)

    assert [job.stage for job in runs.go(pipeline, cores=2).jobs] == ["first", "first", "second"]


def test_a_signal_takes_the_lock_from_no_other_thread() -> None:
    """It comes while the main thread, which is to end all jobs, waits for the lock."""
    turn, has_it, is_done = Turn(), threading.Event(), threading.Event()

    def job() -> None:
        with turn.of_job():
            has_it.set()
            time.sleep(1)
            is_done.set()

    def end(number: int, frame: object) -> None:
        raise SystemExit(number)

    def wait() -> None:
        with turn.released():
            threading.Thread(target=job).start()
            has_it.wait()
            signal.setitimer(signal.ITIMER_REAL, 0.3)

    before = signal.signal(signal.SIGALRM, end)
    turn.changed.acquire()
    try:
        with pytest.raises(SystemExit):
            wait()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not is_done.is_set()
    turn.regain(10)
    assert is_done.is_set()
