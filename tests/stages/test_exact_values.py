"""Facts and arrays come back with their types and values, or are refused."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import json
import math
import pathlib
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.stages.exact_values import NotPlain, as_given, exact_array, with_types

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
    st.dates(),
    st.datetimes(timezones=st.just(datetime.UTC) | st.none()).map(lambda each: each.replace(fold=0)),
    st.times().map(lambda each: each.replace(fold=0)),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.complex_numbers(),
    st.binary(max_size=1000),
    st.uuids(),
    st.sampled_from([pathlib.Path("a/b"), pathlib.PurePosixPath("/")]),
)
KEYS = SCALARS.filter(lambda each: each == each) | st.tuples(st.integers(), st.text())
FACTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text(), inner),
        st.dictionaries(st.text(), inner).map(collections.OrderedDict),
        st.dictionaries(st.text(), st.integers()).map(collections.Counter),
        st.dictionaries(KEYS, inner),
        st.sets(KEYS),
        st.frozensets(KEYS),
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
    if isinstance(one, set | frozenset) and isinstance(other, set | frozenset):
        return same(sorted(map(repr, one)), sorted(map(repr, other)))
    if isinstance(one, complex | decimal.Decimal):
        return repr(one) == repr(other)
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("d", one) == struct.pack("d", other) or (math.isnan(one) and math.isnan(other))
    return bool(one == other) or (one != one and other != other)


@given(FACTS)
def test_facts_come_back_as_they_were(fact: object) -> None:
    assert same(back(fact), fact)


class Level(enum.IntEnum):
    LOW = 1


class Point(collections.namedtuple("Point", "x y")):
    __slots__ = ()


class Zone(datetime.tzinfo):
    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(hours=1)

    def dst(self, moment: datetime.datetime | None) -> None:
        return None

    def tzname(self, moment: datetime.datetime | None) -> str:
        return "own"


@pytest.mark.parametrize(
    "value",
    [
        Level.LOW,
        Point(1, 2),
        collections.defaultdict(int, a=1),
        datetime.datetime(2026, 1, 1, tzinfo=Zone()),
        bytes(1001),
        np.arange(2),
        np.datetime64("2026-01-01"),
        np.longdouble(1),
        range(3),
        type("Text", (str,), {})("a"),
        object(),
    ],
)
def test_what_json_would_give_back_as_something_else_is_no_plain_fact(value: object) -> None:
    for fact in (value, {"a": [0, value]}, (value,), {1: value}):
        with pytest.raises(NotPlain):
            with_types(fact)
    loop: list[Any] = [value]
    loop[0] = loop
    with pytest.raises(NotPlain, match="part of itself"):
        with_types(loop)


NUMPY_SCALARS = st.one_of(
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
    NUMPY_SCALARS,
    st.lists(NUMPY_SCALARS, max_size=4),
    st.lists(st.lists(NUMPY_SCALARS, min_size=2, max_size=2), max_size=3),
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
