"""The record of a job: ``record.json``, which describes named ``.npy`` arrays, tables, objects and facts."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, Unpack, cast

from shortloop.base.errors import InputError, TransientError
from shortloop.base.plain import Plain
from shortloop.stages.exact_values import exact_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike

    from shortloop.base.types import Span
    from shortloop.stages.tables import DescribedTable
    from shortloop.stages.threads import Pool

RECORD = "record.json"
ROWS = "units.rows"
"""File of a job with the results of its units, which a later job takes over for units that read the same."""
FAILED_UNITS = "failed_units.json"  # file of a job with failed units: their numbers and tracebacks
OBJECT = ".pkl"  # ending of the file of an object
EARLIER = "_earlier"  # option that the frame adds: ids of jobs that may have rows of the same units
RETRIED = "_retried"  # option of the frame: a job of the same key, whose failed units are to be computed
OF_FRAME = ("partition", "modules", EARLIER, RETRIED)  # options that no stage has as fields
FORMAT = 5
"""Number of the format of records and manifests, raised with each change of these: jobs of another number
are built again."""
# Of exax, then of this package.
RESERVED = {"setup.json", "post.json", "method.tar.gz", "result.pickle"}
RESERVED |= {"manifest.json", RECORD, ROWS, FAILED_UNITS}
RESERVED_FOLDERS = {"OUTPUT", "DS"}
TIMES_SIGN, LETTER_X = re.compile(r"\s+×\s+"), re.compile(r"\s+x\s+")
"""Separators of names of axes; the letter only where there is no sign, as a name may end with it."""
LONGEST = 240  # bytes of a name; file systems take 255 with the ending
REST = "…"  # all further axes, without names


@dataclass(frozen=True)
class Outside:
    """Place of an array that a job has checked but not copied: in a file of the input."""

    name: str  # of the file, for messages
    content: str  # hash, by which the file is found
    span: Span


@dataclass(frozen=True)
class Out:
    """An array that units fill.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : dtype-like
        Type of its values.
    axes : str
        Names of its axes, e.g. ``"groups × coefficients"``.
    description : str
        What it holds.
    unit : str, default ""
        Unit of its values.
    """

    shape: tuple[int, ...]
    dtype: DTypeLike
    axes: str
    description: str
    unit: str = ""


@dataclass(frozen=True)
class Values:
    """An array that is given as a whole, when all units are done.

    Parameters
    ----------
    values : array-like, Outside or None
        Its values. `Outside`: they lie in an input file, and the job keeps no copy. None: they are in the
        file that `Outputs.create` made.
    axes, description, unit
        As of `Out`.
    """

    values: ArrayLike | Outside | None
    axes: str
    description: str
    unit: str = ""


class Described(TypedDict):
    """An array in a record, with the shape and type that its file has."""

    axes: str
    description: str
    unit: str
    shape: list[int]
    dtype: str
    outside: NotRequired[dict[str, Any]]  # the fields of `Outside`


class DescribedObject(TypedDict):
    """An object in a record."""

    type: str
    text: str  # the beginning of its repr
    modules: list[str]  # imported when it is read
    versions: dict[str, str]  # of libraries among these, when it was written
    units: NotRequired[list[int]]  # of objects of units: bytes of the pickle of each


@dataclass(frozen=True)
class Pickled:
    """An object as a pickle, with its description."""

    data: bytes
    described: DescribedObject


class Work(TypedDict, total=False):
    """What a job did, beside its results; part of its cost."""

    units: int  # computed
    of: int  # all of them
    resumed: int  # done before an interruption; all others are from earlier jobs
    seconds: float  # in which other processes than its slices computed them
    cpu_seconds: list[float]  # of each slice
    queued_seconds: list[float]  # for which each slice waited for a core
    flop: float  # as `Stage.operation_counts`, of all units
    flop32: float
    bytes: float


class OptionalEntries(TypedDict, total=False):
    """Entries of a record that are left out if they are empty."""

    tables: dict[str, DescribedTable]
    objects: dict[str, DescribedObject]
    figures: list[str]
    files: list[str]
    taken: dict[str, int]
    engine: dict[str, Plain]
    coordinates: dict[str, str]
    located: dict[str, str]
    types: dict[str, Plain]
    errors: dict[str, Any]
    attempts: list[Any]


class Record(OptionalEntries):
    """A job's own description of its results."""

    format: int
    stage: str
    partition: str | None
    arrays: dict[str, Described]
    facts: dict[str, Any]
    threads: list[Pool]
    versions: dict[str, str]
    problem: str | None


def _is_writable(name: str) -> bool:
    """Check if a file system can store a file of this name, with an ending."""
    try:
        return len(name.encode()) <= LONGEST
    except UnicodeEncodeError:
        return False


def check_array_name(name: str) -> None:
    """Refuse a name that no array can have."""
    if not name or name.startswith(".") or "/" in name or "\0" in name or not _is_writable(name):
        raise ValueError(f"an array cannot have the name {name!r}")


def check_file_name(name: str) -> None:
    """Refuse a path that leads out of a job's folder, or to a file that is not the stage's."""
    path = PurePosixPath(name)
    hidden = any(part.startswith(".") for part in path.parts)  # so is ".."
    if not path.parts or str(path) != name or path.is_absolute() or hidden or "\0" in name:
        raise ValueError(f"a file of a job cannot have the path {name!r}: it must be below the job's folder")
    if not all(map(_is_writable, path.parts)):
        raise ValueError(f"a file of a job cannot have the path {name!r}: it is too long, or no valid text")
    is_array = len(path.parts) == 1 and path.suffix == ".npy"
    if is_array or name in RESERVED or path.parts[0] in RESERVED_FOLDERS:
        raise ValueError(f"a file of a job cannot have the path {name!r}: it is that of another file")


def axes_of(array: Described) -> tuple[str, ...]:
    """Names of the axes of an array, e.g. of ``"groups × coefficients"``; empty if unknown."""
    ndim = len(array["shape"])
    text = array["axes"].strip()
    names = (TIMES_SIGN if "×" in text else LETTER_X).split(text) if text else []
    if names and names[-1] == REST:
        names = [*names[:-1], *[""] * (ndim - len(names) + 1)]
    return tuple(names) if len(names) == ndim else ("",) * ndim


def _check_coordinates(
    coordinates: Mapping[str, str], arrays: Mapping[str, Described], facts: Mapping[str, Plain]
) -> None:
    """Check that coordinates of axes exist, and are as long as the axes."""
    for axis, name in coordinates.items():
        lengths = {
            length
            for each in arrays.values()
            for own, length in zip(axes_of(each), each["shape"], strict=True)
            if own == axis
        }
        fact, problem = facts.get(name), ""
        if len(lengths) != 1:
            problem = f"arrays have this axis in the lengths {sorted(lengths)}"
        elif name in arrays:
            if axes_of(arrays[name]) != (axis,):
                problem = f"that array has the axes {arrays[name]['axes']!r}"
        elif not isinstance(fact, list | tuple) or len(fact) != lengths.pop():
            problem = "it must be an array, or a fact that is a list of the same length"
        if problem:
            raise ValueError(f"{name!r} cannot be the coordinates of the axis {axis!r}: {problem}")


def create_array(name: str, shape: tuple[int, ...], dtype: DTypeLike) -> np.memmap:
    """Create a ``.npy`` file in the current folder, mapped for writing by this process and its forks."""
    from numpy.lib.format import open_memmap

    array = open_memmap(f"{name}.npy", mode="w+", dtype=dtype, shape=shape)
    reserve_space(Path(f"{name}.npy"))
    return array


def reserve_space(file: Path) -> None:
    """Reserve the disk space of a mapped file: a process that writes on a full disk would be killed."""
    with file.open("r+b") as stream:
        os.posix_fallocate(stream.fileno(), 0, file.stat().st_size)


def save_array(name: str, values: ArrayLike) -> None:
    """Write an array, of anything but objects, into the current folder."""
    import numpy as np

    np.save(f"{name}.npy", exact_array(values, name), allow_pickle=False)


def write_record(
    stage: str,
    partition: str | None,
    arrays: Mapping[str, Out | Values],
    *,
    facts: Mapping[str, Plain] | None = None,
    threads: Iterable[Pool] = (),
    versions: Mapping[str, str] | None = None,
    problem: str | None = None,
    **optional: Unpack[OptionalEntries],
) -> None:
    """Write ``record.json`` into the current folder, after its arrays."""
    described = {name: _described(name, array) for name, array in arrays.items()}
    _check_coordinates(optional.get("coordinates", {}), described, facts or {})
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
    Path(RECORD).write_text(json_lines(record), encoding="utf-8")


def json_lines(plain: Mapping[str, object]) -> str:
    """JSON with a line for each entry: with an indent, Python would not use its compiled encoder."""
    lines = (f"{json.dumps(name)}: {json.dumps(each, allow_nan=False)}" for name, each in plain.items())
    return "{" + ",\n".join(lines) + "}\n"


def _described(name: str, array: Out | Values) -> Described:
    import numpy as np

    described: dict[str, Any] = {"axes": array.axes, "description": array.description, "unit": array.unit}
    outside = getattr(array, "values", None)
    if isinstance(outside, Outside):
        described["outside"] = asdict(outside)
        shape, dtype = outside.span.shape, np.dtype(outside.span.dtype)
    else:
        values = np.load(f"{name}.npy", mmap_mode="r", allow_pickle=False)
        shape, dtype = values.shape, values.dtype
    return cast("Described", {**described, "shape": list(shape), "dtype": str(dtype)})


def reject(
    stage: str,
    partition: str | None,
    error: InputError,
    versions: Mapping[str, str] | None = None,
    located: Mapping[str, Path] | None = None,
) -> None:
    """Finish a job whose input is bad, with the message as its only result: the same input has the same."""
    if isinstance(error, TransientError):
        raise error
    if Path("setup.json").is_file():  # so this is the folder of a job
        for array in Path().glob("*.npy"):  # of phases that were fine
            array.unlink()
    found = {option.partition(" ")[0]: str(path) for option, path in (located or {}).items()}
    write_record(stage, partition, {}, versions=versions, problem=error.message, located=found)


@contextmanager
def noted(what: str, notes: list[str]) -> Iterator[None]:
    """Collect warnings of libraries that read input, so that they reach the record and not only a log."""
    with warnings.catch_warnings(record=True, action="always", category=UserWarning) as caught:
        yield
    for warning in caught:
        if warning.category is UserWarning:
            notes.append(f"{what}: {warning.message}")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
