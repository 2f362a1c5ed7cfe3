"""Units whose order differs from process to process have their own values: on every engine, after a kill, and
when units of an earlier job are taken over."""

from __future__ import annotations

import itertools
import signal
from typing import Any

import pytest
from live_project import fixture_of
from order_project import OrderProject

pytestmark = pytest.mark.live

SOURCES = ("from_set", "shuffled", "from_threads", "frames")
STAGES = ("each", "named")
FIRST = itertools.count(1)  # hundred units, which no other test has had computed


project = fixture_of(OrderProject)


def asked(
    *sources: str, stages: tuple[str, ...] = STAGES, **options: Any
) -> list[tuple[str, dict[str, Any]]]:
    return [(stage, {"source": source, **options}) for stage in stages for source in sources or SOURCES]


def test_workers_compute_the_units_that_they_are_asked_for(project: OrderProject) -> None:
    """Polars gives groups in another order in each process, as a set of texts does; also for the jobs whose
    units are computed before they begin."""
    jobs = asked(*SOURCES, "polars", count=12)
    project.ask(*jobs)
    project.go("joblib")
    project.check(len(jobs), 12)
    assert project.computed() == 12 * len(jobs)


def test_units_of_earlier_jobs_keep_their_values(project: OrderProject) -> None:
    """Whichever job has them: also if the one in between has few of them."""
    project.ask(*asked(count=12))
    project.go()
    project.computed()
    for count, new, engine in ((2, 0, "slices"), (15, 3, "joblib")):
        project.ask(*asked(count=count))
        project.go(engine)
        project.check(len(asked()), count)
        assert project.computed() == new * len(asked())


@pytest.mark.parametrize(
    ("engine", "then", "number"),
    [
        ("slices", "slices", signal.SIGINT),
        ("joblib", "slices", signal.SIGKILL),
        pytest.param("joblib", "joblib", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("slices", "joblib", signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param("dask", "slices", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("slices", "dask", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("ray", "ray", signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_was_cut_off_goes_on_with_the_right_units(
    project: OrderProject, engine: str, then: str, number: int
) -> None:
    """The stage is opened again, and finds its units in another order."""
    first = 100 * next(FIRST)
    jobs = asked("shuffled", "frames", count=40, first=first)
    project.ask(*jobs)
    kept = project.cut_off(engine, 12, number)
    project.computed()
    assert kept >= 12
    project.go(then)
    project.check(len(jobs), 40, first=first)
    assert project.computed() <= 40 * len(jobs) - kept


def test_units_of_a_class_are_computed_anew_if_it_finds_others(project: OrderProject) -> None:
    """They have no names, so nobody knows which of them were done."""
    project.ask(*asked("shuffled", "from_set", stages=("own",), count=20))
    project.cut_off("slices", 10, signal.SIGINT)
    project.go()
    project.check(2, 20)


def test_a_class_that_finds_other_units_in_a_worker_is_refused(project: OrderProject) -> None:
    project.ask(*asked("shuffled", stages=("own",), count=9, factor=2.0))
    said = " ".join(project.go("joblib", status=1).split())
    assert "the units of a stage are not the same in each process that looks for them" in said
    assert "of the stage Own" in said
    assert "SHORTLOOP_ENGINE=slices" in said
    project.go("slices")  # as it says
    project.check(1, 9, factor=2.0)
