"""One job's work, in plain data: all that a process needs to do a part of it, wherever it runs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shortloop.worker.fields import fields_of, typed_options
from shortloop.worker.results import Where, open_result
from shortloop.worker.stage import Stage

__all__ = ["Task", "open_stage"]


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
    """

    name: str
    module: str
    kind: str
    partition: str | None
    options: Mapping[str, Any]
    jobs: Mapping[str, Any]
    before: str | None = None
    where: Where = field(default_factory=Where)
    versions: Mapping[str, str] = field(default_factory=dict)


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
    kind: type[Stage] = getattr(importlib.import_module(task.module), task.kind)
    stage = kind()
    stage.partition = task.partition
    fields = fields_of(kind)
    values = typed_options(kind, task.options, task.where.files)
    values |= {name: open_result(task.jobs[name], task.where) for name in fields.jobs}
    values |= {name: [open_result(each, task.where) for each in task.jobs[name]] for name in fields.lists}
    for name in fields.perhaps:
        folder = task.jobs.get(name)
        values[name] = None if folder is None else open_result(folder, task.where)
    for name, value in values.items():
        setattr(stage, name, value)
    stage.have = _rows_before(stage, task)
    stage.open()
    return stage


def _rows_before(stage: Stage, task: Task) -> int:
    """How much of the option in which the stage grows the job before has left."""
    if task.before is None:
        return 0
    before = open_result(task.before, task.where)
    return min(int(task.options[stage.grows]), int(before.facts[stage.grows]))
