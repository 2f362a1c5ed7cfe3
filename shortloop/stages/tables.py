"""Tables of a job: pandas or Polars frames stored as Parquet files.

A frame that another stage gets is the one that was returned, or it was refused. The libraries are looked up
by name, so that they are in the keys of those jobs alone that import them, or are made from tables: every
stage can read tables, and few do.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NotRequired, TypeAlias, TypedDict, cast

from shortloop.base.errors import InputError
from shortloop.base.extras import is_installed, need
from shortloop.base.plain import Plain

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl

Table: TypeAlias = "pd.DataFrame | pl.DataFrame"
PANDAS, POLARS = "pandas", "polars"
NEEDED = {PANDAS: ("pandas", "pyarrow"), POLARS: ("polars",)}  # to read and write tables of a library
UNIT = "unit"
ENDING = ".parquet"
PLAIN = (str, bytes, bool, int, float, type(None))
TIMES = ("datetime", "decimal", "pandas", "pandas._libs.missing", "pandas._libs.tslibs.timestamps")
# Types of Polars that not all versions of its Parquet keep; some are followed by more.
ODD = ("Categorical", "Enum", "Decimal", "Object", "Null", "Int128")
AS_OBJECT = "or put the frame into a list, `[frame]`, which is stored as a pickle"
ONE_TYPE = "give each column one type: numbers, texts, dates"
AS_TYPE = (
    "give each column one type that Parquet has, and no numbers beside None in a column of objects: "
    '`.astype("Int64")`, `.astype(str)`'
)
HINTS = {
    "index": "make columns of the index, with `.reset_index()`",
    "names of columns": "name columns by texts alone, `frame.columns = […]`, without `frame.columns.name`",
}


class Restored(TypedDict, total=False):
    """Properties of a frame of pandas that Parquet does not keep, by the places of columns."""

    types: dict[str, str]
    categories: dict[str, tuple[str, list[int | float], bool]]  # type, values, and whether ordered
    freq: str  # of the index


class DescribedTable(TypedDict):
    """A table in a record."""

    library: str
    rows: int
    columns: dict[str, str]
    restored: NotRequired[Restored]


def load(library: str) -> ModuleType:
    """Import a library by its name, so that it is in the keys of those jobs alone that import it."""
    return importlib.import_module(library)


def library_of(value: object) -> str | None:
    """The library whose frame a value is; None if it is no frame."""
    for name in NEEDED:
        library = sys.modules.get(name)
        if library is not None and isinstance(value, library.DataFrame):
            return name
    return None


def is_table(value: object) -> bool:
    return library_of(value) is not None


def is_table_file(name: str) -> bool:
    """True if a file of a job holds a table."""
    return name.endswith(ENDING)


def save_table(name: str, table: Table) -> DescribedTable:
    """Write a table into the current folder, as ``NAME.parquet``."""
    library, frame = _checked(name, table)
    file = Path(f"{name}{ENDING}")
    try:
        if library == PANDAS:
            frame.to_parquet(file, engine="pyarrow")
        else:
            frame.write_parquet(file)
    except OSError:
        raise
    except Exception as error:  # each library has its own
        raise _unwritable(name, error) from None
    types = {str(column): str(frame[column].dtype) for column in frame.columns}
    described: DescribedTable = {"library": library, "rows": len(frame), "columns": types}
    if library == PANDAS and (more := _beside_parquet(frame)):
        described["restored"] = more
    if not _is_simple(table, library):
        _check_same(name, table, library, lambda: read_table(file, described))
    return described


def read_table(file: Path, described: DescribedTable) -> Table:
    """Read a table as a frame of the library that wrote it."""
    library = described["library"]
    need("tables", NEEDED[library])
    literal = {"glob": False} if library == POLARS else {}  # a folder may be called `paper [v2]`
    frame: Any = load(library).read_parquet(file, **literal)
    if "restored" in described:
        _restore(frame, file, described["restored"])
    return cast("Table", frame)


def to_bytes(table: Table, what: str) -> bytes:
    """Convert a table to bytes for a while, without an index: quicker than Parquet, and larger."""
    library, frame = _checked(what, table)
    if library == PANDAS and not _has_row_numbers(frame):
        problem = "a table of a unit has an index, and is kept without it"
        hint = "make columns of it, with `.reset_index()`"
        raise InputError(problem, field=f"table {what}", found=f"an index of {frame.index.dtype}", hint=hint)
    stream = io.BytesIO()
    try:
        if library == POLARS:
            frame.write_ipc(stream)
        else:
            pa = load("pyarrow")
            arrow = pa.Table.from_pandas(frame, preserve_index=False)
            rows = pa.array(range(len(arrow)), pa.int64())
            arrow = arrow.take(rows)  # without the rest of what it is a part of
            with pa.ipc.new_stream(stream, arrow.schema) as writer:
                writer.write_table(arrow)
    except Exception as error:  # each library has its own
        raise _unwritable(what, error) from None
    data = stream.getvalue()
    if not _is_simple(table, library, keeps_categories=True):
        _check_same(what, cast("Table", reset_row_numbers(table)), library, lambda: from_bytes(data, library))
    return data


def from_bytes(data: bytes, library: str) -> Table:
    """Read a table of `to_bytes`."""
    if library == POLARS:
        return cast("Table", load(POLARS).read_ipc(io.BytesIO(data)))
    with load("pyarrow").ipc.open_stream(data) as reader:
        arrow = reader.read_all()
    frame: Any = arrow.to_pandas()
    for place, said in enumerate(arrow.schema.pandas_metadata["columns"]):
        if said["numpy_type"] == "object" and frame.dtypes.iloc[place].kind != "O":
            _put_objects(frame, place, arrow.column(place))
    return cast("Table", frame)


def joined(units: Sequence[object], tables: Sequence[Table], what: str) -> Table:
    """Concatenate tables of units, with the unit of each row in a first column, ``unit``."""
    if UNIT in tables[0].columns:
        problem = "a table of a unit has a column that is made of the names of the units"
        hint = "give the column another name, or leave it out"
        raise InputError(problem, field=what, found=f"a column {UNIT}", hint=hint)
    if library_of(tables[0]) == POLARS:
        polars, frames = load(POLARS), cast("Sequence[pl.DataFrame]", tables)
        first = [polars.lit(unit_text(unit)).alias(UNIT) for unit in units]
        table: Table = polars.concat([each.select(unit, polars.all()) for unit, each in zip(first, frames)])
        return table
    whole: pd.DataFrame = load(PANDAS).concat(tables, ignore_index=True)
    whole.insert(0, UNIT, [unit_text(unit) for unit, each in zip(units, tables) for _ in range(len(each))])
    return whole


def reset_row_numbers(value: object) -> object:
    """Data of a unit, without row numbers of the larger table that it is from."""
    if library_of(value) != PANDAS:
        return value
    frame = cast("pd.DataFrame", value)
    return frame.reset_index(drop=True) if _has_row_numbers(frame) else frame


def unit_frame(units: Sequence[Plain], columns: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """A frame with a row for each unit, and a column for each array."""
    need("tables", NEEDED[PANDAS])
    pandas = load(PANDAS)
    names = [tuple(each) if isinstance(each, list) else each for each in units]
    lengths = {len(each) if isinstance(each, tuple) else 0 for each in names}
    if len(lengths) == 1 and lengths != {0}:
        index = pandas.MultiIndex.from_tuples(names)
    else:
        index = pandas.Index(names, name=UNIT, tupleize_cols=False)
    return cast("pd.DataFrame", pandas.DataFrame(dict(columns), index=index))


def libraries_of_tables() -> list[str]:
    """Libraries that a job which reads tables may use."""
    names = dict.fromkeys(name for needed in NEEDED.values() for name in needed)
    return [name for name in names if is_installed(name)]


def unit_text(unit: object) -> object:
    """Name of a unit, as tables hold it."""
    return unit if isinstance(unit, str | int | float) else str(unit)


def _checked(name: str, table: Any) -> tuple[str, Any]:
    """The library and the frame; refuse subclasses, repeated names, and columns of arbitrary objects."""
    library = cast("str", library_of(table))
    need("tables", NEEDED[library])
    if type(table) is not load(library).DataFrame:
        raise _unwritable(name, f"a {type(table).__name__}, which is more than a frame of {library}")
    if len({*map(str, table.columns)}) < len(table.columns):
        raise _unwritable(name, "columns of one name", "give each column a name of its own")
    for column, values in table.items() if library == PANDAS else ():
        if values.dtype == object:
            held = next((type(each) for each in values if not isinstance(each, PLAIN)), None)
            if held is not None and held.__module__ not in TIMES:
                raise _unwritable(name, f"column {column} holds {held.__name__}")
    return library, table


def _has_row_numbers(frame: pd.DataFrame) -> bool:
    """True if the index only numbers the rows."""
    index = frame.index
    return index.nlevels == 1 and index.name is None and _is_numpy(index.dtype) and index.dtype.kind in "iu"


def _is_numpy(kind: object) -> bool:
    return hasattr(kind, "isbuiltin")  # those of pandas have it not


def _is_simple(frame: Any, library: str, keeps_categories: bool = False) -> bool:
    """True if a frame is known to be read back unchanged: numbers, times and texts under plain names."""
    if library == POLARS:
        return not any(kind.is_nested() or str(kind).startswith(ODD) for kind in frame.dtypes)
    names, index = frame.columns, frame.index
    if names.nlevels > 1 or names.name is not None or index.name is not None or frame.attrs:
        return False
    if not len(names) or not _has_row_numbers(frame) or not all(type(name) is str for name in names):
        return False
    return all(_is_simple_type(kind, keeps_categories) for kind in frame.dtypes)


def _is_simple_type(kind: Any, keeps_categories: bool) -> bool:
    if hasattr(kind, "categories"):
        return keeps_categories and _is_simple_type(kind.categories.dtype, False)
    return kind.kind in "biufmM" and kind.isbuiltin == 1 if _is_numpy(kind) else str(kind) == "str"


def _beside_parquet(frame: pd.DataFrame) -> Restored:
    """Properties of a frame that Parquet does not keep, for `_restore`."""
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


def _put_objects(frame: pd.DataFrame, place: int, column: object) -> None:
    """Restore objects of a column: whole numbers beside None, which pandas reads as floats."""
    objects = load(PANDAS).Series(cast("Any", column).to_pylist(), index=frame.index, dtype=object)
    cast("Any", frame).isetitem(place, objects)


def _restore(frame: pd.DataFrame, file: Path, more: Restored) -> None:
    """Restore properties that Parquet does not keep."""
    import numpy as np

    pandas, given = load(PANDAS), cast("Any", frame)
    for place, name in more.get("types", {}).items():
        column, number = given.iloc[:, int(place)], int(place)
        if name == "object" != str(column.dtype):
            _put_objects(frame, number, load("pyarrow.parquet").read_table(file).column(number))
        else:
            given.isetitem(number, column.astype(name))
    for place, (name, values, is_ordered) in more.get("categories", {}).items():
        kept = np.array(values, "i8").view(name) if name[:2] in ("da", "ti") else np.array(values, name)
        kind = pandas.CategoricalDtype(pandas.Index(kept), is_ordered)
        given.isetitem(int(place), given.iloc[:, int(place)].astype(kind))
    if "freq" in more and "period" not in str(frame.index.dtype):
        given.index.freq = more["freq"]


def _check_same(name: str, was: Any, library: str, read: Callable[[], Table]) -> None:
    """Refuse a frame that is read back as another one, and name the difference."""
    try:
        now: Any = read()
    except Exception as error:  # of many kinds, from what was written a moment ago
        raise _unwritable(name, error) from None
    if library == POLARS:
        for column, kind in was.schema.items():
            if now.schema[column] != kind or not was[column].equals(now[column], null_equal=True):
                raise _changed(name, f"column {column} of {kind}", f"one of {now.schema[column]}")
        return
    if was.attrs != now.attrs:
        hint = "keep in `attrs` only numbers, texts, and lists and dicts of these"
        raise _changed(name, f"attrs {was.attrs}", repr(now.attrs), hint)
    parts = [("index", was.index, now.index), ("names of columns", was.columns, now.columns)]
    for place, column in enumerate(was.columns):
        parts.append((f"column {column}", was.iloc[:, place], now.iloc[:, place]))
    for what, one, two in parts:
        if not _is_same(one, two):
            other = f"one of {_kind(two)}, or of other values"
            raise _changed(name, f"{what} of {_kind(one)}", other, HINTS.get(what, AS_TYPE))


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


def _changed(name: str, was: str, now: str, hint: str = AS_TYPE) -> InputError:
    return InputError(
        "a table changes when stored as Parquet",
        field=f"table {name}",
        found=f"{was}; it is read as {now}",
        expected="a table that reads back unchanged",
        hint=f"{hint}; {AS_OBJECT}",
    )


def _unwritable(name: str, error: Exception | str, hint: str = ONE_TYPE) -> InputError:
    problem = "a table cannot be kept as a Parquet file"
    found = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return InputError(problem, field=f"table {name}", found=found, hint=f"{hint}; {AS_OBJECT}")
