"""What units give, where nobody says before what that will be: kept as bytes, and put together at the end."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import struct
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from shortloop.errors import InputError
from shortloop.worker.content import SIZE
from shortloop.worker.exact_arrays import exact_array
from shortloop.worker.records import ROWS
from shortloop.worker.stage import CollectingStage, Values
from shortloop.worker.tables import from_bytes, is_table, joined, library_of, to_bytes

if TYPE_CHECKING:
    import numpy as np

    from shortloop.worker.tables import Table

__all__ = [
    "BEGIN",
    "FOR_OTHERS",
    "FOR_THIS_JOB",
    "Row",
    "number_of_rows",
    "pack",
    "read_rows",
    "stacked",
    "take_rows",
    "unpack",
    "write_rows",
]

FOR_OTHERS, FOR_THIS_JOB = b"\1", b"\0"
"""Follow the key of a row: whether another job may take it over by that key."""
BEGIN = SIZE + 1
"""Where in a row begins what the unit gave."""
LENGTH = struct.Struct("<q")
ALIKE = "biufc"  # kinds of numbers, which one array may hold together
KINDS = f"{ALIKE}UmM"

Row = Mapping[str, "np.ndarray | Table"]
"""What a unit gave: arrays, of no axes for single values, and tables, by name."""


def pack(values: object, what: str) -> bytes:
    """What a unit gives, as bytes.

    Parameters
    ----------
    values : mapping of str to object
        Numbers, texts, times, arrays of these, and tables, by name.
    what : str
        Which unit it is of, for messages.

    Returns
    -------
    bytes

    Raises
    ------
    InputError
        If it is something else.
    """

    if not isinstance(values, Mapping) or not values:
        raise InputError(
            f"{what} gives no values by name",
            found=type(values).__name__ if not isinstance(values, Mapping) else "none",
            expected='a dict, e.g. {"slope": 0.5}',
        )
    head, parts = [], []
    for name, value in values.items():
        if is_table(value):
            data = to_bytes(cast("Table", value), f"{name} of {what}")
            head.append([name, library_of(value), None, len(data)])
        else:
            array = _array(value, str(name), what)
            data = array.astype(array.dtype.newbyteorder("<")).tobytes()
            head.append([name, array.dtype.newbyteorder("<").str, array.shape, len(data)])
        parts.append(data)
    first = json.dumps(head).encode()
    return b"".join([LENGTH.pack(len(first)), first, *parts])


def _array(value: object, name: str, what: str) -> np.ndarray:
    hint = None
    try:
        array = exact_array(value, name)
    except ValueError as error:
        hint = str(error)
    else:
        if array.dtype.kind in KINDS:
            return array
    raise InputError(
        f"{what} gives what cannot be kept",
        field=name,
        found=f"{type(value).__name__}: {value!r}"[:200],
        expected="a number, a text, a time of NumPy, an array of these, or a table; nan for none",
        hint=hint,
    )


def unpack(row: bytes) -> Row:
    """What a unit gave.

    Parameters
    ----------
    row : bytes
        As of `pack`.

    Returns
    -------
    Row
    """
    import numpy as np

    end = LENGTH.size + LENGTH.unpack_from(row)[0]
    values: dict[str, np.ndarray | Table] = {}
    for name, kind, shape, length in json.loads(row[LENGTH.size : end]):
        data = row[end : end + length]
        end += length
        values[name] = (
            from_bytes(data, kind) if shape is None else np.frombuffer(data, np.dtype(kind)).reshape(shape)
        )
    return values


def stacked(
    names: Sequence[object], rows: Sequence[Row], what: str
) -> tuple[dict[str, Values], dict[str, Table]]:
    """What all units gave, put together.

    Parameters
    ----------
    names : sequence
        Of the units.
    rows : sequence of Row
        Of each unit.
    what : str
        The stage, for messages.

    Returns
    -------
    arrays : dict of str to Values
        The first axis is the units.
    tables : dict of str to DataFrame
        The rows of all units, one after the other, with a column ``unit``.

    Raises
    ------
    InputError
        If units give different names, shapes or types.
    """
    arrays: dict[str, Values] = {}
    tables: dict[str, Table] = {}
    for unit, row in zip(names, rows, strict=True):
        if row.keys() != rows[0].keys():
            raise _differ(what, "values of other names", (names[0], [*rows[0]]), (unit, [*row]))
    for name in rows[0] if rows else ():
        column = [row[name] for row in rows]
        if any(map(is_table, column)):
            tables[name] = _joined(name, names, column, what)
        else:
            axes = "units" + " × …" * bool(cast("np.ndarray", column[0]).ndim)
            arrays[name] = Values(
                _stacked(name, names, cast("list[np.ndarray]", column), what), axes, "of each unit"
            )
    return arrays, tables


def _joined(name: str, names: Sequence[object], column: Sequence[np.ndarray | Table], what: str) -> Table:
    first = _columns(column[0])
    for unit, each in zip(names, column):
        if _columns(each) != first:
            raise _differ(what, f"tables {name} of other columns", (names[0], first), (unit, _columns(each)))
    return joined(names, cast("Sequence[Table]", column), f"{name} of {what}")


def _stacked(name: str, names: Sequence[object], column: list[np.ndarray], what: str) -> np.ndarray:
    import numpy as np

    first = column[0]
    for unit, each in zip(names, column):
        if each.shape != first.shape:
            raise _differ(what, f"{name} of other shapes", (names[0], first.shape), (unit, each.shape))
        if each.dtype.kind != first.dtype.kind and not {each.dtype.kind, first.dtype.kind} <= {*ALIKE}:
            raise _differ(what, f"{name} of other types", (names[0], first.dtype), (unit, each.dtype))
    whole = np.stack(column)
    for unit, each, kept in zip(names, column, whole):
        if each.dtype != whole.dtype and each.dtype.kind in "iumM" and not _is_same(each, kept):
            raise _differ(what, f"{name} too large for {whole.dtype}", (unit, each), ("all", whole.dtype))
    return whole


def _is_same(given: np.ndarray, kept: np.ndarray) -> bool:
    """True if numbers or times of another type are the same ones."""
    import numpy as np

    return np.array_equal(kept.astype(given.dtype), given, equal_nan=given.dtype.kind in "mM")


def write_rows(file: Path, rows: Sequence[bytes]) -> None:
    """Write what units gave, each with its key.

    Parameters
    ----------
    file : Path
        The file.
    rows : sequence of bytes
        Each a key, `FOR_OTHERS` or `FOR_THIS_JOB`, and what `pack` gave.
    """
    keys, lengths = [row[:SIZE] for row in rows], [LENGTH.pack(len(row)) for row in rows]
    with file.open("wb") as stream:
        stream.writelines([LENGTH.pack(len(rows)), *keys, *lengths, *rows])


def read_rows(file: Path, wanted: Container[bytes]) -> dict[bytes, bytes]:
    """What units of another job gave.

    Parameters
    ----------
    file : Path
        As of `write_rows`.
    wanted : container of bytes
        Keys of the rows to read.

    Returns
    -------
    dict of bytes to bytes
        The whole row, by its key, if another job may take it over; empty if the file is gone or damaged.
    """
    found: dict[bytes, bytes] = {}
    with contextlib.suppress(OSError, struct.error), file.open("rb") as stream:
        (count,) = LENGTH.unpack(stream.read(LENGTH.size))
        begin, size = LENGTH.size + (SIZE + LENGTH.size) * count, os.fstat(stream.fileno()).st_size
        if not LENGTH.size <= begin <= size:
            return {}
        data = stream.read(SIZE * count)
        keys = [data[at : at + SIZE] for at in range(0, len(data), SIZE)]
        hits = set(filter(wanted.__contains__, keys))
        lengths = struct.unpack(f"<{count}q", stream.read(LENGTH.size * count)) if hits else ()
        starts = [*itertools.accumulate(lengths, initial=begin)]
        for key, start, length in zip(keys, starts, lengths) if starts[-1] == size else ():
            if key in hits:
                stream.seek(start)
                row = stream.read(length)
                if row[:BEGIN] == key + FOR_OTHERS and len(row) == length:
                    found[key] = row
    return found


def number_of_rows(job: Path) -> int:
    """Count the units of a job that has collected what they gave."""
    with (job / ROWS).open("rb") as stream:
        return int(LENGTH.unpack(stream.read(LENGTH.size))[0])


def take_rows(
    stage: CollectingStage,
    left: Iterable[int],
    take: Callable[[int, bytes], None],
    known: Mapping[bytes, bytes],
    jobs: Iterable[Path] = (),
) -> dict[str, int]:
    """Take over what units gave before, where they read the same.

    Parameters
    ----------
    stage : CollectingStage
        The stage, opened.
    left : iterable of int
        Units that are still to be computed.
    take : callable
        ``take(unit, row)`` takes over a row.
    known : mapping of bytes to bytes
        Rows of this job, as of `shortloop.worker.output.compute_row`, by their keys.
    jobs : iterable of Path
        Folders of earlier jobs, which are asked one after the other as long as units are left.

    Returns
    -------
    dict of str to int
        How many rows each earlier job gave, by its id.
    """
    units: dict[bytes, list[int]] = {}
    for unit in left if known or jobs else ():
        units.setdefault(stage.unit_key(unit), []).append(unit)

    def use(rows: Mapping[bytes, bytes]) -> int:
        found = [(unit, rows[key]) for key in rows.keys() & units.keys() for unit in units.pop(key)]
        for unit, row in found:
            take(unit, row)
        return len(found)

    use(known)
    given = ((job.name, use(read_rows(job / ROWS, units))) for job in jobs if units)
    return {job: count for job, count in given if count}


def _columns(value: object) -> object:
    if not is_table(value):
        return "no table"
    table = cast("Table", value)
    return {str(name): repr(table[name].dtype) for name in table.columns}  # with their categories


def _differ(what: str, how: str, first: tuple[object, object], other: tuple[object, object]) -> InputError:
    return InputError(
        f"units of {what} give {how}",
        found=f"{other[1]} of unit {other[0]}",
        expected=f"{first[1]}, as of unit {first[0]}",
        hint="have each unit give the same names, shapes and types",
    )
