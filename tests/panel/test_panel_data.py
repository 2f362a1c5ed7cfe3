"""Rows of a frame, group by group: nothing is lost, and what cannot be used is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortloop.base.errors import InputError
from shortloop.panel.data import block_of, from_frame


@given(
    st.lists(st.tuples(st.sampled_from([*"abcde", None]), st.integers(-3, 3)), min_size=1, max_size=60),
    st.integers(1, 5),
)
@settings(max_examples=100, deadline=None)
def test_rows_of_a_group_are_together_in_the_order_they_had(
    rows: list[tuple[str | None, int]], blocks: int
) -> None:
    frame = pd.DataFrame(rows, columns=["name", "number"]).assign(x=np.arange(len(rows)) * 1.0)
    if frame["name"].isna().all():
        with pytest.raises(InputError, match="no row belongs to a group"):
            from_frame(frame, ["name", "number"], blocks)
        return
    panel = from_frame(frame, ["name", "number"], blocks)
    x = panel.columns["x"].values
    expected = {
        (str(name), str(number)): part["x"].tolist()
        for (name, number), part in frame.groupby(["name", "number"])
    }
    found = {
        key: x[first:last].tolist()
        for key, first, last in zip(panel.keys, panel.starts[:-1], panel.starts[1:], strict=True)
    }
    assert found == expected
    dealt = [block_of(key, blocks) for key in panel.keys]
    assert dealt == sorted(dealt)
    lost = int(frame["name"].isna().sum())
    assert panel.notes == ((f"{lost} rows belong to no group",) if lost else ())


def test_a_group_is_in_its_block_whatever_others_there_are() -> None:
    few = from_frame(pd.DataFrame({"g": ["a", "b", "c"], "x": 1.0}), ["g"], 4)
    many = from_frame(pd.DataFrame({"g": [f"{n}" for n in range(99)] + ["a", "b", "c"], "x": 1.0}), ["g"], 4)
    assert {*few.keys} < {*many.keys}
    assert [block_of((name,), 4) for name in "abcdef"] == [3, 1, 3, 3, 3, 3]  # kept jobs rely on it


def test_columns_are_numbers_or_texts() -> None:
    frame = pd.DataFrame(
        {
            "g": 1.0,
            "float": [1.5, np.nan],
            "nullable": pd.array([3, None], dtype="Int64"),
            "bool": [True, False],
            "text": ["b", None],
            "category": pd.Categorical(["y", "x"], categories=["x", "y", "z"]),
            "numbers": pd.Categorical([3, 4]),
            "time": pd.to_datetime(["2020-01-01", "2021-01-01"]),
            "complex": [1j, 2j],
        }
    )
    panel = from_frame(frame, ["g"])
    found = panel.columns
    assert panel.keys == [("1",)]
    np.testing.assert_array_equal(found["float"].values, [1.5, np.nan])
    np.testing.assert_array_equal(found["nullable"].values, [3.0, np.nan])
    np.testing.assert_array_equal(found["bool"].values, [1.0, 0.0])
    assert found["text"].levels == ("b",)
    np.testing.assert_array_equal(found["text"].values, [0, -1])
    assert found["category"].levels == ("x", "y", "z")
    np.testing.assert_array_equal(found["category"].values, [1, 0])
    assert found["numbers"].levels == (3, 4)
    np.testing.assert_array_equal(found["numbers"].values, [0, 1])
    assert {note.partition(":")[0] for note in panel.notes} == {"time", "complex"}


def test_texts_are_sorted_whatever_comes_first() -> None:
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        frame = pd.DataFrame({"g": 1, "k": ["d", "b", "a", "c"]}).iloc[order]
        assert from_frame(frame, ["g"]).columns["k"].levels == ("a", "b", "c", "d")


def test_two_groups_of_one_name_are_refused() -> None:
    frame = pd.DataFrame({"g": pd.Series(["1", 1], dtype=object), "x": 0.0})
    with pytest.raises(InputError, match="two groups"):
        from_frame(frame, ["g"])


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no such column") as caught:
        from_frame(pd.DataFrame({"x": [1.0]}), ["g"])
    assert caught.value.found == "g"


@settings(deadline=None)
@given(
    groups=st.lists(st.integers(-6, 6), min_size=1, max_size=40),
    kind=st.sampled_from(["int8", "int64", "Int64", "uint64", "float64", "str", "category"]),
    far=st.booleans(),
    blocks=st.sampled_from([1, 3]),
)
def test_rows_are_those_of_a_groupby(groups: list[int], kind: Any, far: bool, blocks: int) -> None:
    each = np.array(groups) + (6 if kind == "uint64" else 0)
    if far and kind != "int8":
        each = np.where(each == 5, 10**12, each)
    frame = pd.DataFrame({"g": pd.Series(each).astype(kind), "x": np.arange(len(each), dtype=float)})
    panel = from_frame(frame, ["g"], blocks)
    found = {
        key: panel.columns["x"].values[begin:end].tolist()
        for (key,), begin, end in zip(panel.keys, panel.starts, panel.starts[1:], strict=False)
    }
    expected = frame.groupby("g", observed=True)["x"].apply(list)
    names = [str(int(g)) if kind == "float64" else str(g) for g in expected.index.tolist()]
    assert found == dict(zip(names, expected.tolist(), strict=True))
