"""What a stage leaves: arrays laid out, filled unit by unit, and written with a record of what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.worker.records import Array, Outside, save_array, write_record
from shortloop.worker.results import open_result
from shortloop.worker.stage import Index, Out, Outputs, Stage
from shortloop.worker.task import Task
from shortloop.worker.threads import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

__all__ = ["keep_unit", "lay_out", "write_output"]

Create = Callable[[str, tuple[int, ...], "DTypeLike"], "np.ndarray"]


def lay_out(stage: Stage, task: Task, create: Create) -> dict[str, np.ndarray]:
    """Make the arrays that units fill, and copy what the job has left from which this one grows, if any.

    Parameters
    ----------
    stage : Stage
        The stage, opened.
    task : Task
        The job's work.
    create : callable
        ``create(name, shape, dtype)`` gives an array that lasts.

    Returns
    -------
    dict of str to array
        By name.

    Raises
    ------
    ValueError
        If the stage grows, and an output does not have a row for each of what it grows in: those of a job
        before could not be taken over.
    """
    outs = stage.outputs()
    if stage.grows:
        rows = task.options[stage.grows]
        for name, out in outs.items():
            if out.shape[:1] != (rows,):
                found = f"{type(stage).__name__} grows in {stage.grows}, which is {rows}"
                raise ValueError(f"{found}, and its output {name} has the shape {out.shape}")
    arrays = {name: create(name, out.shape, out.dtype) for name, out in outs.items()}
    if task.before is not None:
        before = open_result(task.before, task.where).arrays
        for name, array in arrays.items():
            array[: stage.have] = before[name][: stage.have]
    return arrays


def keep_unit(
    stage: Stage, unit: int, arrays: Mapping[str, np.ndarray], keep_file: Callable[[str, bytes], None]
) -> None:
    """Compute a unit, and put its values where they belong in the arrays.

    Parameters
    ----------
    stage : Stage
        The stage, opened.
    unit : int
        Number of the unit.
    arrays : mapping of str to array
        As of `lay_out`.
    keep_file : callable
        ``keep_file(name, content)`` keeps a file of the job.

    Raises
    ------
    ValueError
        If it gives nothing, no output of the stage, or one of another shape or of a type that does not fit:
        what NumPy would do then, to repeat values or to cut them off, is nothing that a stage means. And if
        it gives a file, though the stage grows.
    """
    import numpy as np

    values = stage.compute(unit)
    files = {name: value for name, value in values.items() if isinstance(value, bytes)}
    unknown = values.keys() - files.keys() - arrays.keys()
    if unknown or not values:
        found = ", ".join(sorted(unknown)) or "nothing"
        raise ValueError(f"{_said(stage, unit)} gives {found}; its outputs are {', '.join(arrays) or 'none'}")
    if files and stage.grows:
        raise ValueError(f"{_said(stage, unit)} gives files; those of a job before are not taken over")
    index = stage.index(unit)
    for name in values.keys() - files.keys():
        value, array = np.asarray(values[name]), arrays[name]
        where: Index = index[name] if isinstance(index, Mapping) else index
        shape = array[where].shape
        if value.shape != shape or not np.can_cast(value.dtype, array.dtype, "same_kind"):
            found, wanted = f"{value.dtype} {value.shape}", f"{array.dtype} {shape}"
            raise ValueError(f"{_said(stage, unit)} gives {name} as {found}; its output is {wanted}")
        cast = value.astype(array.dtype, copy=False)
        if array.dtype.kind in "iu" and not np.array_equal(cast, value):
            raise ValueError(f"{_said(stage, unit)} gives {name} with numbers that {array.dtype} cannot hold")
        array[where] = cast
    for name, content in files.items():
        keep_file(name, content)


def write_output(
    stage: Stage, task: Task, arrays: Mapping[str, np.ndarray], threads: Iterable[Pool]
) -> list[str]:
    """Finish a stage whose units are done: write what `Stage.finish` gives, and the record.

    It is written into the current folder, where the arrays that the units filled already are.

    Parameters
    ----------
    stage : Stage
        The stage, opened.
    task : Task
        The job's work.
    arrays : mapping of str to array
        What the units filled, by name.
    threads : iterable of Pool
        Thread pools, as `shortloop.worker.threads.check_single_thread` found them.

    Returns
    -------
    list of str
        Files that `Stage.finish` gave, by path below the current folder.
    """
    outputs = Outputs(arrays)
    finished = stage.finish(outputs)
    described = {name: _described(out) for name, out in stage.outputs().items()}
    for name, each in finished.arrays.items():
        if name in described:
            raise ValueError(f"{type(stage).__name__} gives {name} at its end, which its units have filled")
        outside = None
        if isinstance(each.values, Outside):
            outside = each.values
        elif each.values is not None:
            save_array(name, each.values)
        described[name] = Array(each.axes, each.description, each.unit, outside)
    for path, content in finished.files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)
    facts = dict(finished.facts)
    if stage.grows:
        facts[stage.grows] = task.options[stage.grows]
    write_record(task.name, task.partition, described, facts=facts, threads=threads, versions=task.versions)
    return list(finished.files)


def _said(stage: Stage, unit: int) -> str:
    return f"unit {unit} of the stage {type(stage).__name__}"


def _described(out: Out) -> Array:
    return Array(out.axes, out.description, out.unit)
