"""Tables come back as what they were, and what Parquet cannot hold is refused."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.stages.tables import (
    from_bytes,
    joined,
    read_table,
    save_table,
    to_bytes,
    unit_frame,
)


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are written into the current folder."""
    monkeypatch.chdir(tmp_path)


class Kind(enum.Enum):
    A = "a"


class Own(pd.DataFrame):
    """A frame of somebody's library."""


def same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Equal in values and their types, types of columns, index, names and attrs."""
    assert_frame_equal(one, other)
    values = [[type(each) for each in frame.to_numpy(object).ravel()] for frame in (one, other)]
    return values[0] == values[1] and one.attrs == other.attrs


def as_objects(*values: Any) -> pd.Series:
    return pd.Series([*values], dtype=object)


DECIMALS = [decimal.Decimal("1.10"), None]
COLUMNS: dict[str, Any] = {
    "whole numbers beside None": as_objects(2**60 + 1, None),
    "truth beside None": as_objects(True, None),
    "texts as objects": as_objects("a", None),
    "texts": pd.Series(["a", None]),
    "decimals": as_objects(*DECIMALS),
    "dates": as_objects(datetime.date(2020, 1, 1), None),
    "bytes": as_objects(b"a", None),
    "numbers and texts": as_objects(1, "a"),
    "numbers of several kinds": as_objects(1, 2.5),
    "number and truth": as_objects(1, True),
    "none of two kinds": as_objects(None, np.nan),
    "big numbers": as_objects(2**70, 1),
    "number of categories": pd.Series(pd.Categorical([3, 1], [3, 1, 7])),
    "categories in an order": pd.Series(pd.Categorical([3, None], [3, 1, 7], ordered=True)),
    "small categories": pd.Series(pd.Categorical(np.array([3, 1], "i1"))),
    "categories with a point": pd.Series(pd.Categorical([0.1, 0.5])),
    "truth as categories": pd.Series(pd.Categorical([True, False])),
    "times as categories": pd.Series(pd.Categorical(pd.to_datetime(["2020-01-02", "2020-01-01"]))),
    "times of a zone as categories": pd.Series(
        pd.Categorical(pd.to_datetime(["2020-01-02", "2020-01-01"]).tz_localize("UTC"))
    ),
    "texts as categories": pd.Series(pd.Categorical(["b", None], ["b", "a"])),
    "mixed categories": pd.Series(pd.Categorical(["b", 1])),
    "seconds": pd.Series(np.array(["1200-01-01", "NaT"], "M8[s]")),
    "nanoseconds": pd.Series(np.array(["2020-01-01", "NaT"], "M8[ns]")),
    "time in seconds": pd.Series(np.array([5, 7], "m8[s]")),
    "zones": pd.Series(pd.date_range("2020", periods=2, tz="Europe/Berlin")),
    "several zones": as_objects(pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2020", tz="Europe/Berlin")),
    "months": pd.Series(pd.period_range("2020", periods=2, freq="M")),
    "intervals": pd.Series(pd.IntervalIndex.from_breaks([0, 1, 2])),
    "cut": pd.Series(pd.cut([1, 5], [0, 2, 6])),
    "sparse": pd.Series(pd.arrays.SparseArray([0, 1])),
    "complex": pd.Series([1j, 2]),
    "half": pd.Series(np.array([1.5, 2], "f2")),
    "long": pd.Series(np.array([1.5, 2], "g")),
    "unsigned": pd.Series(np.array([2**64 - 1, 0], "u8")),
    "nullable": pd.Series(pd.array([2**60 + 1, None], "Int64")),
    "nullable with a point": pd.Series(pd.array([0.5, None], "Float32")),
    "of Arrow": pd.Series([1, None], dtype="int32[pyarrow]"),
    "texts of Python": pd.Series(["a", None], dtype=pd.StringDtype("python", na_value=pd.NA)),
    "enums": as_objects(Kind.A, Kind.A),
    "lists": as_objects([1], [2]),
}
OF_POLARS: list[tuple[Any, list[Any]]] = [
    (pl.Enum(["b", "a"]), ["a", None]),
    (pl.Categorical, ["a", "b"]),
    (pl.Decimal(10, 2), DECIMALS),
    (pl.Object, [object(), None]),
    (pl.List(pl.Int8), [[1], None]),
    (pl.Array(pl.Float32, 2), [[1, 2], None]),
    (pl.Struct({"a": pl.Categorical}), [{"a": "x"}, None]),
    (pl.Duration("ms"), [5, None]),
    (pl.Time, [datetime.time(1), None]),
    (pl.Null, [None, None]),
    (pl.Int128, [2**70, None]),
    (pl.Binary, [b"a", None]),
    (pl.UInt64, [2**64 - 1, 0]),
    (pl.Datetime("ns", "Europe/Berlin"), [5, None]),
    (pl.List(pl.Enum(["a"])), [["a"], []]),
]


def with_attrs(**attrs: Any) -> pd.DataFrame:
    frame = pd.DataFrame({"v": [1]})
    frame.attrs.update(attrs)
    return frame


FRAMES: dict[str, Any] = {
    **{name: pd.DataFrame({"v": column}) for name, column in COLUMNS.items()},
    **{
        f"{name} as index": pd.DataFrame({"v": [1, 2]}, pd.Index(each))
        for name, each in COLUMNS.items()
        if name != "half"
    },
    "numbers as names": pd.DataFrame([[1, 2]], columns=[0, 1]),
    "names of two levels": pd.DataFrame(
        [[1]], columns=pd.MultiIndex.from_tuples([("a", "x")], names=["k", None])
    ),
    "a name of the names": pd.DataFrame({"a": [1]}).rename_axis(columns="kind"),
    "names alike": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "names like each other": pd.DataFrame([[1, 2]], columns=["1", 1]),
    "attrs": with_attrs(unit="m"),
    "odd attrs": with_attrs(of=(1, 2)),
    "days": pd.DataFrame({"v": [1, 2]}, pd.date_range("2020", periods=2, freq="D", name="day")),
    "every other row": pd.DataFrame({"v": [1, 2]}, pd.RangeIndex(0, 4, 2)),
    "rows of a larger one": pd.DataFrame({"v": [1, 2, 3]}).drop(1),
    "no columns": pd.DataFrame(index=[1, 2]),
    "no rows": pd.DataFrame({"o": pd.Series([], dtype=object), "c": pd.Categorical([])}),
    "a kind of its own": Own({"v": [1]}),
    "index of two levels": pd.DataFrame(
        {"x": [1.0, -0.0]}, pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", "n"])
    ),
    **{f"Polars {kind}": pl.DataFrame({"v": pl.Series(values, dtype=kind)}) for kind, values in OF_POLARS},
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_comes_back_as_it_was_or_is_refused(name: str, tmp_path: Path) -> None:
    was = FRAMES[name]
    is_polars = isinstance(was, pl.DataFrame)
    for again in (
        lambda: read_table(tmp_path / "t.parquet", json.loads(json.dumps(save_table("t", was)))),
        lambda: from_bytes(to_bytes(was, "t"), "polars" if is_polars else "pandas"),
    ):
        try:
            now: Any = again()
        except InputError:
            continue
        if is_polars:
            assert now.schema == was.schema
            assert now.equals(was)
        else:  # of a unit, row numbers are not kept
            assert same(now, was if now.index.equals(was.index) else was.reset_index(drop=True))


OFTEN = [
    "whole numbers beside None",
    "texts as objects",
    "number of categories",
    "categories in an order",
    "seconds",
    "days",
    "times as categories",
    "attrs",
    "a name of the names",
    "nullable",
    "months",
    "zones",
    "texts",
    "every other row",
    "index of two levels",
    *(f"Polars {kind}" for kind, _ in OF_POLARS if kind in (pl.Binary, pl.List(pl.Int8), pl.UInt64)),
]


@pytest.mark.parametrize("name", OFTEN)
def test_what_frames_often_hold_is_kept(name: str) -> None:
    described = save_table("t", FRAMES[name])
    assert (described["rows"], [*described["columns"]]) == (len(FRAMES[name]), [*FRAMES[name].columns])


@pytest.mark.parametrize("values", [[1, "a"], [{1}, {2}], [[1], [2]], [object(), object()]])
def test_what_parquet_cannot_hold_is_refused(values: list[Any]) -> None:
    table = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    with refusal("cannot be kept as a Parquet file", field="table odd"):
        save_table("odd", table)
    with refusal("cannot be kept"):
        to_bytes(table, "odd")
    with refusal("reset_index"):  # an index of a unit is not lost
        to_bytes(pd.DataFrame({"v": [1, 2]}, ["slope", "level"]), "t")


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for table in (FRAMES["texts"], pl.DataFrame({"x": [1.0], "s": ["a"]})):
        save_table("a", table)
        save_table("b", table)
        assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_tables_and_frames_of_units() -> None:
    parts = [pd.DataFrame({"x": [1, 2]}, index=[7, 8]), pd.DataFrame({"x": [3]}, index=[9])]
    expected = pd.DataFrame({"unit": ["a", "a", "b"], "x": [1, 2, 3]})
    assert_frame_equal(joined(["a", "b"], parts, "t"), expected)  # type: ignore[arg-type]
    both = joined([1, 2], [pl.DataFrame({"x": [1, 2]}), pl.DataFrame({"x": [3]})], "t")
    assert isinstance(both, pl.DataFrame)
    assert both.rows() == [(1, 1), (1, 2), (2, 3)]
    with refusal("a column that is made of the names of the units"):
        joined(["a"], [pd.DataFrame({"unit": [1]})], "t")
    found = unit_frame(["a", "b"], {"x": np.array([1.0, 2.0])})
    assert_frame_equal(found, pd.DataFrame({"x": [1.0, 2.0]}, pd.Index(["a", "b"], name="unit")))
    found = unit_frame([["a", 1], ["b", 2]], {"x": np.array([1.0, 2.0])})
    assert found.index.to_list() == [("a", 1), ("b", 2)]
    assert unit_frame([], {}).empty
