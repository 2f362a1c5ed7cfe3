"""Time left: right from the first job on if such jobs ran before, and soon if not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortloop.exax.cost import JobProgress
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.run.progress import Estimate, Name

HISTORY = {"features": 4.0, "train": 100.0, "group": 30.0}


class Run:
    """A run, and the clock on its wall."""

    def __init__(self, *jobs: Built, history: dict[str, float] | None = None) -> None:
        self.now = 0.0
        self.jobs = list(jobs)
        self.fraction: float | None = None
        self.estimate = Estimate(
            jobs, HISTORY if history is None else history, lambda folder: self.progress(), lambda: self.now
        )

    def begin(self) -> Name:
        job = self.jobs.pop(0)
        name = (job.stage, job.partition, "")
        self.estimate.begin(name, lambda: Path(job.stage))
        return name

    def job(self, seconds: float, built: bool = True) -> None:
        name = self.begin()
        self.now += seconds
        self.estimate.end(name, built)

    def progress(self) -> JobProgress | None:
        return None if self.fraction is None else JobProgress(self.fraction, 0, 0)

    def left(self, fraction: float | None = None) -> float:
        self.fraction = fraction
        seconds, all_known = self.estimate.left()
        assert all_known
        return seconds

    def share(self, fraction: float | None = None) -> float | None:
        self.fraction = fraction
        return self.estimate.of_running()


def planned(stage: str, plan: str = BUILD, partition: str | None = None, seconds: float = 0.0) -> Built:
    return Built("", stage, partition, plan=plan, seconds=seconds)


def test_before_the_first_job_all_take_what_they_took_before() -> None:
    assert Run(*[planned("features")] * 2, *[planned("train")] * 3, planned("group")).left() == 338


def test_what_is_there_takes_no_time() -> None:
    run = Run(planned("features", REUSE), planned("train", REUSE), planned("train"))
    assert run.left() == 100
    run.job(0.001, built=False)
    assert run.left() == 100


def test_what_may_be_there_counts_half_until_this_run_tells_more() -> None:
    run = Run(*[planned("train", PERHAPS)] * 5)
    assert run.left() == 250
    run.job(0.001, built=False)
    assert run.left() == pytest.approx(4 * 100 / 3)
    run.job(0.001, built=False)
    assert run.left() == pytest.approx(3 * 100 / 4)
    run.job(100)
    assert run.left() == pytest.approx(2 * 100 * 2 / 5)


def test_a_job_takes_what_the_one_in_its_place_took() -> None:
    """Features of two kinds, or participants with more trials, are not alike."""
    assert Run(planned("train", seconds=7), planned("train", seconds=500), planned("train")).left() == 607


def test_this_run_may_be_slower_than_history() -> None:
    run = Run(*[planned("train", seconds=seconds) for seconds in (10.0, 40.0, 100.0)], planned("group"))
    run.job(20)
    assert run.left() == 2 * 40 + 2 * 100 + 30
    run.job(30)
    assert run.left() == 100 + 30


def test_a_stage_without_history_goes_on_as_it_went() -> None:
    run = Run(*[planned("train")] * 4, history={})
    assert run.estimate.left() == (0, False)
    run.job(6)
    assert run.left() == 18
    run.job(2)
    assert run.left() == 8


def test_stages_that_nothing_is_known_of_are_said_to_be_missing() -> None:
    run = Run(planned("train"), planned("train"), planned("report"), history={})
    run.job(6)
    assert run.estimate.left() == (6, False)
    run.job(6)
    assert run.estimate.left() == (0, False)
    run.job(1)
    assert run.estimate.left() == (0, True)


def test_the_job_that_runs_counts_with_what_is_left_of_it() -> None:
    run = Run(planned("train"), planned("group"))
    run.begin()
    assert run.left() == 130
    run.now = 40
    assert run.left() == 60 + 30
    assert run.estimate.of_running() == pytest.approx(0.4)
    run.now = 1000  # longer than ever: no one knows
    assert run.left() == 30
    assert run.estimate.of_running() == 0.95


def test_units_tell_more_than_history() -> None:
    run = Run(planned("train"), planned("group"))
    run.begin()
    run.now = 200
    assert run.left(0.5) == 200 + 30
    assert run.share(0.5) == pytest.approx(0.5)
    assert run.left(0.1) == pytest.approx(1800 / 2 + 30)  # the first units are not trusted yet
    assert run.left(1.0) == 30
    assert run.share(1.0) == 0.99
    assert run.left(0.0) == 30  # none is done: history, and that is over


def test_units_are_enough_without_history() -> None:
    run = Run(planned("train"), history={})
    run.begin()
    run.now = 10
    run.fraction = 0.0
    assert run.estimate.left() == (0, False)
    assert run.share(0.0) is None
    assert run.left(0.25) == 30
    assert run.share(0.25) == pytest.approx(0.25)


def test_a_pipeline_may_do_what_it_did_not_plan() -> None:
    run = Run(planned("features", partition="A"), planned("features", partition="B"), planned("train"))
    run.estimate.begin(("features", "B", ""))  # another order
    run.now = 8
    run.estimate.end(("features", "B", ""), True)
    assert (run.estimate.done, run.estimate.total) == (1, 3)
    assert run.left() == 8 + 100
    run.estimate.begin(("surprise", None, ""))
    assert run.estimate.total == 4
    run.estimate.end(("surprise", None, ""), True)
    assert (run.estimate.done, run.estimate.total) == (2, 4)


def test_jobs_side_by_side_take_as_long_as_they_have_so_far() -> None:
    run = Run(*[planned("train")] * 6)
    first, second = run.begin(), ("train", "other", "")
    run.estimate.begin(second)
    run.now = 50
    assert run.left() == (50 + 50 + 5 * 100) / 2
    run.now = 100
    run.estimate.end(first, True)
    run.estimate.end(second, True)
    assert run.left() == 5 * 100 / 2
    run.now = 500  # nothing ran meanwhile
    assert run.left() == 5 * 100 / 2
    run.begin()
    assert run.left() == 5 * 100 / 2
    assert run.share() == 0


def test_the_longest_of_the_running_jobs_is_waited_for() -> None:
    run = Run(planned("train"), planned("features"))
    for _ in range(2):
        run.begin()
    assert run.left() == 104
    run.now = 2
    assert run.left() == 98
