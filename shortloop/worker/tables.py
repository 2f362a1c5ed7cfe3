"""Tables of a job: pandas or Polars frames, kept as Parquet files and read as what they were.

The libraries are looked up by name, so that they are in the keys of those jobs alone that import them, or are
made from tables: every stage can read tables, and few do.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias, TypedDict, cast

from shortloop.errors import InputError
from shortloop.extras import is_installed, need
from shortloop.plain import Plain

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl

__all__ = [
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

Table: TypeAlias = "pd.DataFrame | pl.DataFrame"
PANDAS, POLARS = "pandas", "polars"
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


def library_of(value: object) -> str | None:
    """The library whose frame a value is, which is loaded then.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    {"pandas", "polars"} or None
        None of what is no frame.
    """
    for name in NEEDED:
        library = sys.modules.get(name)
        if library is not None and isinstance(value, library.DataFrame):
            return name
    return None


def is_table(value: object) -> bool:
    """Whether a value is a frame.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    bool
    """
    return library_of(value) is not None


def is_table_file(name: str) -> bool:
    """Whether a file of a job holds a table.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    bool
    """
    return name.endswith(ENDING)


def save_table(name: str, table: Table) -> DescribedTable:
    """Write a table into the current folder, as ``NAME.parquet``.

    Parameters
    ----------
    name : str
        Its name.
    table : DataFrame
        Of pandas or Polars.

    Returns
    -------
    DescribedTable
        What the record says of it.

    Raises
    ------
    InputError
        If a column cannot be written: it is of objects that Parquet has no type for.
    """
    library = cast("str", library_of(table))
    need("tables", NEEDED[library])
    _check_columns(name, table)
    try:
        if library == PANDAS:
            cast("pd.DataFrame", table).to_parquet(f"{name}{ENDING}", engine="pyarrow")
        else:
            cast("pl.DataFrame", table).write_parquet(f"{name}{ENDING}")
    except OSError:
        raise
    except Exception as error:  # each library has its own
        raise _unwritable(name, error) from None
    types = {str(column): str(table[column].dtype) for column in table.columns}
    return {"library": library, "rows": len(table), "columns": types}


def read_table(file: Path, library: str) -> Table:
    """Read a table as a frame of the library that wrote it.

    Parameters
    ----------
    file : Path
        As of `save_table`.
    library : {"pandas", "polars"}
        As the record says.

    Returns
    -------
    DataFrame

    Raises
    ------
    TransientError
        If the library is not installed.
    """
    need("tables", NEEDED[library])
    frame: Table = _load(library).read_parquet(file)
    return frame


def to_bytes(table: Table, what: str) -> bytes:
    """A table as bytes, for a while: quicker than Parquet, and larger. The index of pandas frames is not
    kept.

    Parameters
    ----------
    table : DataFrame
        Of pandas or Polars.
    what : str
        What it is, for messages.

    Returns
    -------
    bytes

    Raises
    ------
    InputError
        As of `save_table`.
    """
    library = cast("str", library_of(table))
    need("tables", NEEDED[library])
    _check_columns(what, table)
    stream = io.BytesIO()
    try:
        if library == POLARS:
            cast("pl.DataFrame", table).write_ipc(stream)
        else:
            pa = _load("pyarrow")
            arrow = pa.Table.from_pandas(table, preserve_index=False)
            rows = pa.array(range(len(arrow)), pa.int64())
            arrow = arrow.take(rows)  # without the rest of what it is a part of
            with pa.ipc.new_stream(stream, arrow.schema) as writer:
                writer.write_table(arrow)
    except Exception as error:  # each library has its own
        raise _unwritable(what, error) from None
    return stream.getvalue()


def from_bytes(data: bytes, library: str) -> Table:
    """A table of `to_bytes`.

    Parameters
    ----------
    data : bytes
        What that gave.
    library : {"pandas", "polars"}
        Whose frame it was.

    Returns
    -------
    DataFrame
    """
    if library == POLARS:
        table: Table = _load(POLARS).read_ipc(io.BytesIO(data))
        return table
    with _load("pyarrow").ipc.open_stream(data) as reader:
        frame: pd.DataFrame = reader.read_all().to_pandas()
    return frame


def joined(units: Sequence[object], tables: Sequence[Table], what: str) -> Table:
    """Tables of several units as one, with the unit of each row in a first column, ``unit``.

    Parameters
    ----------
    units : sequence
        Names of the units.
    tables : sequence of DataFrame
        Of each unit, all of one library.
    what : str
        What they are, for messages.

    Returns
    -------
    DataFrame
        The index of pandas frames is not kept.

    Raises
    ------
    InputError
        If they have a column ``unit`` themselves.
    """
    if UNIT in tables[0].columns:
        raise InputError(
            "a table of a unit has a column that is made of the names of the units",
            field=what,
            found=f"a column {UNIT}",
            hint="give the column another name, or leave it out",
        )
    if library_of(tables[0]) == POLARS:
        polars, frames = _load(POLARS), cast("Sequence[pl.DataFrame]", tables)
        first = [polars.lit(_name(unit)).alias(UNIT) for unit in units]
        table: Table = polars.concat([each.select(unit, polars.all()) for unit, each in zip(first, frames)])
        return table
    whole: pd.DataFrame = _load(PANDAS).concat(tables, ignore_index=True)
    whole.insert(0, UNIT, [_name(unit) for unit, each in zip(units, tables) for _ in range(len(each))])
    return whole


def numbered_anew(value: object) -> object:
    """What a unit reads, without a trace of where it stood in a larger table.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    object
        Of a pandas frame whose index is whole numbers without a name, one whose rows are numbered from 0; of
        all else what was given.
    """
    if library_of(value) != PANDAS:
        return value
    frame = cast("pd.DataFrame", value)
    has_numbers = frame.index.nlevels == 1 and frame.index.name is None and frame.index.dtype.kind in "iu"
    return frame.reset_index(drop=True) if has_numbers else frame


def unit_frame(units: Sequence[Plain], columns: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Arrays with a value for each unit, as one frame.

    Parameters
    ----------
    units : sequence
        Names of the units; lists where they have several parts.
    columns : mapping of str to array
        By name.

    Returns
    -------
    DataFrame
        Of pandas; the index is the units.
    """
    need("tables", NEEDED[PANDAS])
    pandas = _load(PANDAS)
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
    """Libraries that a job which reads tables may use.

    Returns
    -------
    list of str
        Those that are installed.
    """
    names = dict.fromkeys(name for needed in NEEDED.values() for name in needed)
    return [name for name in names if is_installed(name)]


def _load(library: str) -> ModuleType:
    return importlib.import_module(library)


def _name(unit: object) -> object:
    return unit if isinstance(unit, str | int | float) else str(unit)


def _check_columns(name: str, table: Table) -> None:
    """Refuse what pandas holds as objects and Parquet would give back as something else."""
    if library_of(table) != PANDAS:
        return
    for column, values in cast("pd.DataFrame", table).items():
        if values.dtype.kind == "O" and str(values.dtype) == "object":
            held = next((type(each) for each in values if not isinstance(each, PLAIN)), None)
            if held is not None and held.__module__ not in TIMES:
                raise _unwritable(name, f"column {column} holds {held.__name__}")


def _unwritable(name: str, error: Exception | str) -> InputError:
    return InputError(
        "a table cannot be kept as a Parquet file",
        field=f"table {name}",
        found=error if isinstance(error, str) else f"{type(error).__name__}: {error}",
        hint="give each column one type: numbers, texts, dates",
    )
