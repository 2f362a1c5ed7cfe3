"""Why a job was built, followed up to what somebody changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs_recorded import result_with
from refusal import refusal
from toy_jobs import CODE, ToyJobs, jobs_here, with_code

from shortloop.plan.explain.causes import ArrayDifference, Explained, array_differences, explain, same_cause
from shortloop.store.store import Store

STEP = with_code(steps="def step(x):\n    return x + 2")


jobs = pytest.fixture(jobs_here)


def why(job: str, against: str = "") -> Explained:
    with Store() as store:
        return explain(store, job, against)


def words(explained: Explained) -> list[str]:
    return [cause.words for cause in explained.causes]


def test_it_is_compared_with_the_job_in_its_place_before(jobs: ToyJobs) -> None:
    jobs.make(options={"seed": 1})
    jobs.make(options={"seed": 2})
    jobs.make(options={"seed": 3}, previous="main-0")
    found = why("main-2")
    assert (found.before, found.in_place) == ("main-0", True)
    assert words(found) == ["option seed: 1 → 3"]
    jobs.make("B", options={"seed": 1})  # the first of its kind has nothing to be compared with
    assert (why("main-3").before, why("main-3").causes) == ("", [])
    assert words(why("main-3", against="main-0")) == ["option partition: A → B"]
    jobs.unrecorded(finished=True)
    with refusal("no record"):
        why("main-4")


def test_without_one_it_is_compared_with_the_most_similar_older_one(jobs: ToyJobs) -> None:
    jobs.make(options={"seed": 1, "folds": 5})
    jobs.make(options={"seed": 1, "folds": 10})
    jobs.make(options={"seed": 2, "folds": 10}, code=STEP)
    jobs.make("B", options={"seed": 2, "folds": 10})
    jobs.make(options={"seed": 2, "folds": 10})
    jobs.make(options={"seed": 2, "folds": 10}, code=STEP)
    found = why("main-4")
    assert (found.before, found.in_place) == ("main-2", False)
    (cause,) = found.causes
    assert cause.words == "code of steps.step (shortloop/steps.py)"
    assert {"+    return x + 1", "-    return x + 2"} <= set(cause.diff)


def test_jobs_made_from_others_are_compared_among_themselves(jobs: ToyJobs) -> None:
    """Of a plain source with those of a plain source, though others are as similar."""
    kinds = [jobs.make(method=kind) for kind in ("plain", "rich", "plain")]
    jobs.make(above={"source": kinds[0]})
    jobs.make(above={"source": kinds[1]}, options={"seed": 2})
    jobs.make(above={"source": kinds[2]}, options={"seed": 2})
    assert why("main-5").before == "main-3"


def test_an_input_is_followed_to_its_own_cause(jobs: ToyJobs) -> None:
    middle = jobs.make(method="middle", above={"scores": jobs.make()})
    jobs.make(method="last", above={"middle": middle})
    new = jobs.make(code=STEP, left=1)
    jobs.make(method="unlike")
    middle = jobs.make(method="middle", above={"scores": new}, left=1)
    jobs.make(method="last", above={"middle": middle}, previous="main-2")
    (cause,) = why("main-6").causes
    assert cause.words == "middle: main-1 → main-5 came out different"
    ((above, _),) = cause.above
    assert words(above) == ["scores: main-0 → main-3 came out different"]
    ((above, _),) = above.causes[0].above
    assert words(above) == ["code of steps.step (shortloop/steps.py)"]


def test_an_input_that_came_out_the_same_is_no_cause_and_a_partition_more_is_counted(jobs: ToyJobs) -> None:
    one = jobs.make(method="last", above={"scores": jobs.make()})
    jobs.make(method="last", above={"scores": jobs.make(code=STEP)}, options={"x": 1}, previous=one.job)
    assert words(why("main-3")) == ["option x: none → 1"]
    old = [jobs.make(name, left=place) for place, name in enumerate("AB", 2)]
    before, new = jobs.make(None, method="group", above={"all": old}), jobs.make("C", left=5)
    after = jobs.make(None, method="group", above={"all": [*old, new]}, previous=before.job)
    assert words(why(after.job)) == ["all: 2 → 3 jobs"]


def test_inputs_in_another_order(jobs: ToyJobs) -> None:
    """Only those count that are others, wherever they are."""
    old = [jobs.make(name) for name in "ABC"]
    new, before = jobs.make("D", left=1), jobs.make(None, method="last", above={"all": old})
    turned = jobs.make(None, method="last", above={"all": [old[1], old[0], old[2]]}, previous=before.job)
    assert words(why(turned.job)) == ["all: the order of 3 jobs changed"]
    moved = jobs.make(None, method="last", above={"all": [old[1], old[2], new]}, previous=before.job)
    assert words(why(moved.job)) == ["all: 1 of 3 jobs came out different"]


def test_many_inputs_with_one_cause_are_told_once(jobs: ToyJobs) -> None:
    jobs.make(None, method="group", above={"all": [jobs.make(name) for name in "ABCD"]})
    new = [jobs.make(name, code=STEP, left=1) for name in "ABC"]
    other = jobs.make("D", options={"seed": 2}, left=1)
    jobs.make(None, method="group", above={"all": [*new, other]}, previous="main-4")
    (cause,) = why("main-9").causes
    assert cause.words == "all: 4 of 4 jobs came out different"
    assert [(each.manifest.job, number) for each, number in cause.above] == [("main-5", 3), ("main-8", 1)]


def test_jobs_are_grouped_by_cause_stage_and_run(jobs: ToyJobs) -> None:
    for code in (CODE, STEP):
        for name, settings in (("A", "small"), ("B", "small"), ("A", "large")):
            jobs.make(name, settings=settings, code=code)
    jobs.make("A", method="other", settings="small", code=STEP)
    groups = same_cause([why(f"main-{number}") for number in (3, 4, 5, 6)])
    found = [[each.manifest.job for each in group] for group in groups]
    assert found == [["main-3", "main-4"], ["main-5"], ["main-6"]]


def test_differences_of_arrays(tmp_path: Path) -> None:
    nan = np.nan
    alike: Any = {"same": [1.0, nan]}
    first: Any = {"numbers": [[1, 2], [3, 4]], "words": ["a", "b"], "shape": [1], "gone": [1]}
    second: Any = {"numbers": [[1, 2], [3, 9]], "words": ["a", "c"], "shape": [1, 2], "more": [1.0]}
    one, other = (result_with(tmp_path / n, **alike, **each) for n, each in (("a", first), ("b", second)))
    assert list(array_differences(one, other)) == [
        ArrayDifference("same", "2 float64", "2 float64", 0, None),
        ArrayDifference("numbers", "2 × 2 int64", "2 × 2 int64", 1, 5.0),
        ArrayDifference("words", "2 <U1", "2 <U1", 1, None),
        ArrayDifference("shape", "1 int64", "2 int64", None, None),
        ArrayDifference("gone", "1 int64", "", None, None),
        ArrayDifference("more", "", "1 float64", None, None),
    ]
    for value in (np.inf, nan):  # a number that became none
        one, other = result_with(tmp_path / "a", x=[1.0, 2.0]), result_with(tmp_path / "b", x=[1.0, value])
        assert [found.differ for found in array_differences(one, other)] == [1]
