"""Options of jobs are plain data; what is not is named with its type."""

from __future__ import annotations

import json
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shortloop.base.errors import InputError
from shortloop.keys.hashing import canonical
from shortloop.keys.options import check_options

Point = namedtuple("Point", "x y")


class Colour(Enum):
    RED = 1


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    A = "a"


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError


leaves: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8")),
)
plain = st.recursive(
    leaves,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text("ab.é"), inner),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=50)
@given(st.dictionaries(st.text("xy"), plain))
def test_plain_data_is_taken_and_read_back_as_it_is(options: dict[str, Any]) -> None:
    check_options("toy", options)
    again = json.loads(canonical(options))
    assert canonical(again) == canonical(options)
    check_options("toy", again)


BAD: list[tuple[Any, str, str]] = [
    ({1, 2}, "set: {1, 2}", "sorted list"),
    (frozenset("a"), "frozenset", "sorted list"),
    (Path("x.npz"), "PosixPath", "run.file(…)"),
    (PurePosixPath("x.npz"), "PurePosixPath", "run.file(…)"),
    (date(2020, 1, 2), "datetime.date", ".isoformat()"),
    (datetime(2020, 1, 2, tzinfo=UTC), "datetime.datetime", ".isoformat()"),
    (np.float64(1.5), "numpy.float64", ".item()"),
    (np.int64(1), "numpy.int64", ".item()"),
    (np.True_, "numpy.bool", ".item()"),
    (np.str_("a"), "numpy.str_", ".item()"),
    (np.arange(3), "numpy.ndarray", ".tolist()"),
    (float("nan"), "nan", "None"),
    (float("-inf"), "-inf", "None"),
    (1j, "complex", "plain data"),
    (b"x", "bytes", "plain data"),
    (bytearray(b"x"), "bytearray", "plain data"),
    (Decimal("1"), "decimal.Decimal", "plain data"),
    (Fraction(1, 2), "fractions.Fraction", "plain data"),
    (Colour.RED, "Colour", "plain data"),
    (Number.ONE, "Number", "int(…)"),
    (Word.A, "Word", "str(…)"),
    (Point(1, 2), "Point", "tuple(…)"),
    (OrderedDict(a=1), "OrderedDict", "dict(…)"),
    (range(3), "range", "plain data"),
    (object(), "object", "plain data"),
    (Silent(), "Silent: …", "plain data"),
    (print, "builtin_function_or_method", "plain data"),
    (int, "type", "plain data"),
    (1 << 5000, "5,001 bits", "text"),
    ("\ud800", r"'\ud800'", "plain data"),
    ({1: "a"}, "key of type int: 1", "text"),
    ({None: "a"}, "key of type NoneType", "text"),
    ({"\udc80": "a"}, "half a character", "plain data"),
]


@pytest.mark.parametrize(("value", "found", "hint"), BAD, ids=lambda each: type(each).__name__)
def test_what_is_not_plain_is_named(value: Any, found: str, hint: str) -> None:
    for options, name in (
        ({"fine": 1, "wrong": value}, "wrong"),
        ({"settings": {"list": [1, (2, value)]}}, "settings.list[1][1]"),
    ):
        with pytest.raises(InputError) as caught:
            check_options("toy", options)
        error = caught.value
        assert error.problem == "an option of toy is not plain data"
        assert error.field == f"option {name}"
        assert found in str(error.found)
        assert hint in str(error.hint)
        assert "finite" in str(error.expected)


def test_what_holds_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for value in (endless, {"a": endless}):
        with pytest.raises(InputError, match="in each other"):
            check_options("toy", {"wrong": value})


def test_a_name_that_is_no_text() -> None:
    with pytest.raises(InputError, match="a key of type int"):
        check_options("toy", {1: 2})  # type: ignore[dict-item]
