"""Options of stages: what a build script gives, what the key holds, what the stage gets, what is refused."""

from __future__ import annotations

import datetime as dt
import json
import types
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr, model_validator
from refusal import refusal
from typing_extensions import TypedDict

from shortloop.base.errors import InputError
from shortloop.keys.hashing import canonical
from shortloop.keys.options import annotations_of, check_options, plain_of
from shortloop.stages.stage import Stage
from shortloop.stages.task import typed_options


class Kind(Enum):
    A = "a"
    B = "b"


class Level(IntEnum):
    LOW = 1


class Pair(NamedTuple):
    left: int
    right: int


class Given(TypedDict):
    alpha: float


@dataclass(frozen=True)
class Conf:
    x: int
    y: float = 1
    names: tuple[str, ...] = ()
    more: dict[str, float] = field(default_factory=dict)


class Model(BaseModel):
    x: int
    y: float = 1
    tags: set[str] = set()


class Window(BaseModel):
    start: float = 0.0
    span: tuple[float, float] = (0.0, 1.0)

    @model_validator(mode="before")
    @classmethod
    def as_given(cls, values: object) -> object:
        """See the fields before they are validated."""
        return values


class Outer(BaseModel):
    inner: list[Conf]
    kinds: dict[Kind, frozenset[int]] = {}


class Hidden(BaseModel):
    seen: int = 1
    unseen: int = Field(1, exclude=True)


class Secret(BaseModel):
    word: SecretStr


def stage_of(hint: object, default: object = ...) -> type[Stage]:
    body: dict[str, object] = {"__module__": __name__, "__annotations__": {"v": hint}}
    body |= {} if default is ... else {"v": default}
    return types.new_class("Asked", (Stage,), exec_body=lambda space: space.update(body))


def sent(hint: object, value: object) -> Any:
    """What goes to the job, as text."""
    plain = plain_of(annotations_of(stage_of(hint))["v"], value)
    check_options("asked", {"v": plain})
    return json.loads(json.dumps(plain))


def got(hint: object, value: object) -> Any:
    return typed_options(stage_of(hint), {"v": sent(hint, value)}, {})["v"]


def alike(one: Any, other: Any) -> bool:
    """Equal, and of one type, inside of lists and dicts as well."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, Mapping):
        return [*one] == [*other] and all(map(alike, one.values(), other.values()))
    return not isinstance(one, list | tuple) or all(map(alike, one, other))


SAME = ...  # the stage gets what was given
TABLE: list[tuple[Any, Any, Any]] = [
    (float, 1, 1.0),
    (float, -0.0, SAME),
    (Optional[float], 3, 3.0),  # noqa: UP045
    (float | int, 3, SAME),
    (float | int, 2.9, SAME),
    (str | float, 0.1, SAME),
    (int | str, "7", SAME),
    (bool | int, True, SAME),
    (Annotated[float, "a width"], 1, 1.0),
    (Literal["auto"] | float, 2, 2.0),
    (Any, True, SAME),
    (list[float], (1, 2), [1.0, 2.0]),
    (tuple[float, ...], (1, 0.5), (1.0, 0.5)),
    (tuple[str, float], ("a", 1), ("a", 1.0)),
    (list[str] | str, ["a"], SAME),
    (dict[str, float], {"b": 1, "a": 0.5}, {"b": 1.0, "a": 0.5}),
    (dict[str, float | None], {"b": None, "a": 2}, {"b": None, "a": 2.0}),
    (dict[int, str], {2: "a", 1: "b"}, SAME),
    (dict[Kind, int], {Kind.B: 1}, SAME),
    (set[str], ["b", "a", "b"], {"a", "b"}),
    (frozenset[int], frozenset({3, 1}), SAME),
    (Kind, "a", Kind.A),
    (Level, Level.LOW, SAME),
    (Kind | str, "a", SAME),
    (dt.date, "2020-01-02", dt.date(2020, 1, 2)),
    (dt.datetime, dt.datetime(2020, 1, 2, 3, 4, 5, 6), SAME),
    (dt.date | str, "2020-01-02", SAME),
    (dt.time, dt.time(1, 2, 3), SAME),
    (dt.timedelta, -dt.timedelta(hours=30), SAME),
    (Path, "a/b", Path("a/b")),
    (Decimal, "1.10", Decimal("1.10")),
    (UUID, UUID(int=5), SAME),
    (bytes, b"abc", SAME),
    (Pair, Pair(1, 2), SAME),
    (Given, {"alpha": 1}, {"alpha": 1.0}),
    (Conf, Conf(1), Conf(1, 1.0)),
    (Conf, {"x": 1, "more": {"b": 2, "a": 1}}, Conf(1, 1.0, (), {"b": 2.0, "a": 1.0})),
    (Model, Model(x=1, tags={"b", "a"}), SAME),
    (Window, Window(span=(-0.2, 0.0)), SAME),
    (Outer, Outer(inner=[Conf(1, 2.0)], kinds={Kind.A: frozenset({2, 1})}), SAME),
    (dict, Model(x=1, y=2, tags={"b", "a"}), {"x": 1, "y": 2.0, "tags": ["a", "b"]}),
]


@pytest.mark.parametrize(("hint", "value", "expected"), TABLE)
def test_the_annotation_decides_what_a_stage_gets(hint: Any, value: Any, expected: Any) -> None:
    assert alike(got(hint, value), value if expected is SAME else expected)


WRONG: list[tuple[Any, Any]] = [
    (float, "0.5"),
    (float, True),
    (int, "1"),
    (int, True),
    (bool, 1),
    (list[str], "ab"),
    (dict[str, int], {"a": "1"}),
    (Kind, "c"),
    (Any, Kind.A),
    (dt.date, "soon"),
    (Any, {1: "a"}),
    (Conf, {"x": 1, "z": 2}),
    (Model, {"x": "1"}),
    (Hidden, Hidden(unseen=2)),
    (dict, Secret(word=SecretStr("a"))),
    (float, float("nan")),
    (complex, 1j),
]


@pytest.mark.parametrize(("hint", "value"), WRONG)
def test_what_the_annotation_does_not_hold_is_refused(hint: Any, value: Any) -> None:
    with pytest.raises(InputError):
        got(hint, value)


@pytest.mark.parametrize(
    ("hint", "one", "other"),
    [
        (float, 1, 1.0),
        (list[float], [1], (1.0,)),
        (set[int], {3, 1, 2}, [2, 3, 1, 1]),
        (Kind, Kind.A, "a"),
        (dt.date, dt.date(2020, 1, 2), "2020-01-02"),
        (Conf, Conf(1), {"x": 1, "y": 1.0}),
        (Model, Model(x=1), {"x": 1, "y": 1}),
    ],
)
def test_equal_values_are_sent_as_the_same_text(hint: Any, one: Any, other: Any) -> None:
    assert json.dumps(sent(hint, one)) == json.dumps(sent(hint, other))


scalars: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (int, st.integers()),
    (bool, st.booleans()),
    (str, st.text()),
    (Kind, st.sampled_from(Kind)),
    (dt.date, st.dates()),
    (dt.timedelta, st.timedeltas(dt.timedelta(-(10**5)), dt.timedelta(10**5))),
    (Decimal, st.decimals(-(10**6), 10**6, places=3)),
]


def around(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Types with types inside, with the values that they hold."""
    return inner.flatmap(
        lambda of: st.sampled_from(
            [
                (list[of[0]], st.lists(of[1], max_size=3)),  # type: ignore[valid-type]
                (tuple[of[0], ...], st.lists(of[1], max_size=3).map(tuple)),  # type: ignore[valid-type]
                (dict[str, of[0]], st.dictionaries(st.text(max_size=3), of[1], max_size=3)),  # type: ignore[valid-type]
                (of[0] | None, st.none() | of[1]),
            ]
        )
    )


@given(st.recursive(st.sampled_from(scalars), around, max_leaves=3), st.data())
def test_a_value_of_its_type_comes_as_it_was_given(of: tuple[Any, Any], data: st.DataObject) -> None:
    hint, values = of
    value = data.draw(values)
    assert alike(got(hint, value), value)


numbers = st.integers(-5, 5) | st.floats(-5, 5) | st.booleans() | st.text(max_size=2) | st.none()


@given(numbers, st.sampled_from([1, 0, 0.5, "x", None, True]))
def test_the_default_decides_nothing(value: Any, default: Any) -> None:
    asked = stage_of(int | float | bool | str | None, default)
    plain = plain_of(annotations_of(asked)["v"], value)
    assert alike(typed_options(asked, {"v": plain}, {})["v"], value)
    assert canonical(plain) == canonical(value)


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


BAD: list[tuple[Any, str, str]] = [
    ({1, 2}, "set: {1, 2}", "sorted list"),
    (Path("x.npz"), "PosixPath", "run.file(…)"),
    (dt.datetime(2020, 1, 2, tzinfo=dt.UTC), "datetime.datetime", ".isoformat()"),
    (np.float64(1.5), "numpy.float64", ".item()"),
    (np.arange(3), "numpy.ndarray", ".tolist()"),
    (float("-inf"), "-inf", "None"),
    (Decimal("1"), "decimal.Decimal", "plain data"),
    (Colour.RED, "Colour", ".value"),
    (pd.Series([1]), "pandas.Series", ".tolist()"),
    (Number.ONE, "Number", "int(…)"),
    (Point(1, 2), "Point", "tuple(…)"),
    (Silent(), "Silent: <Silent instance", "plain data"),
    (1 << 5000, "5,001 bits", "text"),
    ("\ud800", r"'\ud800'", "plain data"),
    ({1: "a"}, "key of type int: 1", "text"),
    ({"\udc80": "a"}, "half a character", "plain data"),
]


@pytest.mark.parametrize(("value", "found", "hint"), BAD, ids=lambda each: type(each).__name__)
def test_what_is_not_plain_is_named(value: Any, found: str, hint: str) -> None:
    for options, name in (
        ({"fine": 1, "wrong": value}, "wrong"),
        ({"settings": {"list": [1, (2, value)]}}, "settings.list[1][1]"),
    ):
        with refusal("", found, hint, "finite", field=f"option {name}") as caught:
            check_options("toy", options)
        assert caught.value.problem == "an option of toy is not plain data"


def test_what_holds_itself_or_has_a_name_that_is_no_text() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for value in (endless, {"a": endless}):
        with refusal("in each other"):
            check_options("toy", {"wrong": value})
    with refusal("a key of type int"):
        check_options("toy", {1: 2})  # type: ignore[dict-item]
