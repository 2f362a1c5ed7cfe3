"""Plain-data description of a job's work, for any process that computes part of it."""

from __future__ import annotations

import importlib
import json
import math
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from shortloop.base.plain import Plain
from shortloop.stages.dataset import Dataset
from shortloop.stages.fields import MANY, ONE, fields_of, typed_options
from shortloop.stages.references import References, changed, files_in, refer_to, state_of_process
from shortloop.stages.results import Where, open_result
from shortloop.stages.stage import STAGE_OF, CollectingStage, Stage

Folders = str | list[str] | None
"""Folder of a job, or of each of a list; None of an optional one that is not given."""


@dataclass(frozen=True)
class Task:
    """Work of a job: names, options and paths, which can be sent to a process anywhere."""

    name: str  # of the stage, as pipelines call it
    module: str
    kind: str  # name of the stage's class in the module
    partition: str | None
    options: Mapping[str, Plain]
    jobs: Mapping[str, Folders]  # that it is made from, by the stage's fields
    before: str | None = None  # folder of the job that it grows from
    where: Where = field(default_factory=Where)
    versions: Mapping[str, str] = field(default_factory=dict)  # of libraries, for the record
    datasets: Mapping[str, Folders] = field(default_factory=dict)  # named as in ``"main-12/default"``
    open_dataset: Callable[[str], Dataset] | None = None


def kind_of(task: Task) -> type[Stage]:
    """The class of a job's stage; of a function, the one made of it."""
    found = getattr(importlib.import_module(task.module), task.kind)
    kind: type[Stage] = getattr(found, STAGE_OF, found)
    return kind


def folders_of(task: Task) -> list[str]:
    """Folders of the jobs that a job is made from."""
    return [folder for folders in task.jobs.values() for folder in _single(folders)]


def open_stage(task: Task, prepare: Callable[[Stage], object] = lambda stage: None) -> Stage:
    """Make the stage of a job, set its fields and open it, ready to compute units."""
    kind = kind_of(task)
    stage = kind()
    prepare(stage)
    stage.partition = task.partition
    fields = fields_of(kind)
    values = typed_options(kind, task.options, task.where.files)
    for name, number in fields.jobs.items():
        jobs = [open_result(each, task.where) for each in _single(task.jobs.get(name))]
        values[name] = _as_field(number, jobs)
    for name, number in fields.datasets.items():
        datasets = [cast("Any", task.open_dataset)(each) for each in _single(task.datasets.get(name))]
        values[name] = _as_field(number, datasets)
    for name, value in values.items():
        setattr(stage, name, value)
    if task.before is not None and stage.grows:
        before = open_result(task.before, task.where).facts[stage.grows]
        stage.have = min(cast("int", task.options[stage.grows]), int(before))
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
    """Everything that a job is made from, the same on all machines."""
    jobs = [open_result(each, task.where) for each in folders_of(task)]
    made = [[each.job, each.setup.get("starttime")] for each in jobs]
    return json.dumps([task.partition, dict(task.options), made, dict(task.datasets)], sort_keys=True)


def _single(folders: Folders) -> list[str]:
    return [folders] if isinstance(folders, str) else folders or []


@contextmanager
def folder_kept() -> Iterator[None]:
    """Restore the current folder after code of a stage, which may change it."""
    folder = os.getcwd()
    try:
        yield
    finally:
        os.chdir(folder)


def costs_of(stage: Stage) -> list[float]:
    """Cost of each unit of a stage, in any measure."""
    with folder_kept():
        units: Any = stage.units()
    is_list = hasattr(units, "__len__")  # to ask for `Sized` costs a fork more
    costs = [float(each) for each in units] if is_list else [1.0] * operator.index(units)
    if not all(0 <= cost < math.inf for cost in (costs if is_list else [units])):
        raise ValueError(f"{type(stage).__name__} says of its units: {units}")
    return costs


def _as_field(number: str, values: Sequence[object]) -> object:
    """The value of a field that takes one, many or optionally one."""
    return values if number == MANY else values[0] if values or number == ONE else None
