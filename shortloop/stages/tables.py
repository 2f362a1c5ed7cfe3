"""Tables of a job: pandas or Polars frames stored as Parquet files.

The libraries are looked up by name, so that they are in the keys of those jobs alone that import them, or are
made from tables: every stage can read tables, and few do.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from shortloop.base.errors import InputError
from shortloop.base.extras import is_installed, need
from shortloop.base.plain import Plain
from shortloop.stages.same_tables import (
    PANDAS,
    POLARS,
    Restored,
    Table,
    beside_parquet,
    check_same,
    has_row_numbers,
    is_simple,
    load,
    put_objects,
    restore,
    unwritable,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl

__all__ = [
    "UNIT",
    "DescribedTable",
    "Table",
    "from_bytes",
    "is_table",
    "is_table_file",
    "joined",
    "libraries_of_tables",
    "library_of",
    "numbered_anew",
    "read_table",
    "save_table",
    "to_bytes",
    "unit_frame",
]

UNIT = "unit"
ENDING = ".parquet"
PLAIN = (str, bytes, bool, int, float, type(None))
TIMES = ("datetime", "decimal", "pandas", "pandas._libs.missing", "pandas._libs.tslibs.timestamps")
NEEDED = {PANDAS: ("pandas", "pyarrow"), POLARS: ("polars",)}
"""What reads and writes tables of a library."""


class DescribedTable(TypedDict):
    """A table in a record."""

    library: str
    rows: int
    columns: dict[str, str]
    restored: NotRequired[Restored]


def library_of(value: object) -> str | None:
    """The library whose frame a value is, which is loaded then."""
    for name in NEEDED:
        library = sys.modules.get(name)
        if library is not None and isinstance(value, library.DataFrame):
            return name
    return None


def is_table(value: object) -> bool:
    """Whether a value is a frame."""
    return library_of(value) is not None


def is_table_file(name: str) -> bool:
    """Whether a file of a job holds a table."""
    return name.endswith(ENDING)


def save_table(name: str, table: Table) -> DescribedTable:
    """Write a table into the current folder, as ``NAME.parquet``."""
    library = cast("str", library_of(table))
    need("tables", NEEDED[library])
    _check_kind(name, table)
    file = Path(f"{name}{ENDING}")
    try:
        if library == PANDAS:
            cast("pd.DataFrame", table).to_parquet(file, engine="pyarrow")
        else:
            cast("pl.DataFrame", table).write_parquet(file)
    except OSError:
        raise
    except Exception as error:  # each library has its own
        raise unwritable(name, error) from None
    types = {str(column): str(table[column].dtype) for column in table.columns}
    described: DescribedTable = {"library": library, "rows": len(table), "columns": types}
    if library == PANDAS and (more := beside_parquet(cast("pd.DataFrame", table))):
        described["restored"] = more
    if not is_simple(table, library):
        check_same(name, table, library, lambda: read_table(file, described))
    return described


def read_table(file: Path, described: DescribedTable) -> Table:
    """Read a table as a frame of the library that wrote it."""
    library = described["library"]
    need("tables", NEEDED[library])
    literal = {"glob": False} if library == POLARS else {}  # a folder may be called `paper [v2]`
    frame: Any = load(library).read_parquet(file, **literal)
    if "restored" in described:
        restore(frame, file, described["restored"])
    return cast("Table", frame)


def to_bytes(table: Table, what: str) -> bytes:
    """A table as bytes, for a while: quicker than Parquet, and larger. The index of pandas frames is not
    kept.
    """
    library = cast("str", library_of(table))
    need("tables", NEEDED[library])
    _check_kind(what, table)
    if library == PANDAS and not has_row_numbers(cast("pd.DataFrame", table)):
        raise InputError(
            "a table of a unit has an index, and is kept without it",
            field=f"table {what}",
            found=f"an index of {cast('pd.DataFrame', table).index.dtype}",
            hint="make columns of it, with `.reset_index()`",
        )
    stream = io.BytesIO()
    try:
        if library == POLARS:
            cast("pl.DataFrame", table).write_ipc(stream)
        else:
            pa = load("pyarrow")
            arrow = pa.Table.from_pandas(table, preserve_index=False)
            rows = pa.array(range(len(arrow)), pa.int64())
            arrow = arrow.take(rows)  # without the rest of what it is a part of
            with pa.ipc.new_stream(stream, arrow.schema) as writer:
                writer.write_table(arrow)
    except Exception as error:  # each library has its own
        raise unwritable(what, error) from None
    data = stream.getvalue()
    if not is_simple(table, library, keeps_categories=True):
        check_same(what, cast("Table", numbered_anew(table)), library, lambda: from_bytes(data, library))
    return data


def from_bytes(data: bytes, library: str) -> Table:
    """A table of `to_bytes`."""
    if library == POLARS:
        table: Table = load(POLARS).read_ipc(io.BytesIO(data))
        return table
    with load("pyarrow").ipc.open_stream(data) as reader:
        arrow = reader.read_all()
    frame: Any = arrow.to_pandas()
    for place, said in enumerate(arrow.schema.pandas_metadata["columns"]):
        if said["numpy_type"] == "object" and frame.dtypes.iloc[place].kind != "O":
            put_objects(frame, place, arrow.column(place))
    return cast("Table", frame)


def joined(units: Sequence[object], tables: Sequence[Table], what: str) -> Table:
    """Tables of several units as one, with the unit of each row in a first column, ``unit``."""
    if UNIT in tables[0].columns:
        raise InputError(
            "a table of a unit has a column that is made of the names of the units",
            field=what,
            found=f"a column {UNIT}",
            hint="give the column another name, or leave it out",
        )
    if library_of(tables[0]) == POLARS:
        polars, frames = load(POLARS), cast("Sequence[pl.DataFrame]", tables)
        first = [polars.lit(_name(unit)).alias(UNIT) for unit in units]
        table: Table = polars.concat([each.select(unit, polars.all()) for unit, each in zip(first, frames)])
        return table
    whole: pd.DataFrame = load(PANDAS).concat(tables, ignore_index=True)
    whole.insert(0, UNIT, [_name(unit) for unit, each in zip(units, tables) for _ in range(len(each))])
    return whole


def numbered_anew(value: object) -> object:
    """What a unit reads, without a trace of where it stood in a larger table."""
    if library_of(value) != PANDAS:
        return value
    frame = cast("pd.DataFrame", value)
    return frame.reset_index(drop=True) if has_row_numbers(frame) else frame


def unit_frame(units: Sequence[Plain], columns: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Arrays with a value for each unit, as one frame.

    columns: mapping of str to array. By name.
    """
    need("tables", NEEDED[PANDAS])
    pandas = load(PANDAS)
    names = [tuple(each) if isinstance(each, list) else each for each in units]
    lengths = {len(each) if isinstance(each, tuple) else 0 for each in names}
    of_parts = len(lengths) == 1 and lengths != {0}
    index = (
        pandas.MultiIndex.from_tuples(names)
        if of_parts
        else pandas.Index(names, name=UNIT, tupleize_cols=False)
    )
    frame: pd.DataFrame = pandas.DataFrame(dict(columns), index=index)
    return frame


def libraries_of_tables() -> list[str]:
    """Libraries that a job which reads tables may use."""
    names = dict.fromkeys(name for needed in NEEDED.values() for name in needed)
    return [name for name in names if is_installed(name)]


def _name(unit: object) -> object:
    return unit if isinstance(unit, str | int | float) else str(unit)


def _check_kind(name: str, table: Table) -> None:
    """Refuse frames that are more than frames, and columns that say no more than that they hold objects."""
    library = cast("str", library_of(table))
    if type(table) is not load(library).DataFrame:
        raise unwritable(name, f"a {type(table).__name__}, which is more than a frame of {library}")
    if len({*map(str, table.columns)}) < len(table.columns):
        raise unwritable(name, "columns of one name")
    for column, values in cast("pd.DataFrame", table).items() if library == PANDAS else ():
        if values.dtype == object:
            held = next((type(each) for each in values if not isinstance(each, PLAIN)), None)
            if held is not None and held.__module__ not in TIMES:
                raise unwritable(name, f"column {column} holds {held.__name__}")
