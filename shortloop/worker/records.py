"""What a job leaves: named ``.npy`` arrays and one ``record.json`` that says what they are."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from shortloop.errors import InputError, TransientError
from shortloop.plain import Plain
from shortloop.worker.axes import check_coordinates
from shortloop.worker.exact_arrays import exact_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike

    from shortloop.span import Span
    from shortloop.worker.tables import DescribedTable
    from shortloop.worker.threads import Pool

__all__ = [
    "EARLIER",
    "FORMAT",
    "RECORD",
    "ROWS",
    "Array",
    "Described",
    "DescribedOutside",
    "Outside",
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
EARLIER = "_earlier"
"""Option that the frame adds: ids of jobs that may have rows of the same units."""
FORMAT = 3
"""Number of the format of records and manifests. Whoever changes one of them raises it: jobs of another
number are not used, and are built again."""


@dataclass(frozen=True)
class Outside:
    """Where an array lies that a job has checked but not copied: in a file of the input.

    Parameters
    ----------
    name : str
        Name of the file, for messages.
    content : str
        Its content, by which it is found.
    span : Span
        Where in the file.
    """

    name: str
    content: str
    span: Span


@dataclass(frozen=True)
class Array:
    """What the record says of an array.

    Parameters
    ----------
    axes : str
        Names of the axes, e.g. ``"groups × coefficients"``.
    description : str
        What it holds.
    unit : str, default ""
        Unit of its values.
    outside : Outside, optional
        Where it lies, if it has no ``.npy`` file.
    """

    axes: str
    description: str
    unit: str = ""
    outside: Outside | None = None


class Described(TypedDict):
    """An array in a record: an `Array`, and what its file says of it."""

    axes: str
    description: str
    unit: str
    shape: list[int]
    dtype: str
    outside: NotRequired[DescribedOutside]


class DescribedOutside(TypedDict):
    """An `Outside` in a record."""

    name: str
    content: str
    span: DescribedSpan


class DescribedSpan(TypedDict):
    """A `Span` in a record."""

    offset: int
    shape: list[int]
    strides: list[int]
    dtype: str


class Record(TypedDict):
    """What a job wrote of itself."""

    format: int
    stage: str
    partition: str | None
    arrays: dict[str, Described]
    coordinates: NotRequired[dict[str, str]]
    tables: NotRequired[dict[str, DescribedTable]]
    figures: NotRequired[list[str]]
    files: NotRequired[list[str]]
    taken: NotRequired[dict[str, int]]
    engine: NotRequired[dict[str, Plain]]
    facts: dict[str, Any]
    types: NotRequired[dict[str, Plain]]
    threads: list[Pool]
    versions: dict[str, str]
    problem: str | None
    located: NotRequired[dict[str, str]]


def create_array(name: str, shape: tuple[int, ...], dtype: DTypeLike) -> np.memmap:
    """A new ``.npy`` file in the current folder, mapped for writing by this process and its forks.

    Parameters
    ----------
    name : str
        Name of the array.
    shape : tuple of int
        Its shape.
    dtype : dtype-like
        Its type.

    Returns
    -------
    numpy.memmap
    """
    from numpy.lib.format import open_memmap

    array = open_memmap(f"{name}.npy", mode="w+", dtype=dtype, shape=shape)
    take_space(Path(f"{name}.npy"))
    return array


def take_space(file: Path) -> None:
    """Reserve the disk space of a file that will be written through a memory map.

    Without that, a process that writes while the disk is full is killed, and can say nothing.

    Parameters
    ----------
    file : Path
        The file, of its final size.

    Raises
    ------
    OSError
        If there is not enough.
    """
    with file.open("r+b") as stream:
        os.posix_fallocate(stream.fileno(), 0, file.stat().st_size)


def save_array(name: str, values: ArrayLike) -> None:
    """Write an array into the current folder.

    Parameters
    ----------
    name : str
        Name of the array.
    values : array-like
        Its values; no objects.

    Raises
    ------
    ValueError
        As `exact_array`.
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
    figures: Sequence[str] = (),
    files: Sequence[str] = (),
    taken: Mapping[str, int] | None = None,
    engine: Mapping[str, Plain] | None = None,
    threads: Iterable[Pool] = (),
    versions: Mapping[str, str] | None = None,
    problem: str | None = None,
    located: Mapping[str, Path] | None = None,
) -> None:
    """Write ``record.json`` into the current folder, after its arrays.

    Parameters
    ----------
    stage : str
        Name of the stage.
    partition : str or None
        Which part of the data; None: all.
    arrays : mapping of str to Array
        What each ``.npy`` file is, and each array outside the job.
    facts : mapping, optional
        Anything else that is plain data: names, counts, notes.
    types : mapping, optional
        Types that JSON lacks, of facts and arrays of no axes, as of `shortloop.worker.fact_types.with_types`.
    coordinates : mapping of str to str, optional
        What stands at each place of an axis: the name of an array of this one axis, or of a fact, by the
        axis.
    tables : mapping of str to DescribedTable, optional
        What each ``.parquet`` file is.
    figures, files : sequence of str
        Names of figures, and of files that are none of these.
    taken : mapping of str to int, optional
        How many units each earlier job gave, by its id.
    engine : mapping, optional
        What computed the units.
    threads : iterable of Pool
        Thread pools as `check_single_thread` found them.
    versions : mapping of str to str, optional
        Versions of the libraries that made it.
    problem : str, optional
        Why the input was rejected; there are no arrays then.
    located : mapping of str to Path, optional
        Of rejected input, where each content was that the problem may name.

    Raises
    ------
    ValueError
        If coordinates are none of their axis.
    """
    described = {name: _described(name, array) for name, array in arrays.items()}
    check_coordinates(coordinates or {}, described, facts or {})
    optional: dict[str, object] = {"tables": tables, "figures": list(figures), "files": list(files)}
    found = {option.partition(" ")[0]: str(path) for option, path in (located or {}).items()}
    optional |= {
        "taken": taken,
        "engine": engine,
        "coordinates": coordinates,
        "located": found,
        "types": types,
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

    Parameters
    ----------
    stage, partition, versions, located
        As of `write_record`.
    error : InputError
        What is wrong.

    Raises
    ------
    TransientError
        If it is one: the job then fails, and is tried again by the next run.
    """
    if isinstance(error, TransientError):
        raise error
    if Path("setup.json").is_file():  # so this is the folder of a job
        for array in Path().glob("*.npy"):  # of phases that were fine
            array.unlink()
    write_record(stage, partition, {}, versions=versions, problem=error.message, located=located)


@contextmanager
def noted(what: str, notes: list[str]) -> Iterator[None]:
    """Collect warnings of libraries that read input, so that they reach the record and not only a log.

    Parameters
    ----------
    what : str
        What is being read, put before each note.
    notes : list of str
        Notes are added to it.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        if warning.category is UserWarning:
            notes.append(f"{what}: {warning.message}")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
