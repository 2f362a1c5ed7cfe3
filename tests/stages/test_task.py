"""A job's work in plain data: a stage is opened from it, in any process."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from in_process import do_job, files_of
from toy_stages import Growing, Numbers, Powers, task_of

from shortloop.base.errors import InputError, TransientError
from shortloop.stages.results import Where
from shortloop.stages.stage import Stage
from shortloop.stages.task import Task, costs_of, open_stage


@pytest.fixture
def where(tmp_path: Path) -> Where:
    file = tmp_path / "numbers.txt"
    file.write_text("1 2 3", encoding="utf-8")
    return Where({"c1": file})


@pytest.fixture
def powers(tmp_path: Path, where: Where) -> Task:
    """A job that is made from another one twice."""
    numbers = tmp_path / "main-1"
    do_job(task_of(Numbers, {"file": "c1"}, {}, where=where), numbers)
    jobs = {"numbers": str(numbers), "others": [str(numbers)], "offset": None}
    return task_of(Powers, {"count": 3, "style": {"name": "x"}}, jobs, where=where)


def test_a_stage_is_opened_with_options_jobs_and_files(powers: Task, where: Where) -> None:
    numbers = open_stage(task_of(Numbers, {"file": "c1"}, {}, where=where))
    assert isinstance(numbers, Numbers)
    assert (numbers.file.content, numbers.file.path) == ("c1", where.files["c1"])
    assert (numbers.scale, numbers.partition, numbers.have) == (1.0, None, 0)
    stage = open_stage(powers)
    assert isinstance(stage, Powers)
    assert stage.opened
    assert stage.count == 3
    assert stage.numbers.facts == {"names": ["numbers.txt"]}
    assert [each.job for each in stage.others] == ["main-1"]
    assert stage.offset is None
    assert stage.base.tolist() == [1, 2, 3, 1, 2, 3]


def test_a_job_that_need_not_be_given_may_be(powers: Task) -> None:
    jobs = {**powers.jobs, "offset": powers.jobs["numbers"]}
    stage = open_stage(task_of(Powers, powers.options, jobs, where=powers.where))
    assert isinstance(stage, Powers)
    assert stage.offset is not None
    del jobs["offset"]
    assert open_stage(task_of(Powers, powers.options, jobs)).__dict__["offset"] is None


def test_the_partition_is_known(powers: Task) -> None:
    task = Task("powers", "toy_stages", "Powers", "A/1", powers.options, powers.jobs)
    assert open_stage(task).partition == "A/1"


@pytest.mark.parametrize(("before", "count", "have"), [(2, 5, 2), (5, 2, 2), (3, 3, 3)])
def test_a_job_that_grows_begins_with_what_there_is(
    powers: Task, tmp_path: Path, before: int, count: int, have: int
) -> None:
    jobs = {"numbers": powers.jobs["numbers"]}
    do_job(task_of(Growing, {"count": before}, jobs, where=powers.where), tmp_path / "main-2")
    stage = open_stage(task_of(Growing, {"count": count}, jobs, before=str(tmp_path / "main-2")))
    assert (stage.have, stage.units()) == (have, count - have)


def test_what_is_wrong_is_said(powers: Task, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Powers got wrong options"):
        open_stage(task_of(Powers, {"count": 3}, powers.jobs))
    with pytest.raises(TransientError, match="the record of a job cannot be read"):
        open_stage(task_of(Powers, powers.options, {**powers.jobs, "numbers": str(tmp_path / "main-9")}))


def test_it_is_plain_data_for_any_process(powers: Task, tmp_path: Path) -> None:
    assert pickle.loads(pickle.dumps(powers)) == powers
    here = files_of(do_job(powers, tmp_path / "here").path)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(do_job, (powers, tmp_path / "there"))
    assert files_of(tmp_path / "there") == here


class Counted(Stage):
    """With units as it is told."""

    said: ClassVar[Any] = 0

    def units(self) -> Any:
        return self.said


@pytest.mark.parametrize(
    ("said", "costs"),
    [(0, []), (2, [1, 1]), (np.int64(2), [1, 1]), ([3, 0.5], [3, 0.5]), (np.array([1, 2]), [1, 2]), ([], [])],
)
def test_units_by_their_number_or_costs(
    monkeypatch: pytest.MonkeyPatch, said: Any, costs: list[float]
) -> None:
    monkeypatch.setattr(Counted, "said", said)
    assert costs_of(Counted()) == costs


@pytest.mark.parametrize("said", [-1, [1, -1], [1, float("nan")], [float("inf")]])
def test_what_is_no_number_of_units(monkeypatch: pytest.MonkeyPatch, said: Any) -> None:
    monkeypatch.setattr(Counted, "said", said)
    with pytest.raises(ValueError, match="Counted says of its units"):
        costs_of(Counted())
