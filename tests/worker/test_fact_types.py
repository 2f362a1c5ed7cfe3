"""Facts come back with their types and values, or are refused with what to do."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.worker.fact_types import NotPlain, as_given, with_types

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.builds(np.float64, st.floats()),
    st.builds(np.float32, st.floats(width=32)),
    st.builds(np.int8, st.integers(-128, 127)),
    st.builds(np.uint64, st.integers(0, 2**64 - 1)),
    st.builds(np.bool_, st.booleans()),
    st.builds(np.str_, st.text().filter(lambda text: not text.endswith("\0"))),
)
FACTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text(), inner),
        st.dictionaries(st.text(), inner).map(collections.OrderedDict),
        st.dictionaries(st.text(), st.integers()).map(collections.Counter),
    ),
    max_leaves=20,
)


def back(fact: object) -> Any:
    """Through the file."""
    return as_given(*json.loads(json.dumps(with_types(fact), allow_nan=False)))


def same(one: object, other: object) -> bool:
    """Of one type and value, also inside, in one order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return same([*one.items()], [*other.items()])
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("d", one) == struct.pack("d", other) or (math.isnan(one) and math.isnan(other))
    return bool(one == other) or (one != one and other != other)


@given(FACTS)
def test_facts_come_back_as_they_were(fact: object) -> None:
    assert same(back(fact), fact)


def test_nothing_that_comes_back_is_shared() -> None:
    plain, types = with_types({"a": [1, 2], "b": ([3],)})
    one: Any = as_given(plain, types)
    one["a"].append(3)
    one["b"][0].append(4)
    assert as_given(plain, types) == {"a": [1, 2], "b": ([3],)}


def test_what_json_can_hold_is_kept_as_json() -> None:
    fact = {"a": [1, 2.5, None, True, "x"], "b": {"c": []}}
    assert with_types(fact) == (fact, None)


class Level(enum.IntEnum):
    LOW = 1


class Point(collections.namedtuple("Point", "x y")):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({1, 2}, "sorted"),
        (Level.LOW, ".value"),
        (Point(1, 2), "tuple(x)"),
        (collections.defaultdict(int, a=1), "dict(x)"),
        ({1: "a"}, "str(key)"),
        ({True: "a"}, "str(key)"),
        ({None: "a"}, "str(key)"),
        (datetime.date(2026, 1, 1), "isoformat"),
        (datetime.timedelta(1), "total_seconds"),
        (decimal.Decimal("1.1"), "str(x)"),
        (fractions.Fraction(1, 3), "str(x)"),
        (1j, "np.complex128"),
        (b"x", "a name with an ending"),
        (pathlib.Path("x"), "str(x)"),
        (np.arange(2), "tolist"),
        (np.datetime64("2026-01-01"), "tolist"),
        (np.longdouble(1), "tolist"),
        (range(3), "list(x)"),
        ((each for each in "ab"), "list(x)"),
        (type("Text", (str,), {})("a"), "str(x)"),
        (object(), "numbers"),
    ],
)
def test_what_would_come_back_as_something_else_is_refused(value: object, hint: str) -> None:
    for fact, where in ((value, ""), ({"a": [0, value]}, "['a'][1]"), ((value,), "[0]")):
        with pytest.raises(NotPlain) as caught:
            with_types(fact)
        assert hint in caught.value.hint
        assert caught.value.where == where


def test_a_list_that_is_part_of_itself_is_refused() -> None:
    fact: list[Any] = [1]
    fact.append(fact)
    with pytest.raises(NotPlain, match="part of itself"):
        with_types(fact)
