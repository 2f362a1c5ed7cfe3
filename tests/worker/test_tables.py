"""Tables come back as what they were, and what Parquet cannot hold is refused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal

from shortloop.errors import InputError
from shortloop.worker.tables import (
    from_bytes,
    is_table,
    joined,
    numbered_anew,
    read_table,
    save_table,
    to_bytes,
    unit_frame,
)

DAY = datetime.datetime(2026, 3, 29, 1, 30, tzinfo=datetime.UTC)
PANDAS: dict[str, pd.DataFrame] = {
    "plain": pd.DataFrame({"firm": ["a", "b", None], "year": [1, 2, 3], "x": [0.5, np.nan, -0.0]}),
    "nullable": pd.DataFrame({"n": pd.array([1, None], "Int64"), "b": pd.array([True, None], "boolean")}),
    "categories": pd.DataFrame({"c": pd.Categorical(["u", "v", "u"], ["v", "u", "w"], ordered=True)}),
    "times": pd.DataFrame(
        {"t": pd.to_datetime([DAY, DAY]).tz_convert("Europe/Berlin"), "d": [DAY.date()] * 2}
    ),
    "index": pd.DataFrame(
        {"x": [1.0, 2.0]}, pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", "n"])
    ),
    "small types": pd.DataFrame({"i": np.array([1, 2], "i1"), "f": np.array([0.1, 2], "f4")}),
    "no rows": pd.DataFrame({"x": np.array([], float), "s": pd.Series([], dtype=str)}),
}
POLARS: dict[str, pl.DataFrame] = {
    "plain": pl.DataFrame({"firm": ["a", None], "year": [1, 2], "x": [0.5, float("nan")]}),
    "nested": pl.DataFrame({"l": [[1, 2], []], "s": [{"a": 1}, {"a": None}]}),
    "times": pl.DataFrame({"t": [DAY, None], "c": pl.Series(["u", "v"], dtype=pl.Categorical)}),
    "no rows": pl.DataFrame({"x": []}, schema={"x": pl.Int16}),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = PANDAS[name]
    described = save_table("t", table)
    assert described["library"] == "pandas"
    assert (described["rows"], [*described["columns"]]) == (len(table), [*table.columns])
    assert_frame_equal(read_table(tmp_path / "t.parquet", "pandas"), table)  # type: ignore[arg-type]
    without_index = table.reset_index(drop=True)
    assert_frame_equal(from_bytes(to_bytes(table, "t"), "pandas"), without_index)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", POLARS)
def test_polars(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = POLARS[name]
    assert save_table("t", table)["library"] == "polars"
    for found in (read_table(tmp_path / "t.parquet", "polars"), from_bytes(to_bytes(table, "t"), "polars")):
        assert isinstance(found, pl.DataFrame)
        assert found.schema == table.schema
        assert found.equals(table)


@pytest.mark.parametrize("values", [[1, "a"], [{1}, {2}], [[1], [2]], [object(), object()]])
def test_what_parquet_cannot_hold_is_refused(
    values: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    with pytest.raises(InputError, match="cannot be kept as a Parquet file") as caught:
        save_table("odd", table)
    assert caught.value.field == "table odd"
    with pytest.raises(InputError, match="cannot be kept"):
        to_bytes(table, "odd")


def test_the_same_table_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for table in (PANDAS["plain"], POLARS["plain"]):
        save_table("a", table)
        save_table("b", table)
        assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_only_frames_are_tables() -> None:
    assert is_table(PANDAS["plain"])
    assert is_table(POLARS["plain"])
    for other in (PANDAS["plain"]["x"], POLARS["plain"]["x"], POLARS["plain"].lazy(), {"x": [1]}, np.ones(3)):
        assert not is_table(other)


def test_tables_of_units_are_joined() -> None:
    parts = [pd.DataFrame({"x": [1, 2]}, index=[7, 8]), pd.DataFrame({"x": [3]}, index=[9])]
    expected = pd.DataFrame({"unit": ["a", "a", "b"], "x": [1, 2, 3]})
    assert_frame_equal(joined(["a", "b"], parts, "t"), expected)  # type: ignore[arg-type]
    both = joined([1, 2], [pl.DataFrame({"x": [1, 2]}), pl.DataFrame({"x": [3]})], "t")
    assert isinstance(both, pl.DataFrame)
    assert both.rows() == [(1, 1), (1, 2), (2, 3)]
    with pytest.raises(InputError, match="a column that is made of the names of the units"):
        joined(["a"], [pd.DataFrame({"unit": [1]})], "t")


def test_rows_of_a_unit_are_numbered_anew_unless_their_index_has_a_name() -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=[7, 8])
    assert numbered_anew(frame).index.to_list() == [0, 1]  # type: ignore[attr-defined]
    assert frame.index.to_list() == [7, 8]
    for other in (
        frame.rename_axis("k"),
        frame.set_axis(["a", "b"]),
        frame.set_axis([0.5, 1]),
        frame["x"],
        5,
    ):
        assert numbered_anew(other) is other


def test_a_frame_of_units() -> None:
    found = unit_frame(["a", "b"], {"x": np.array([1.0, 2.0])})
    assert_frame_equal(found, pd.DataFrame({"x": [1.0, 2.0]}, pd.Index(["a", "b"], name="unit")))
    found = unit_frame([["a", 1], ["b", 2]], {"x": np.array([1.0, 2.0])})
    assert found.index.to_list() == [("a", 1), ("b", 2)]
    assert unit_frame([], {}).empty
