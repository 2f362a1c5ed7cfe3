"""Results of units with undeclared outputs: packed as bytes, combined at the end."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import struct
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shortloop.base.errors import InputError
from shortloop.stages.content import SIZE
from shortloop.stages.exact_values import array_or_none
from shortloop.stages.records import ROWS, DescribedObject, Pickled
from shortloop.stages.stage import CollectingStage, Values
from shortloop.stages.tables import Table, from_bytes, is_table, joined, library_of, to_bytes

if TYPE_CHECKING:
    import numpy as np

FOR_OTHERS, FOR_THIS_JOB = b"\1", b"\0"  # behind the key of a row: may another job take it over?
BEGIN = SIZE + 1  # place in a row at which the values of the unit begin
LENGTH, FLOAT = struct.Struct("<q"), struct.Struct("<d")
ALIKE = "biufc"  # kinds of numbers
KINDS = f"{ALIKE}UmM"

Row = Mapping[str, "np.ndarray | Table | Pickled"]
"""Values of a unit by name: arrays, of no axes for single values, tables, and other objects as pickles."""

HINTS = {
    "shapes": "have each unit give as many numbers, or frames: their rows may differ in number",
    "columns": "have each unit give the same columns, each of one type in all: `frame.astype({…})`",
}


def without_names(given: object, what: str) -> InputError:
    """The error for a return value of a function that is no mapping."""
    hint = 'return a dict, e.g. {"slope": 0.5, "table": frame}'
    return InputError(f"{what} returns no values by name", found=type(given).__name__, hint=hint)


def pack(values: object, what: str) -> bytes:
    """Encode the values of a unit."""
    if not isinstance(values, Mapping):
        raise without_names(values, what)
    if not values:
        raise InputError(f"{what} returns no values", found="an empty dict", hint="return one at least")
    head: list[tuple[object, ...]] = []
    parts = []
    for name, value in values.items():
        kind: object
        shape: tuple[int, ...] | None = None
        if type(value) is float:  # the most frequent, at a fifth of the time
            kind, shape, data = "<f8", (), FLOAT.pack(value)
        elif is_table(value):
            kind, data = library_of(value), to_bytes(cast("Table", value), f"{name} of {what}")
        elif (array := array_or_none(value)) is not None and array.dtype.kind in KINDS:
            little = array.dtype.newbyteorder("<")
            kind, shape, data = little.str, array.shape, array.astype(little).tobytes()
        else:
            from shortloop.stages.objects import packed

            kept = packed(value, str(name), what)
            kind, data = kept.described, kept.data
        head.append((name, kind, shape, len(data)))
        parts.append(data)
    first = json.dumps(head).encode()
    return b"".join([LENGTH.pack(len(first)), first, *parts])


def unpack(row: bytes) -> Row:
    """Decode the values of a unit."""
    import numpy as np

    end = LENGTH.size + LENGTH.unpack_from(row)[0]
    values: dict[str, np.ndarray | Table | Pickled] = {}
    for name, kind, shape, length in json.loads(row[LENGTH.size : end]):
        data = row[end : end + length]
        end += length
        if isinstance(kind, dict):
            values[name] = Pickled(data, cast("DescribedObject", kind))
        elif shape is None:
            values[name] = from_bytes(data, kind)
        else:
            values[name] = np.frombuffer(data, np.dtype(kind)).reshape(shape)
    return values


def stacked(
    names: Sequence[object], rows: Sequence[Row], what: str
) -> tuple[dict[str, Values], dict[str, Table], dict[str, Pickled]]:
    """Combine the values of units."""
    arrays: dict[str, Values] = {}
    tables: dict[str, Table] = {}
    objects: dict[str, Pickled] = {}
    _check_alike(what, "values of other names", names, [[*row] for row in rows], key=set)
    for name in rows[0] if rows else ():
        column = [row[name] for row in rows]
        if any(isinstance(each, Pickled) for each in column):
            from shortloop.stages.objects import in_one_file

            plain, large = "numbers, texts or a table", {"int": "an int of more than 64 bits"}
            types = [each.described["type"] if isinstance(each, Pickled) else plain for each in column]
            kinds = [large.get(kind, kind) for kind in types]
            _check_alike(what, f"{name} of other types", names, kinds, key=lambda kind: kind == plain)
            objects[name] = in_one_file(cast("Sequence[Pickled]", column))
        elif any(map(is_table, column)):
            _check_alike(what, f"tables {name} of other columns", names, [*map(_columns, column)])
            tables[name] = joined(names, cast("Sequence[Table]", column), f"{name} of {what}")
        else:
            axes = "units" + " × …" * bool(cast("np.ndarray", column[0]).ndim)
            whole = _stacked(name, names, cast("list[np.ndarray]", column), what)
            arrays[name] = Values(whole, axes, "of each unit")
    return arrays, tables, objects


def _stacked(name: str, names: Sequence[object], column: list[np.ndarray], what: str) -> np.ndarray:
    import numpy as np

    _check_alike(what, f"{name} of other shapes", names, [each.shape for each in column])
    types = [each.dtype for each in column]
    # One array may hold all kinds of numbers together.
    _check_alike(what, f"{name} of other types", names, types, key=lambda kind: kind.kind.strip(ALIKE))
    whole = np.stack(column)
    for unit, each, kept in zip(names, column, whole):
        kind = each.dtype.kind
        if each.dtype == whole.dtype or kind not in "iumM":
            continue
        if not np.array_equal(kept.astype(each.dtype), each, equal_nan=kind in "mM"):
            raise _differ(what, f"{name} too large for {whole.dtype}", ("all", whole.dtype), (unit, each))
    return whole


def write_rows(file: Path, rows: Sequence[bytes]) -> None:
    """Write rows of units, with an index of their keys."""
    keys, lengths = [row[:SIZE] for row in rows], [LENGTH.pack(len(row)) for row in rows]
    with file.open("wb") as stream:
        stream.writelines([LENGTH.pack(len(rows)), *keys, *lengths, *rows])


def read_rows(
    file: Path, wanted: Container[bytes], flags: Sequence[bytes] = (FOR_OTHERS,)
) -> dict[bytes, bytes]:
    """Rows of another job, by their keys."""
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
                if row[:SIZE] == key and row[SIZE:BEGIN] in flags and BEGIN < len(row) == length:
                    found[key] = row
    return found


def number_of_rows(job: Path) -> int:
    with (job / ROWS).open("rb") as stream:
        return int(LENGTH.unpack(stream.read(LENGTH.size))[0])


def take_rows(
    stage: CollectingStage,
    left: Iterable[int],
    take: Callable[[int, bytes], None],
    known: Mapping[bytes, bytes],
    jobs: Iterable[Path] = (),
    retried: Path | None = None,
) -> dict[str, int]:
    """Take over rows of units that read the same; count them by the job that they are from."""
    units: dict[bytes, list[int]] = {}
    for unit in left if known or jobs or retried else ():
        units.setdefault(stage.unit_key(unit), []).append(unit)

    def use(rows: Mapping[bytes, bytes]) -> int:
        found = [(unit, rows[key]) for key in rows.keys() & units.keys() for unit in units.pop(key)]
        for unit, row in found:
            take(unit, row)
        return len(found)

    use({key: row for key, row in known.items() if row[BEGIN:]})  # others failed
    asked = [] if retried is None else [(retried, [FOR_OTHERS, FOR_THIS_JOB])]
    asked += [(job, [FOR_OTHERS]) for job in jobs if job != retried]
    given = ((job.name, use(read_rows(job / ROWS, units, flags))) for job, flags in asked if units)
    return {job: count for job, count in given if count}


def _columns(value: object) -> object:
    if not is_table(value):
        return "no table"
    table = cast("Table", value)
    return {str(name): repr(table[name].dtype) for name in table.columns}  # with their categories


def _check_alike(
    what: str,
    how: str,
    names: Sequence[object],
    values: Sequence[Any],
    key: Callable[[Any], object] = lambda value: value,
) -> None:
    """Refuse values of units whose key is not that of the first."""
    first = key(values[0]) if values else None
    for unit, value in zip(names, values):
        if key(value) != first:
            raise _differ(what, how, (names[0], values[0]), (unit, value))


def _differ(what: str, how: str, first: tuple[object, object], other: tuple[object, object]) -> InputError:
    found = f"{other[1]} of unit {other[0]}"
    expected = f"{first[1]}, as of unit {first[0]}"
    hint = HINTS.get(
        how.rpartition(" ")[2],
        "have each unit give the same names and types: nan for a number that there is not",
    )
    return InputError(f"units of {what} give {how}", found=found, expected=expected, hint=hint)
