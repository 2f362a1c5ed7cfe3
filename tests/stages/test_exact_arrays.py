"""Values that NumPy would change, or types that it would drop, are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.stages.exact_values import exact_array

SCALARS = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.builds(np.float32, st.floats(width=32)),
    st.builds(np.datetime64, st.datetimes()),
    st.just(np.datetime64("1200-01-01", "D")),
    st.just(np.datetime64("2026-01-01", "ns")),
)
LISTS = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=4),
    st.lists(st.lists(SCALARS, min_size=2, max_size=2), max_size=3),
    *(st.lists(each, max_size=4).map(tuple) for each in (st.integers(), st.floats(), st.text(max_size=3))),
)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def is_text(value: object) -> bool:
    return isinstance(value, str | bytes)


@given(LISTS)
def test_each_value_is_in_the_array_or_all_are_refused(value: Any) -> None:
    try:
        array = exact_array(value, "x")
    except ValueError:
        return
    kept = array.ravel()
    assert len(kept) == len(leaves(value))
    for one, other in zip(leaves(value), kept):
        assert is_text(one) == is_text(other)
        if isinstance(one, np.datetime64):
            assert str(one) == str(other.astype(one.dtype))
            continue
        one, other = (each.item() if isinstance(each, np.generic) else each for each in (one, other))
        assert one == other or (one != one and other != other)


@pytest.mark.parametrize(
    "value",
    [
        1,
        2.5,
        "a",
        True,
        1j,
        [1, 2],
        [1, 2.5],
        [True, 2],
        (1.0, np.nan),
        [[1, 2], [3, 4]],
        ["a", "bcd"],
        [],
    ],
)
def test_what_numpy_can_hold_is_taken(value: Any) -> None:
    np.testing.assert_array_equal(exact_array(value, "x"), np.asarray(value))


@pytest.mark.parametrize("kind", [np.float16, ">f8", "M8[D]", "U3", "S2", "i4,f8"])
def test_arrays_are_taken_as_they_are(kind: Any) -> None:
    array = np.zeros((2, 3), kind).T
    assert exact_array(array, "x") is array
