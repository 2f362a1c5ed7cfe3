"""Types of the fields of a settings file: all that pydantic makes of what TOML can say."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.settings.base import Settings
from shortloop.settings.read import read_settings


class Kind(Enum):
    A = "a"
    B = "b"


@dataclass
class Conf:
    x: int
    y: float = 1.0


class Inner(Settings):
    x: int = 1


class Whole(Settings):
    tags: list[str] = Field(default_factory=list)
    names: set[str] = Field(default_factory=set)
    numbers: frozenset[int] = frozenset()
    where: Path = Path()
    kind: Kind = Kind.A
    kinds: list[Kind] = Field(default_factory=list)
    conf: Conf = Conf(1)
    confs: list[Conf] = Field(default_factory=list)
    inner: Inner = Inner()
    inners: list[Inner] = Field(default_factory=list)
    word: Literal["a", "b"] = "a"
    day: dt.date = dt.date(2020, 1, 1)
    at: dt.datetime | None = None
    clock: dt.time | None = None
    price: Decimal = Decimal(1)
    pair: tuple[int, float] = (1, 2.0)
    lists: dict[str, list[float]] = Field(default_factory=dict)
    by_kind: dict[Kind, int] = Field(default_factory=dict)
    by_number: dict[int, str] = Field(default_factory=dict)
    any: Any = None
    day_or_text: dt.date | str = ""
    x: float = 0
    n: int = 0
    yes: bool = False
    text: str = ""
    number_or_text: int | str = 0


def read(folder: Path, text: str) -> Whole:
    file = folder / "work.toml"
    file.write_text(text, encoding="utf-8")
    return read_settings(file, Whole, noun="settings", variable="V")


UTC = dt.UTC
TAKEN = [
    ('tags = ["b", "a"]', "tags", ["b", "a"]),
    ('names = ["b", "a", "b"]', "names", {"a", "b"}),
    ("numbers = [2, 1]", "numbers", frozenset({1, 2})),
    ('where = "a/b"', "where", Path("a/b")),
    ('kind = "b"', "kind", Kind.B),
    ('kinds = ["a", "b"]', "kinds", [Kind.A, Kind.B]),
    ("conf = {x = 2}", "conf", Conf(2, 1.0)),
    ("[[confs]]\nx = 1\n[[confs]]\nx = 2\ny = 3", "confs", [Conf(1), Conf(2, 3.0)]),
    ("[inner]\nx = 2", "inner", Inner(x=2)),
    ("[[inners]]\nx = 2", "inners", [Inner(x=2)]),
    ('word = "b"', "word", "b"),
    ("day = 2024-02-29", "day", dt.date(2024, 2, 29)),
    ('day = "2024-02-29"', "day", dt.date(2024, 2, 29)),
    ("at = 2024-02-29T10:00:00Z", "at", dt.datetime(2024, 2, 29, 10, tzinfo=UTC)),
    ("clock = 07:32:00", "clock", dt.time(7, 32)),
    ('price = "1.10"', "price", Decimal("1.10")),
    ("pair = [1, 2]", "pair", (1, 2.0)),
    ("lists = {b = [1], a = []}", "lists", {"b": [1.0], "a": []}),
    ("by_kind = {b = 1}", "by_kind", {Kind.B: 1}),
    ('by_number = {2 = "b"}', "by_number", {2: "b"}),
    ("any = 2024-02-29", "any", dt.date(2024, 2, 29)),
    ("day_or_text = 2024-02-29", "day_or_text", dt.date(2024, 2, 29)),
    ('number_or_text = "5"', "number_or_text", "5"),
    ("n = 99999999999999999999", "n", 99999999999999999999),
    ('x = 1\nday = 2024-02-29\nkind = "b"\nwhere = "w"', "where", Path("w")),
]


@pytest.mark.parametrize(("text", "field", "value"), TAKEN)
def test_all_that_pydantic_takes(tmp_path: Path, text: str, field: str, value: object) -> None:
    found = getattr(read(tmp_path, text), field)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "field", "said"),
    [
        ('tags = "a"', "tags", "a list in brackets"),
        ('names = "a"', "names", "a list in brackets"),
        ("tags = [1]", "tags.0", "valid string"),
        ('kind = "c"', "kind", "'a' or 'b'"),
        ("conf = {x = 1, z = 2}", "conf.z", "unknown key"),
        ("conf = {y = 2}", "conf.x", "missing a key"),
        ("[inner]\nz = 2", "inner.z", "unknown key"),
        ('x = "1"', "x", "valid number"),
        ("x = true", "x", "valid number"),
        ("n = 1.0", "n", "valid integer"),
        ("n = true", "n", "valid integer"),
        ("yes = 1", "yes", "valid boolean"),
        ("text = 1", "text", "valid string"),
        ("text = 2024-02-29", "text", "valid string"),
        ('day = 2024-02-29\nx = "1"', "x", "valid number"),
        ("x = nan", "x", "finite"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, text: str, field: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, text)
    assert caught.value.field == field
