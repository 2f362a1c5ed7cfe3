"""Check that frames survive a round trip through Parquet.

A frame that another stage gets is the one that was returned, or it was refused.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, cast

from shortloop.base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = [
    "PANDAS",
    "POLARS",
    "Restored",
    "Table",
    "beside_parquet",
    "check_same",
    "has_row_numbers",
    "is_simple",
    "load",
    "put_objects",
    "restore",
    "unwritable",
]

Table: TypeAlias = "pd.DataFrame | pl.DataFrame"
PANDAS, POLARS = "pandas", "polars"
ODD = ("Categorical", "Enum", "Decimal", "Object", "Null", "Int128")
"""Types of Polars that not all versions of its Parquet keep; some are followed by more."""


class Restored(TypedDict, total=False):
    """What Parquet does not keep of a frame of pandas."""

    types: dict[str, str]
    """Types of columns that Parquet gives back as others, by their places."""
    categories: dict[str, tuple[str, list[int | float], bool]]
    """Type of the categories, the categories as numbers, and whether they have an order."""
    freq: str
    """How far apart the times of the index are."""


def load(library: str) -> ModuleType:
    """A library, by its name, so that it is in the keys of those jobs alone that import it."""
    return importlib.import_module(library)


def has_row_numbers(frame: pd.DataFrame) -> bool:
    """True if the index only numbers the rows: whole numbers without a name."""
    index = frame.index
    return index.nlevels == 1 and index.name is None and _is_numpy(index.dtype) and index.dtype.kind in "iu"


def _is_numpy(kind: object) -> bool:
    return hasattr(kind, "isbuiltin")  # those of pandas have it not


def is_simple(table: Table, library: str, keeps_categories: bool = False) -> bool:
    """True if the frame is known to come back as it is: numbers, times and texts under plain names."""
    if library == POLARS:
        return not any(
            kind.is_nested() or str(kind).startswith(ODD) for kind in cast("pl.DataFrame", table).dtypes
        )
    frame = cast("pd.DataFrame", table)
    names, index = frame.columns, frame.index
    if names.nlevels > 1 or names.name is not None or index.name is not None or frame.attrs:
        return False
    if not len(names) or not has_row_numbers(frame) or not all(type(name) is str for name in names):
        return False
    return all(_is_simple_type(kind, keeps_categories) for kind in frame.dtypes)


def _is_simple_type(kind: Any, keeps_categories: bool) -> bool:
    if hasattr(kind, "categories"):
        return keeps_categories and _is_simple_type(kind.categories.dtype, False)
    return (
        (kind.kind in "biufmM" and kind.isbuiltin == 1) if hasattr(kind, "isbuiltin") else str(kind) == "str"
    )


def beside_parquet(frame: pd.DataFrame) -> Restored:
    """What `restore` needs."""
    more: Restored = {}
    for place, kind in enumerate(frame.dtypes):
        if str(kind) == "object" or str(kind).endswith("64[s]"):
            more.setdefault("types", {})[str(place)] = str(kind)
        elif _is_numpy(getattr(getattr(kind, "categories", None), "dtype", None)):
            held = kind.categories.to_numpy()
            if held.dtype.kind in "biufmM":
                whole = held.view("i8") if held.dtype.kind in "mM" else held
                found = (str(held.dtype), whole.tolist(), bool(kind.ordered))
                more.setdefault("categories", {})[str(place)] = found
    if freq := getattr(frame.index, "freqstr", None):
        more["freq"] = freq
    return more


def put_objects(frame: pd.DataFrame, place: int, column: object) -> None:
    """Make objects of a column: whole numbers beside None, which pandas reads as floats."""
    objects = load(PANDAS).Series(cast("Any", column).to_pylist(), index=frame.index, dtype=object)
    cast("Any", frame).isetitem(place, objects)


def restore(frame: pd.DataFrame, file: Path, more: Restored) -> None:
    """Put right what Parquet has not kept."""
    import numpy as np

    pandas, given = load(PANDAS), cast("Any", frame)
    for place, name in more.get("types", {}).items():
        column, number = given.iloc[:, int(place)], int(place)
        if name == "object" != str(column.dtype):
            put_objects(frame, number, load("pyarrow.parquet").read_table(file).column(number))
        elif str(column.dtype) != name:
            given.isetitem(number, column.astype(name))
    for place, (name, values, is_ordered) in more.get("categories", {}).items():
        kept = np.array(values, "i8").view(name) if name[:2] in ("da", "ti") else np.array(values, name)
        kind = pandas.CategoricalDtype(pandas.Index(kept), is_ordered)
        given.isetitem(int(place), given.iloc[:, int(place)].astype(kind))
    if "freq" in more and "period" not in str(frame.index.dtype):
        given.index.freq = more["freq"]


def check_same(name: str, was: Table, library: str, read: Callable[[], Table]) -> None:
    """Refuse a frame that is read as another one, and say what is other in it."""
    try:
        now = read()
    except Exception as error:  # of many kinds, from what was written a moment ago
        raise unwritable(name, error) from None
    if library == POLARS:
        ours, theirs = cast("pl.DataFrame", was), cast("pl.DataFrame", now)
        for column, kind in ours.schema.items():
            if theirs.schema[column] != kind or not ours[column].equals(theirs[column], null_equal=True):
                raise _other(name, f"column {column} of {kind}", f"one of {theirs.schema[column]}")
        return
    frame, other = cast("pd.DataFrame", was), cast("pd.DataFrame", now)
    if frame.attrs != other.attrs:
        raise _other(name, f"attrs {frame.attrs}", repr(other.attrs))
    axes = [("index", frame.index, other.index), ("names of columns", frame.columns, other.columns)]
    columns = [
        (f"column {column}", frame.iloc[:, place], other.iloc[:, place])
        for place, column in enumerate(frame.columns)
    ]
    for what, one, two in [*axes, *columns]:
        if not _is_same(one, two):
            raise _other(name, f"{what} of {_kind(one)}", f"one of {_kind(two)}, or of other values")


def _is_same(one: Any, two: Any) -> bool:
    if _kind(one) != _kind(two) or not one.equals(two):
        return False
    if hasattr(one, "names") and [*one.names] != [*two.names]:
        return False
    if hasattr(one, "levels"):
        return len(one.levels) == len(two.levels) and all(map(_is_same, one.levels, two.levels))
    if getattr(one, "freq", None) != getattr(two, "freq", None):
        return False
    return one.dtype != object or [*map(type, one)] == [*map(type, two)]


def _kind(axis: Any) -> str:
    return repr(axis.dtype) if not hasattr(axis, "levels") else "several levels"


def _other(name: str, was: str, now: str) -> InputError:
    return InputError(
        "a table changes when stored as Parquet",
        field=f"table {name}",
        found=f"{was}; it is read as {now}",
        expected="a table that reads back unchanged",
        hint="give each column one type that Parquet has, and no numbers beside None in a column of objects: "
        '`.astype("Int64")`, `.astype(str)`',
    )


def unwritable(name: str, error: Exception | str) -> InputError:
    """The error for a frame that cannot be kept."""
    return InputError(
        "a table cannot be kept as a Parquet file",
        field=f"table {name}",
        found=error if isinstance(error, str) else f"{type(error).__name__}: {error}",
        hint="give each column one type: numbers, texts, dates",
    )
