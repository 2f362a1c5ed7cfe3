"""Outputs of a stage: arrays created, filled unit by unit, and recorded."""

from __future__ import annotations

import io
import math
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.stages.exact_values import ARRAY, NotPlain, exact_array, with_types
from shortloop.stages.failures import Failures, check_missing, message_of, missing, tried
from shortloop.stages.needs import KEEP, needs_of
from shortloop.stages.records import (
    OBJECT,
    ROWS,
    OptionalEntries,
    Outside,
    Pickled,
    Work,
    check_array_name,
    check_file_name,
    save_array,
    write_record,
)
from shortloop.stages.references import compute_watched, here
from shortloop.stages.results import open_result
from shortloop.stages.rows import BEGIN, FOR_OTHERS, FOR_THIS_JOB, pack, write_rows
from shortloop.stages.stage import CollectingStage, Finished, Index, Out, Outputs, Stage, Values
from shortloop.stages.tables import save_table
from shortloop.stages.task import Task, costs_of
from shortloop.stages.threads import Pool

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, DTypeLike

DPI = 200
# Without when and with what a file was written.
FIGURES = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}
COUNTS = {"flop", "flop32", "bytes"}  # see `Stage.operation_counts`

Create = Callable[[str, tuple[int, ...], "DTypeLike"], "np.ndarray"]


def lay_out(stage: Stage, task: Task, create: Create) -> dict[str, np.ndarray]:
    """Make the arrays that units fill, with the rows of the job from which this one grows, if any."""
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
    if needs_of(type(stage)).on_error == KEEP:
        check_missing(task.name, arrays)
    if task.before is not None and stage.grows:
        before = open_result(task.before, task.where).arrays
        for name, array in arrays.items():
            array[: stage.have] = before[name][: stage.have]
    return arrays


def counts_of(stage: Stage) -> Work:
    """Return the checked operation counts of a stage."""
    found = {name: float(each) for name, each in stage.operation_counts().items()}
    if not found.keys() <= COUNTS or not all(0 <= each < math.inf for each in found.values()):
        problem = f"operation_counts of {type(stage).__name__} are not numbers from 0 by known names"
        raise InputError(problem, found=str(found), expected=" or ".join(sorted(COUNTS)))
    return cast("Work", found)


def compute_unit(stage: Stage, unit: int) -> Mapping[str, ArrayLike | bytes]:
    """Compute a unit, in whatever process: outputs and files by name, for `keep_unit`."""
    values = stage.compute(unit)
    if not isinstance(values, Mapping):
        raise ValueError(f"{stage.unit_name(unit)} gives {type(values).__name__}, not outputs by name")
    return values


def compute_row(stage: CollectingStage, unit: int) -> bytes:
    """Compute a unit of a stage that collects, in whatever process."""
    here().in_keys.clear()
    key = stage.unit_key(unit)  # before anything can change what it reads
    values, depends_on_more = compute_watched(stage, lambda: stage.compute(unit))
    return key + (FOR_THIS_JOB if depends_on_more else FOR_OTHERS) + pack(values, stage.unit_name(unit))


def computed(stage: Stage, unit: int) -> Any:
    """Compute a unit of any stage, in whatever process."""

    def compute() -> Mapping[str, ArrayLike | bytes] | bytes:
        with chdir("."):
            try:
                if isinstance(stage, CollectingStage):
                    return compute_row(stage, unit)
                return compute_unit(stage, unit)
            except BaseException as error:  # also `SystemExit`, and a panic of a library written in Rust
                if (name := stage.unit_name(unit)) not in message_of(error):
                    error.add_note(f"in unit {name}")
                raise

    needs = needs_of(type(stage))
    return tried(needs, compute) if needs.guards else compute()


def write_output(
    stage: Stage,
    task: Task,
    arrays: Mapping[str, np.ndarray],
    threads: Iterable[Pool],
    files: Sequence[str] = (),
    rows: Sequence[bytes] = (),
    taken: Mapping[str, int] | None = None,
    engine: Mapping[str, Plain] | None = None,
    failures: Failures | None = None,
) -> list[str]:
    """Write the results of `Stage.finish` and the record beside the arrays that units filled."""
    kind = type(stage).__name__
    with chdir("."):
        errors = None if failures is None else failures.errors
        finished = stage.finish(Outputs(arrays, [row[BEGIN:] for row in rows], errors))
    if not isinstance(finished, Finished):
        raise ValueError(f"finish of {kind} gives {type(finished).__name__}, not Finished")
    facts, types, objects = _kept(finished.facts, kind)
    outs = stage.outputs()
    _save_arrays(finished, outs, types, kind)
    whole = [*finished.files.items(), *_figure_files(finished.figures)]
    whole += [(f"{name}{OBJECT}", each.data) for name, each in objects.items()]
    written = [*files, *(path for path, _ in whole), *(f"{name}.parquet" for name in finished.tables)]
    _check_paths(written, kind)
    tables = {name: save_table(name, table) for name, table in finished.tables.items()}
    for path, content in whole:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)
    if stage.grows:
        facts[stage.grows] = task.options[stage.grows]
    collects = isinstance(stage, CollectingStage)
    if collects:
        write_rows(Path(ROWS), rows)
    entries: OptionalEntries = {
        "tables": tables,
        "objects": {name: each.described for name, each in objects.items()},
        "figures": list(finished.figures),
        "files": [*files, *finished.files],
        "taken": dict(taken or {}),
        "engine": dict(engine or {}),
        "coordinates": dict(finished.coordinates),
        "types": types,
    }
    if failures is not None:
        entries.update(failures.of_record())
    versions = task.versions
    described: dict[str, Out | Values] = {**outs, **finished.arrays}
    write_record(
        task.name, task.partition, described, facts=facts, threads=threads, versions=versions, **entries
    )
    return [*written[len(files) :], *([ROWS] if collects else [])]


def _check_paths(paths: Sequence[str], kind: str) -> None:
    folders = {str(each) for path in paths for each in Path(path).parents}
    for path, count in Counter(paths).items():
        check_file_name(path)
        problem = f"{kind} gives {path} {count} times" if count > 1 else ""
        if problem := problem or (f"{kind} gives {path} as a file and a folder" if path in folders else ""):
            said = "a table NAME is NAME.parquet, a figure NAME.png and NAME.pdf, an object NAME.pkl"
            raise InputError(problem, hint=f"rename one: {said}")


def _save_arrays(finished: Finished, filled: Container[str], types: dict[str, Plain], kind: str) -> None:
    """Write the arrays of `Stage.finish`; note the types of single values."""
    import numpy as np

    for name, each in finished.arrays.items():
        check_array_name(name)
        if name in filled:
            raise ValueError(f"{kind} gives {name} at its end, which its units have filled")
        if each.values is not None and not isinstance(each.values, Outside):
            save_array(name, each.values)
            if isinstance(each.values, np.ndarray) and not each.values.ndim:
                types[name] = ARRAY  # and not a scalar


def _kept(
    given: Mapping[str, object], what: str
) -> tuple[dict[str, Plain], dict[str, Plain], dict[str, Pickled]]:
    """Facts as JSON, types of these, and pickles of those that JSON cannot hold."""
    facts: dict[str, Plain] = {}
    types: dict[str, Plain] = {}
    objects: dict[str, Pickled] = {}
    for name, fact in given.items():
        try:
            facts[name], found = with_types(fact)
        except NotPlain:
            from shortloop.stages.objects import packed

            try:
                check_file_name(f"{name}{OBJECT}")
            except ValueError as error:
                problem = f"{what} gives an object under a name that no file can have"
                raise InputError(problem, field=name, found=str(error), hint="rename it") from None
            objects[name] = packed(fact, name, what)
        else:
            types |= {} if found is None else {name: found}
    return facts, types, objects


def _figure_files(figures: Mapping[str, Figure]) -> Iterator[tuple[str, bytes]]:
    for name, figure in figures.items():
        for ending, metadata in FIGURES.items():
            stream = io.BytesIO()
            figure.savefig(stream, format=ending, dpi=DPI, metadata=metadata, bbox_inches="tight")
            yield f"{name}.{ending}", stream.getvalue()
        if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
            pyplot.close(figure)


def indices_of(stage: Stage, unit: int, outs: Mapping[str, object]) -> Mapping[str, Index]:
    """Index of a unit into each output that it fills."""
    index = stage.index(unit)
    return index if isinstance(index, Mapping) else dict.fromkeys(outs, index)


def check_coverage(stage: Stage, outs: Mapping[str, Out], units: int) -> None:
    """Refuse units that leave an element of an output unfilled, a zero nobody computed, or fill it twice."""
    kind = type(stage).__name__
    if type(stage).index is Stage.index and not stage.have:  # without asking for each of them
        for name, out in outs.items():
            if out.shape[:1] != (units,):
                raise ValueError(
                    f"{kind} has {units} units, and the first axis of its output {name} is not that long: "
                    f"{out.shape}; `index` says where the values of a unit belong"
                )
        return
    found: dict[str, list[tuple[int | slice, ...]]] = {name: [] for name in outs}
    for unit in range(units):
        for name, where in indices_of(stage, unit, outs).items():
            if name not in outs:
                raise ValueError(f"index({unit}) of {kind} names {name}; its outputs are {', '.join(outs)}")
            found[name].append(where if isinstance(where, tuple) else (where,))
    for name, out in outs.items():
        if problem := _filled_otherwise(out.shape, found[name], stage.have):
            raise ValueError(f"{name} of {kind}, of shape {out.shape}: {problem}")


def _filled_otherwise(shape: tuple[int, ...], indices: list[tuple[int | slice, ...]], have: int) -> str:
    import numpy as np

    axes = max(*map(len, indices), min(1, len(shape)), 0)  # those behind are filled as a whole
    filled = np.zeros(shape[:axes], dtype=np.int32)
    if have:
        filled[:have] += 1
    for where in indices:
        try:
            filled[where] += 1
        except IndexError as error:
            return f"the index of a unit is outside of it: {error}"
    others = np.argwhere(filled != 1)
    if not np.prod(shape) or not len(others):
        return ""
    first = others[0].tolist()
    return f"{filled[tuple(first)]} units fill {first}; each element is filled by one unit"


def keep_unit(
    stage: Stage,
    unit: int,
    values: Mapping[str, ArrayLike | bytes],
    arrays: Mapping[str, np.ndarray],
    keep_file: Callable[[str, bytes], None],
) -> None:
    """Write the values of a unit into the arrays, and keep its files."""
    import numpy as np

    indices = indices_of(stage, unit, arrays)
    files = {name: each for name, each in values.items() if isinstance(each, bytes) and name not in arrays}
    if values.keys() - files.keys() != indices.keys() or not values:
        found, wanted = (", ".join(names) or "nothing" for names in (sorted(values.keys() - files), indices))
        raise ValueError(f"{stage.unit_name(unit)} gives {found}; it is to fill {wanted}")
    if files and stage.grows:
        raise ValueError(f"{stage.unit_name(unit)} gives files; those of a job before are not taken over")
    for name, content in files.items():
        check_file_name(name)
        keep_file(name, content)
    for name, where in indices.items():
        value, array = exact_array(values[name], name), arrays[name]
        shape = array.shape[1:] if isinstance(where, int) else array[where].shape
        if value.shape != shape or not np.can_cast(value.dtype, array.dtype, "same_kind"):
            found, wanted = f"{value.dtype} {value.shape}", f"{array.dtype} {shape}"
            raise ValueError(f"{stage.unit_name(unit)} gives {name} as {found}; its output is {wanted}")
        if not _can_hold(array.dtype, value):
            problem = f"{stage.unit_name(unit)} gives {name} with values that {array.dtype} cannot hold"
            raise ValueError(problem)
        array[where] = value


def keep_nothing(stage: Stage, unit: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Write missing values in place of those of a unit that failed."""
    for name, where in indices_of(stage, unit, arrays).items():
        arrays[name][where] = missing(arrays[name])


def _can_hold(dtype: np.dtype, value: np.ndarray) -> bool:
    """True if values stay the same, but for the rounding of floats."""
    import numpy as np

    if value.dtype == dtype or dtype.kind == "V":
        return True
    with np.errstate(over="ignore"):
        cast = value.astype(dtype)
    if dtype.kind in "fc":
        return bool((np.isinf(cast) <= np.isinf(value)).all())
    return np.array_equal(cast, value, equal_nan=dtype.kind in "mM")
