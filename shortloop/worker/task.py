"""One job's work, in plain data: all that a process needs to do a part of it, wherever it runs."""

from __future__ import annotations

import importlib
import json
import math
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from shortloop.plain import Plain
from shortloop.worker.dataset import Dataset
from shortloop.worker.fields import fields_of, typed_options
from shortloop.worker.references import References, files_in, refer_to
from shortloop.worker.results import Where, open_result
from shortloop.worker.stage import STAGE_OF, CollectingStage, Job, Stage
from shortloop.worker.state import changed, state_of_process

__all__ = ["Folders", "Task", "costs_of", "folder_kept", "open_stage"]

Folders = str | list[str] | None
"""Folder of a job, or of each of some; None of one that need not be given."""


@dataclass(frozen=True)
class Task:
    """What a job computes: names, options and paths, which can be sent to a process anywhere.

    Parameters
    ----------
    name : str
        Name of the stage, as pipelines call it.
    module, kind : str
        Where its class is, and the class's name.
    partition : str or None
        Which part of the data; None: all.
    options : mapping
        Its options, plain data.
    jobs : mapping of str to (str, list of str or None)
        Folders of the jobs that it is made from, by the names of the stage's fields.
    before : str, optional
        Folder of the job that it grows from.
    where : Where
        Where input files and other jobs are.
    versions : mapping of str to str
        Of the libraries that it uses, for its record.
    datasets : mapping of str to (str, list of str or None)
        Names of the datasets that it is made from, as ``"main-12/default"``, by the names of its fields.
    open_dataset : callable, optional
        Opens a dataset by such a name.
    """

    name: str
    module: str
    kind: str
    partition: str | None
    options: Mapping[str, Plain]
    jobs: Mapping[str, Folders]
    before: str | None = None
    where: Where = field(default_factory=Where)
    versions: Mapping[str, str] = field(default_factory=dict)
    datasets: Mapping[str, Folders] = field(default_factory=dict)
    open_dataset: Callable[[str], Dataset] | None = None


def open_stage(task: Task) -> Stage:
    """Make the stage of a job, set its fields and open it, so that it is ready to compute units.

    Parameters
    ----------
    task : Task
        The job's work.

    Returns
    -------
    Stage

    Raises
    ------
    InputError
        If an option is not of its type, or the stage refuses what it is given.
    """
    found = getattr(importlib.import_module(task.module), task.kind)
    kind: type[Stage] = getattr(found, STAGE_OF, found)
    stage = kind()
    stage.partition = task.partition
    fields = fields_of(kind)
    values = typed_options(kind, task.options, task.where.files)
    values |= {name: _jobs(task, name)[0] for name in fields.jobs}
    values |= {name: _jobs(task, name) for name in fields.lists}
    values |= {name: next(iter(_jobs(task, name)), None) for name in fields.perhaps}
    values |= {name: _datasets(task, name)[0] for name in fields.datasets}
    values |= {name: _datasets(task, name) for name in fields.dataset_lists}
    values |= {name: next(iter(_datasets(task, name)), None) for name in fields.perhaps_datasets}
    for name, value in values.items():
        setattr(stage, name, value)
    stage.have = _rows_before(stage, task)
    if not isinstance(stage, CollectingStage):
        with folder_kept():
            stage.open()
        return stage
    given = References(files_in([values[name] for name in fields.options]), lambda: _inputs(task))
    refer_to(given)
    before = state_of_process()
    with folder_kept():
        stage.open()
    given.changed = changed(before, state_of_process())
    return stage


def _inputs(task: Task) -> str:
    """All that a job is made from, alike on all machines."""
    jobs = [open_result(each, task.where) for name in task.jobs for each in _single(task.jobs[name])]
    made = [[each.job, each.setup.get("starttime")] for each in jobs]
    return json.dumps([task.partition, dict(task.options), made, dict(task.datasets)], sort_keys=True)


def _single(folders: Folders) -> list[str]:
    return [folders] if isinstance(folders, str) else folders or []


@contextmanager
def folder_kept() -> Iterator[None]:
    """Come back to the current folder after code of a stage, which may have changed it."""
    folder = os.getcwd()
    try:
        yield
    finally:
        os.chdir(folder)


def costs_of(stage: Stage) -> list[float]:
    """What each unit of a stage costs, in any measure.

    Parameters
    ----------
    stage : Stage
        The stage, opened.

    Returns
    -------
    list of float
        As many as there are units.

    Raises
    ------
    ValueError
        If that is no number of units, or a cost is none.
    """
    with folder_kept():
        units = stage.units()
    if hasattr(units, "__len__"):  # to ask for `Sized` costs a fork more
        costs = [float(each) for each in cast("Sequence[float]", units)]
        count = len(costs)
    else:
        count = operator.index(units)
        costs = [1.0] * count
    if count < 0 or not all(0 <= cost < math.inf for cost in costs):
        raise ValueError(f"{type(stage).__name__} says of its units: {units}")
    return costs


def _jobs(task: Task, name: str) -> list[Job]:
    """Jobs that it is made from under a name: one, several, or none where none need be given."""
    return [open_result(each, task.where) for each in _single(task.jobs.get(name))]


def _datasets(task: Task, name: str) -> list[Dataset]:
    """The same of datasets."""
    named = _single(task.datasets.get(name))
    assert task.open_dataset is not None or not named
    return [task.open_dataset(each) for each in named]  # type: ignore[misc]


def _rows_before(stage: Stage, task: Task) -> int:
    """How much of the option in which the stage grows the job before has left."""
    if task.before is None or not stage.grows:
        return 0
    before = open_result(task.before, task.where)
    return min(cast("int", task.options[stage.grows]), int(before.facts[stage.grows]))
