"""What units give is kept as it is, put together as NumPy would, and refused where that would change it."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from shortloop.base.errors import InputError
from shortloop.stages.content import SIZE
from shortloop.stages.rows import FOR_OTHERS, FOR_THIS_JOB, pack, read_rows, stacked, unpack, write_rows

SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
)
ARRAYS = npst.arrays(
    st.one_of(npst.scalar_dtypes(), npst.unicode_string_dtypes(max_len=4)).filter(
        lambda dtype: dtype.kind != "S"
    ),
    npst.array_shapes(min_dims=0, max_dims=3, min_side=0),
)


@given(st.dictionaries(st.text(min_size=1), SCALARS | ARRAYS, min_size=1))
def test_all_comes_back(values: dict[str, Any]) -> None:
    found = unpack(pack(values, "unit"))
    assert [*found] == [*values]
    for name, value in values.items():
        wanted = np.asarray(value)
        kept = found[name]
        assert isinstance(kept, np.ndarray)
        assert kept.dtype == wanted.dtype.newbyteorder("<")
        np.testing.assert_array_equal(kept, wanted)


def test_a_table_comes_back() -> None:
    table = pd.DataFrame({"x": [1.5, 2.5], "s": ["a", "b"]})
    found = unpack(pack({"t": table, "n": 3}, "unit"))
    pd.testing.assert_frame_equal(found["t"], table)  # type: ignore[arg-type]
    assert found["n"] == 3


@pytest.mark.parametrize(
    "given_",
    [
        None,
        1.0,
        [1],
        {},
        {"x": lambda: 1},
        {"x": [1, threading.Lock()]},
        {"x": (each for each in "ab")},
    ],
)
def test_what_cannot_be_kept_is_refused(given_: Any) -> None:
    with pytest.raises(InputError, match="F7 of fit"):
        pack(given_, "F7 of fit")


def put(*units: dict[str, Any]) -> Any:
    rows = [unpack(pack(each, "unit")) for each in units]
    return stacked([f"u{number}" for number in range(len(units))], rows, "fit")


def test_values_become_arrays_over_units() -> None:
    arrays, tables, _ = put(
        {"a": 1, "b": "x", "c": [1.0, 2.0]}, {"a": 2.5, "b": "long", "c": [3.0, math.nan]}
    )
    assert tables == {}
    assert arrays["a"].values.tolist() == [1.0, 2.5]
    assert arrays["b"].values.tolist() == ["x", "long"]
    np.testing.assert_array_equal(arrays["c"].values, [[1, 2], [3, math.nan]])
    assert [arrays[name].axes for name in "abc"] == ["units", "units", "units × …"]


def test_tables_become_one_over_units() -> None:
    _, tables, _ = put({"t": pd.DataFrame({"x": [1, 2]})}, {"t": pd.DataFrame({"x": [3]})})
    assert tables["t"].to_dict("list") == {"unit": ["u0", "u0", "u1"], "x": [1, 2, 3]}


@pytest.mark.parametrize(
    ("units", "said"),
    [
        ([{"a": 1}, {"b": 1}], "values of other names"),
        ([{"a": 1}, {"a": 1, "b": 2}], "values of other names"),
        ([{"a": [1, 2]}, {"a": [1]}], "a of other shapes"),
        ([{"a": 1}, {"a": [1]}], "a of other shapes"),
        ([{"a": 1}, {"a": "1"}], "a of other types"),
        ([{"a": np.datetime64("2026-01-01")}, {"a": 1}], "a of other types"),
        ([{"a": 2**60 + 1}, {"a": 0.5}], "a too large for float64"),
        ([{"a": np.uint64(2**63 + 1)}, {"a": -1}], "a too large for float64"),
        ([{"a": pd.DataFrame({"x": [1]})}, {"a": pd.DataFrame({"y": [1]})}], "tables a of other columns"),
        ([{"a": pd.DataFrame({"x": [1]})}, {"a": pd.DataFrame({"x": ["a"]})}], "tables a of other columns"),
        ([{"a": pd.DataFrame({"x": [1]})}, {"a": 1}], "tables a of other columns"),
    ],
)
def test_what_differs_between_units_is_refused_and_the_unit_named(
    units: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(InputError, match=f"units of fit give {said}") as caught:
        put(*units)
    assert "u1" in str(caught.value) or "unit u0" in str(caught.value)


def test_no_units_give_nothing() -> None:
    assert stacked([], [], "fit") == ({}, {}, {})


def test_rows_are_found_by_their_keys(tmp_path: Path) -> None:
    rows = [bytes([number]) * SIZE + FOR_OTHERS + pack({"x": number}, "u") for number in range(5)]
    write_rows(tmp_path / "rows", rows)
    wanted = {row[:SIZE]: row for row in rows[1:4]}
    assert read_rows(tmp_path / "rows", {*wanted, bytes(SIZE - 1) + b"x"}) == wanted
    assert read_rows(tmp_path / "rows", {}) == {}
    write_rows(tmp_path / "rows", [])
    assert read_rows(tmp_path / "rows", wanted) == {}


def test_rows_that_hold_for_one_job_are_not_found(tmp_path: Path) -> None:
    keys = [bytes([number]) * SIZE for number in range(4)]
    rows = [key + mark + b"x" for key, mark in zip(keys, [FOR_OTHERS, FOR_THIS_JOB] * 2)]
    write_rows(tmp_path / "rows", rows)
    assert [*read_rows(tmp_path / "rows", keys)] == [keys[0], keys[2]]


def test_a_file_of_rows_that_is_gone_or_damaged_gives_none(tmp_path: Path) -> None:
    """Cut off anywhere, longer, or another file altogether; a row that is found is one that was written."""
    rows = [bytes([number]) * SIZE + FOR_OTHERS + b"row" * number for number in range(3)]
    keys, file = [row[:SIZE] for row in rows], tmp_path / "rows"
    write_rows(file, rows)
    whole = file.read_bytes()
    assert read_rows(tmp_path / "none", keys) == read_rows(tmp_path, keys) == {}
    others = [*(whole[:end] for end in range(len(whole))), whole + b"x", b"\xff" * 99, b"{}", bytes(64)]
    for other in others:
        file.write_bytes(other)
        assert read_rows(file, keys) == {}, other
    for place in range(len(whole) - sum(map(len, rows))):  # before the rows
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert read_rows(file, keys).items() <= {row[:SIZE]: row for row in rows}.items()
