"""What a stage leaves: arrays laid out, filled unit by unit, and written with a record of what they are."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.plain import Plain
from shortloop.worker.coverage import check_coverage, indices_of
from shortloop.worker.exact_arrays import exact_array
from shortloop.worker.fact_types import ARRAY, all_with_types
from shortloop.worker.figures import figure_files
from shortloop.worker.hearing import heard
from shortloop.worker.names import check_array_name, check_file_name
from shortloop.worker.records import ROWS, Array, Outside, save_array, write_record
from shortloop.worker.references import here
from shortloop.worker.results import open_result
from shortloop.worker.rows import BEGIN, FOR_OTHERS, FOR_THIS_JOB, pack, write_rows
from shortloop.worker.stage import CollectingStage, Finished, Index, Out, Outputs, Stage
from shortloop.worker.tables import save_table
from shortloop.worker.task import Task, costs_of, folder_kept
from shortloop.worker.threads import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike


__all__ = ["compute_row", "compute_unit", "computed", "keep_unit", "lay_out", "write_output"]

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
        If an output has a name that no file can have, or an element that no unit fills, or several; or the
        stage grows, and an output does not have a row for each of what it grows in: those of a job before
        could not be taken over.
    """
    outs = stage.outputs()
    for name in outs:
        check_array_name(name)
    if stage.grows:
        rows = task.options[stage.grows]
        for name, out in outs.items():
            if out.shape[:1] != (rows,):
                found = f"{type(stage).__name__} grows in {stage.grows}, which is {rows}"
                raise ValueError(f"{found}, and its output {name} has the shape {out.shape}")
    check_coverage(stage, outs, len(costs_of(stage)))
    arrays = {name: create(name, out.shape, out.dtype) for name, out in outs.items()}
    if task.before is not None and stage.grows:
        before = open_result(task.before, task.where).arrays
        for name, array in arrays.items():
            array[: stage.have] = before[name][: stage.have]
    return arrays


def compute_unit(stage: Stage, unit: int) -> Mapping[str, ArrayLike | bytes]:
    """Compute a unit, in whatever process.

    Parameters
    ----------
    stage : Stage
        The stage, opened.
    unit : int
        Number of the unit.

    Returns
    -------
    mapping of str to (array-like or bytes)
        Outputs and files by name, for `keep_unit`.

    Raises
    ------
    ValueError
        If it gives something else.
    """
    values = stage.compute(unit)
    if not isinstance(values, Mapping):
        raise ValueError(f"{stage.unit_name(unit)} gives {type(values).__name__}, not outputs by name")
    return values


def keep_unit(
    stage: Stage,
    unit: int,
    values: Mapping[str, ArrayLike | bytes],
    arrays: Mapping[str, np.ndarray],
    keep_file: Callable[[str, bytes], None],
) -> None:
    """Put what a unit gave where it belongs in the arrays.

    Parameters
    ----------
    stage : Stage
        The stage, opened.
    unit : int
        Number of the unit.
    values : mapping of str to (array-like or bytes)
        As of `compute_unit`.
    arrays : mapping of str to array
        As of `lay_out`.
    keep_file : callable
        ``keep_file(name, content)`` keeps a file of the job.

    Raises
    ------
    ValueError
        If it gives other outputs than it is to fill, or one of another shape or of a type that does not fit:
        what NumPy would do then, to repeat values or to cut them off, is nothing that a stage means. If it
        gives a file whose path is none of a job's, or any, though the stage grows.
    """
    indices = indices_of(stage, unit, arrays)
    if values.keys() != indices.keys() or not values:
        _keep_files(stage, unit, values, arrays, indices, keep_file)
    for name, where in indices.items():
        value, array = exact_array(values[name], name), arrays[name]
        shape = array.shape[1:] if isinstance(where, int) else array[where].shape
        if value.shape != shape or value.dtype is not array.dtype:
            _check_fit(stage, unit, name, value, array.dtype, shape)
        array[where] = value


def _keep_files(
    stage: Stage,
    unit: int,
    values: Mapping[str, ArrayLike | bytes],
    arrays: Mapping[str, np.ndarray],
    indices: Mapping[str, Index],
    keep_file: Callable[[str, bytes], None],
) -> None:
    """Keep what a unit gives beside what it fills, if that may be."""
    files = {name: each for name, each in values.items() if isinstance(each, bytes) and name not in arrays}
    if values.keys() - files.keys() != indices.keys() or not values:
        found = ", ".join(sorted(values.keys() - files.keys())) or "nothing"
        raise ValueError(
            f"{stage.unit_name(unit)} gives {found}; it is to fill {', '.join(indices) or 'nothing'}"
        )
    if stage.grows:
        raise ValueError(f"{stage.unit_name(unit)} gives files; those of a job before are not taken over")
    for name, content in files.items():
        check_file_name(name)
        keep_file(name, content)


def _check_fit(
    stage: Stage, unit: int, name: str, value: np.ndarray, dtype: np.dtype, shape: tuple[int, ...]
) -> None:
    """Refuse values that would be repeated, cut off or changed where they belong."""
    import numpy as np

    if value.shape != shape or not np.can_cast(value.dtype, dtype, "same_kind"):
        found, wanted = f"{value.dtype} {value.shape}", f"{dtype} {shape}"
        raise ValueError(f"{stage.unit_name(unit)} gives {name} as {found}; its output is {wanted}")
    if not _can_hold(dtype, value):
        raise ValueError(f"{stage.unit_name(unit)} gives {name} with values that {dtype} cannot hold")


def compute_row(stage: CollectingStage, unit: int) -> bytes:
    """Compute a unit of a stage that collects, in whatever process.

    Parameters
    ----------
    stage : CollectingStage
        The stage, opened.
    unit : int
        Number of the unit.

    Returns
    -------
    bytes
        Its row: the unit's key, whether another job may take it over by that key, and what it gave.

    Raises
    ------
    InputError
        If it gives what cannot be kept.
    """
    here().joined.clear()
    key = stage.unit_key(unit)  # before anything can change what it reads
    values, depends_on_more = heard(stage, lambda: stage.compute(unit))
    return key + (FOR_THIS_JOB if depends_on_more else FOR_OTHERS) + pack(values, stage.unit_name(unit))


def computed(stage: Stage, unit: int) -> Mapping[str, ArrayLike | bytes] | bytes:
    """Compute a unit of any stage, in whatever process.

    Parameters
    ----------
    stage : Stage
        The stage, opened.
    unit : int
        Number of the unit.

    Returns
    -------
    mapping or bytes
        As of `compute_unit`, or of `compute_row` where the stage collects.
    """
    with folder_kept():
        try:
            if isinstance(stage, CollectingStage):
                return compute_row(stage, unit)
            return compute_unit(stage, unit)
        except BaseException as error:  # also `SystemExit`, and a panic of a library that is written in Rust
            name = stage.unit_name(unit)
            if name not in str(error):
                error.add_note(f"in unit {name}")
            raise


def _can_hold(dtype: np.dtype, value: np.ndarray) -> bool:
    """Whether values stay what they are, but for the rounding of floats."""
    import numpy as np

    if value.dtype == dtype or dtype.kind == "V":
        return True
    with np.errstate(over="ignore"):
        cast = value.astype(dtype)
    if dtype.kind in "fc":
        return bool((np.isinf(cast) <= np.isinf(value)).all())
    return np.array_equal(cast, value, equal_nan=dtype.kind in "mM")


def write_output(
    stage: Stage,
    task: Task,
    arrays: Mapping[str, np.ndarray],
    threads: Iterable[Pool],
    files: Sequence[str] = (),
    rows: Sequence[bytes] = (),
    taken: Mapping[str, int] | None = None,
    engine: Mapping[str, Plain] | None = None,
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
    files : sequence of str
        Files that units gave.
    rows : sequence of bytes
        What each unit gave, of a stage that collects; as of `compute_row`.
    taken : mapping of str to int, optional
        How many of them each earlier job gave.
    engine : mapping, optional
        What computed the units.

    Returns
    -------
    list of str
        Files beside the arrays, by path below the current folder.

    Raises
    ------
    ValueError
        If it gives something else than `Finished`, facts that are no plain data, what its units have given,
        or a name that no file of a job can have, or that two have.
    """
    import numpy as np

    kind = type(stage).__name__
    with folder_kept():
        finished = stage.finish(Outputs(arrays, [row[BEGIN:] for row in rows]))
    if not isinstance(finished, Finished):
        raise ValueError(f"finish of {kind} gives {type(finished).__name__}, not Finished")
    facts, types = all_with_types(finished.facts, kind)
    described = {name: _described(out) for name, out in stage.outputs().items()}
    for name, each in finished.arrays.items():
        check_array_name(name)
        if name in described:
            raise ValueError(f"{kind} gives {name} at its end, which its units have filled")
        outside = None
        if isinstance(each.values, Outside):
            outside = each.values
        elif each.values is not None:
            save_array(name, each.values)
            if isinstance(each.values, np.ndarray) and not each.values.ndim:
                types[name] = ARRAY  # and not a scalar
        described[name] = Array(each.axes, each.description, each.unit, outside)
    drawn = [figure_files(name, figure).items() for name, figure in finished.figures.items()]
    whole = [*finished.files.items(), *itertools.chain.from_iterable(drawn)]
    written = [*files, *(path for path, _ in whole), *(f"{name}.parquet" for name in finished.tables)]
    for path, count in Counter(written).items():
        check_file_name(path)
        if count > 1:
            raise ValueError(f"{kind} gives {path} {count} times: a figure NAME is NAME.png and NAME.pdf")
    tables = {name: save_table(name, table) for name, table in finished.tables.items()}
    for path, content in whole:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)
    if stage.grows:
        facts[stage.grows] = task.options[stage.grows]
    collects = isinstance(stage, CollectingStage)
    if collects:
        write_rows(Path(ROWS), rows)
    write_record(
        task.name,
        task.partition,
        described,
        facts=facts,
        types=types,
        coordinates=finished.coordinates,
        tables=tables,
        figures=list(finished.figures),
        files=[*files, *finished.files],
        taken=taken,
        engine=engine,
        threads=threads,
        versions=task.versions,
    )
    return [*written[len(files) :], *([ROWS] if collects else [])]


def _described(out: Out) -> Array:
    return Array(out.axes, out.description, out.unit)
