"""The record of a job: named ``.npy`` arrays described in one ``record.json``."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from shortloop.base.errors import InputError, TransientError
from shortloop.base.plain import Plain
from shortloop.stages.axes import Described, check_coordinates
from shortloop.stages.exact_arrays import exact_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike

    from shortloop.base.mapped_array import Span
    from shortloop.stages.tables import DescribedTable
    from shortloop.stages.threads import Pool

__all__ = [
    "EARLIER",
    "FORMAT",
    "OBJECT",
    "RECORD",
    "RETRIED",
    "ROWS",
    "Array",
    "DescribedObject",
    "Outside",
    "Pickled",
    "Record",
    "create_array",
    "noted",
    "reject",
    "save_array",
    "take_space",
    "write_record",
]

RECORD = "record.json"
ROWS = "units.rows"
"""File of a job with what each unit gave, which a later job takes over for units that read the same."""
OBJECT = ".pkl"
"""Ending of the file of an object."""
EARLIER = "_earlier"
"""Option that the frame adds: ids of jobs that may have rows of the same units."""
RETRIED = "_retried"
"""Option that the frame adds: id of a job of the same key, whose failed units are to be computed."""
FORMAT = 4
"""Number of the format of records and manifests. Whoever changes one of them raises it: jobs of another
number are not used, and are built again."""


@dataclass(frozen=True)
class Outside:
    """Where an array lies that a job has checked but not copied: in a file of the input.

    name: name of the file, for messages.
    content: its content, by which it is found.
    span: where in the file.
    """

    name: str
    content: str
    span: Span


@dataclass(frozen=True)
class Array:
    """What the record says of an array.

    axes: names of the axes, e.g. ``"groups × coefficients"``.
    description: what it holds.
    unit: unit of its values.
    outside: where it lies, if it has no ``.npy`` file.
    """

    axes: str
    description: str
    unit: str = ""
    outside: Outside | None = None


class DescribedObject(TypedDict):
    """An object in a record: its type and the beginning of its repr, what reading it imports, and versions of
    the libraries among that when it was written; of objects of units, how long the pickle of each is."""

    type: str
    text: str
    modules: list[str]
    versions: dict[str, str]
    units: NotRequired[list[int]]


@dataclass(frozen=True)
class Pickled:
    """An object as a pickle, and what the record says of it."""

    data: bytes
    described: DescribedObject


class Record(TypedDict):
    """What a job wrote of itself."""

    format: int
    stage: str
    partition: str | None
    arrays: dict[str, Described]
    coordinates: NotRequired[dict[str, str]]
    tables: NotRequired[dict[str, DescribedTable]]
    objects: NotRequired[dict[str, DescribedObject]]
    figures: NotRequired[list[str]]
    files: NotRequired[list[str]]
    taken: NotRequired[dict[str, int]]
    engine: NotRequired[dict[str, Plain]]
    errors: NotRequired[dict[str, Any]]
    attempts: NotRequired[list[Any]]
    facts: dict[str, Any]
    types: NotRequired[dict[str, Plain]]
    threads: list[Pool]
    versions: dict[str, str]
    problem: str | None
    located: NotRequired[dict[str, str]]


def create_array(name: str, shape: tuple[int, ...], dtype: DTypeLike) -> np.memmap:
    """A new ``.npy`` file in the current folder, mapped for writing by this process and its forks."""
    from numpy.lib.format import open_memmap

    array = open_memmap(f"{name}.npy", mode="w+", dtype=dtype, shape=shape)
    take_space(Path(f"{name}.npy"))
    return array


def take_space(file: Path) -> None:
    """Reserve the disk space of a file of its final size that will be written through a memory map.

    Without that, a process that writes while the disk is full is killed, and can say nothing.
    """
    with file.open("r+b") as stream:
        os.posix_fallocate(stream.fileno(), 0, file.stat().st_size)


def save_array(name: str, values: ArrayLike) -> None:
    """Write an array into the current folder.

    values: array. Its values; no objects.
    """
    import numpy as np

    np.save(f"{name}.npy", exact_array(values, name), allow_pickle=False)


def write_record(
    stage: str,
    partition: str | None,
    arrays: Mapping[str, Array],
    *,
    facts: Mapping[str, Plain] | None = None,
    types: Mapping[str, Plain] | None = None,
    coordinates: Mapping[str, str] | None = None,
    tables: Mapping[str, DescribedTable] | None = None,
    objects: Mapping[str, DescribedObject] | None = None,
    figures: Sequence[str] = (),
    files: Sequence[str] = (),
    taken: Mapping[str, int] | None = None,
    engine: Mapping[str, Plain] | None = None,
    failures: Mapping[str, Any] | None = None,
    threads: Iterable[Pool] = (),
    versions: Mapping[str, str] | None = None,
    problem: str | None = None,
    located: Mapping[str, Path] | None = None,
) -> None:
    """Write ``record.json`` into the current folder, after its arrays."""
    described = {name: _described(name, array) for name, array in arrays.items()}
    check_coordinates(coordinates or {}, described, facts or {})
    optional: dict[str, object] = {
        "tables": tables,
        "objects": objects,
        "figures": list(figures),
        "files": list(files),
    }
    found = {option.partition(" ")[0]: str(path) for option, path in (located or {}).items()}
    optional |= {
        "taken": taken,
        "engine": engine,
        "coordinates": coordinates,
        "located": found,
        "types": types,
        **(failures or {}),
    }
    record = {
        "format": FORMAT,
        "stage": stage,
        "partition": partition,
        "arrays": described,
        **{name: each for name, each in optional.items() if each},
        "facts": dict(facts or {}),
        "threads": [dict(pool) for pool in threads],
        "versions": dict(versions or {}),
        "problem": problem,
    }
    Path(RECORD).write_text(_in_lines(record), encoding="utf-8")


def _in_lines(record: Mapping[str, object]) -> str:
    """JSON with a line for each entry of what is in it.

    With one for every value, Python would not use its compiled code, and be slower ten times.
    """
    lines = [f" {_dumped(name)}: {_entries(each)}" for name, each in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _entries(value: object) -> str:
    if not isinstance(value, dict) or not value:
        return _dumped(value)
    lines = [f"  {_dumped(name)}: {_dumped(each)}" for name, each in value.items()]
    return "{\n" + ",\n".join(lines) + "\n }"


def _dumped(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _described(name: str, array: Array) -> Described:
    import numpy as np

    said = asdict(array)
    outside = said.pop("outside")
    if array.outside is None:
        values = np.load(f"{name}.npy", mmap_mode="r", allow_pickle=False)
        shape, dtype = values.shape, values.dtype
    else:
        shape, dtype = array.outside.span.shape, np.dtype(array.outside.span.dtype)
    kept = {} if outside is None else {"outside": outside}
    return cast("Described", {**said, **kept, "shape": list(shape), "dtype": str(dtype)})


def reject(
    stage: str,
    partition: str | None,
    error: InputError,
    versions: Mapping[str, str] | None = None,
    located: Mapping[str, Path] | None = None,
) -> None:
    """End a job whose input is bad: all that it leaves is the message.

    The job is complete, so that the same bytes give the same answer at once, and nothing is half-made.
    """
    if isinstance(error, TransientError):
        raise error
    if Path("setup.json").is_file():  # so this is the folder of a job
        for array in Path().glob("*.npy"):  # of phases that were fine
            array.unlink()
    write_record(stage, partition, {}, versions=versions, problem=error.message, located=located)


@contextmanager
def noted(what: str, notes: list[str]) -> Iterator[None]:
    """Collect warnings of libraries that read input, so that they reach the record and not only a log."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        if warning.category is UserWarning:
            notes.append(f"{what}: {warning.message}")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
