"""A settings file is read, or one message says what it is instead."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field
from refusal import refusal
from settings_toy import Electric, Gas, Recipe, read

from shortloop.base.errors import InputError
from shortloop.settings.base import Settings
from shortloop.settings.paths import expand_path
from shortloop.settings.read import WrongSettings, documented_fields, read_settings, settings_path


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    text = 'name = "soup"\nrange = [2, 6]\noven.kind = "gas"\n[[steps]]\nminutes = false\n[parts.a]\n'
    recipe = read(tmp_path / "r.toml", text)
    assert (recipe.name, recipe.servings, recipe.range, recipe.oven) == ("soup", 4, (2, 6), Gas())
    assert recipe.steps[0].minutes is None
    assert list(recipe.parts) == ["a"]
    assert read(tmp_path / "r.toml", '\ufeffname = "soup"').oven == Electric()  # a mark of the byte order


ENDLESS = [
    *(f"servings = {sign}{'9' * 5000}{end}" for sign, end in (("-", ""), ("[", "]"), ("", ".0"))),
    *(f"servings = 0x{'f' * 5000}", f"servings = 0b{'1' * 20_000}", f"{'9' * 5000} = 1"),
    *(f"servings = 1e{'9' * 10}", f"servings = {'{a = ' * 5000}{'}' * 5000}", f"servings.{'a.' * 5000}a = 1"),
    *(f"[{'a.' * 5000}a]", f"[[{'a.' * 5000}a]]", "servings = {a = {a = {a = 1}}}"),
]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"name = ", "the recipe file is not valid TOML"),
        ("name = 'größer'".encode("latin-1"), "the recipe file is not valid TOML"),
        (f"servings = {'9' * 5000}".encode(), "the recipe file holds a number too large"),
        (f"servings = {'[' * 5000}".encode(), "the recipe file holds a number too large"),
        *((text.encode(), "the recipe file ") for text in ENDLESS),
        ('name = "soup"'.encode("utf-16"), "the recipe file is not valid TOML"),
        (Path.exists, "the recipe file cannot be read"),
        (Path.mkdir, "the recipe file cannot be read"),
        (lambda file: file.symlink_to("nowhere"), "the recipe file cannot be read"),
        (lambda file: file.symlink_to(file.name), "the recipe file cannot be read"),
        (lambda file: file.symlink_to("/dev/zero"), "the recipe file is not a regular file"),
        (os.mkfifo, "the recipe file is not a regular file"),  # which is not waited for
    ],
)
def test_what_is_none(tmp_path: Path, content: bytes | Callable[[Path], object], problem: str) -> None:
    file = tmp_path / "r.toml"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        content(file)
    with refusal("", "RECIPE=FILE" if content is Path.exists else "", file=file) as caught:
        read_settings(file, Recipe, noun="recipe", variable="RECIPE")
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "/far/default.toml"),
        ({"FIRST": "", "RECIPE": ""}, "/far/default.toml"),
        ({"RECIPE": "mine.toml"}, "/base/mine.toml"),
        ({"RECIPE": "a/../b"}, "/base/b"),
        ({"FIRST": "one.toml", "RECIPE": "mine.toml"}, "/base/one.toml"),
        ({"FIRST": "", "RECIPE": "mine.toml"}, "/base/mine.toml"),
    ],
)
def test_a_variable(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert settings_path(["FIRST", "RECIPE"], Path("/far/default.toml"), Path("/base")) == Path(expected)


def test_paths_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def expanded(written: str) -> Path:
        return expand_path(written, "/recipes/r.toml", field="folder", what="the folder of the pictures")

    monkeypatch.delenv("PICTURES", raising=False)
    assert expanded("../x") == Path("/x")
    assert expanded("${PICTURES=a b}/y") == Path("/recipes/a b/y")
    with refusal(
        "PICTURES is not set",
        field="folder",
        file="/recipes/r.toml",
        hint="set PICTURES to the folder of the pictures",
    ):
        expanded("${PICTURES}/y")
    monkeypatch.setenv("PICTURES", "/server")
    assert expanded("${PICTURES=a b}/y") == Path("/server/y")


def test_every_field_is_listed_with_its_text() -> None:
    found = dict(documented_fields(Recipe))
    assert list(found)[:6] == ["name", "servings", "range", "oven", "steps", "parts"]
    assert found["servings"] == "for how many; default 4"
    assert found["oven[gas].flame"] == found["steps.stove[gas].flame"] == "its size, mm; default 3"
    assert found["parts.minutes"] == found["steps.minutes"]


NAME = 'name = "soup"\n'


def mistake(folder: Path, text: str) -> InputError:
    file = folder / "recipe.toml"
    with refusal("", "recipe file", file=file) as caught:
        read(file, text)
    assert caught.value.hint
    return caught.value


WRONG = [
    # what is written, at what key it is told, what is shown as found, what was expected
    ("servings = '4'", "servings", "'4'", "integer"),
    ("range = [1]", "range", "[1]", "2 values"),
    ("range = [1, 'x']", "range.1", "'x'", "integer"),
    ("oven = 3", "oven", "3", "table"),
    ("oven.kind = 'gas'\noven.flame = 0", "oven.flame", "0", "greater than or equal to 1"),
    ("oven.kind = 'electric'\noven.watts = 'x'", "oven.watts", "'x'", "number or 'auto'"),
    ("oven.kind = 'steam'", "oven.kind", "'steam'", "'gas', 'electric'"),
    ("[[steps]]\n[[steps]]\nstove.kind = 'gas'\nstove.flame = 'x'", "steps.1.stove.flame", "'x'", "integer"),
    ("[[steps]]\nstove.kind = 'steam'", "steps.0.stove.kind", "'steam'", "'gas', 'electric'"),
    # A name of the user's that is also a tag, or a key.
    ("[parts.gas]\nstove.kind = 'gas'\nstove.flame = 'x'", "parts.gas.stove.flame", "'x'", "integer"),
    ("[parts.minutes]\nminutes = 'x'", "parts.minutes.minutes", "'x'", "number"),
]


def test_other_mistakes_are_counted_and_ways_to_be_right_are_not(tmp_path: Path) -> None:
    """Those of the record's own checks name the field."""
    error = mistake(tmp_path, NAME + "servings = 0\nx = 1\n[[steps]]\nminutes = 'x'")
    assert error.problem.endswith("(and 2 more)")
    assert isinstance(error, WrongSettings)
    assert [each.field for each in error.every] == ["servings", "steps.0.minutes", "x"]
    error = mistake(tmp_path, NAME + "oven.kind = 'electric'\noven.watts = 'x'")
    assert "more" not in error.problem
    error = mistake(tmp_path, 'name = "nothing"')
    assert (error.field, error.found, error.expected) == ("name", "there is no such dish", None)
    assert mistake(tmp_path, "").field == "name"


@pytest.mark.parametrize(("text", "field", "found", "expected"), WRONG)
def test_wrong_value(tmp_path: Path, text: str, field: str, found: str, expected: str) -> None:
    error = mistake(tmp_path, NAME + text)
    assert error.problem == "the recipe file has a wrong value"
    assert (error.field, error.found) == (field, found)
    assert expected in str(error.expected)


@pytest.mark.parametrize(
    ("text", "problem", "field", "hint", "known"),
    [
        ("serving = 4", "unknown", "serving", "'servings'?", "name, oven, parts, range, servings, steps"),
        ("oven.kind = 'gas'\noven.watts = 4", "unknown", "oven.watts", "remove the key", "flame, kind"),
        ("[[steps]]\nminute = 4", "unknown", "steps.0.minute", "did you mean 'minutes'?", "minutes, stove"),
        ("[parts.sauce]\nflame = 4", "unknown", "parts.sauce.flame", "remove the key", "minutes, stove"),
        (
            "[parts.gas]\nstove = {kind = 'electric', watt = 4}",
            "unknown",
            "parts.gas.stove.watt",
            "",
            "kind, watts",
        ),
        ("oven.flame = 3", "missing", "oven.kind", "add 'kind'", None),
        ("[[steps]]\n[steps.stove]", "missing", "steps.0.stove.kind", "add 'kind'", None),
        ("[parts.gas.stove]", "missing", "parts.gas.stove.kind", "add 'kind'", None),
    ],
)
def test_unknown_or_missing_key(
    tmp_path: Path, text: str, problem: str, field: str, hint: str, known: str | None
) -> None:
    error = mistake(tmp_path, NAME + text)
    assert problem in error.problem
    assert (error.field, error.expected) == (field, known)
    assert hint in str(error.hint)
    assert error.found == (field.split(".")[-1] if known else None)


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
    where: Path = Path()
    kind: Kind = Kind.A
    conf: Conf = Conf(1)
    confs: list[Conf] = Field(default_factory=list)
    inner: Inner = Inner()
    day: dt.date = dt.date(2020, 1, 1)
    at: dt.datetime | None = None
    price: Decimal = Decimal(1)
    pair: tuple[int, float] = (1, 2.0)
    by_kind: dict[Kind, int] = Field(default_factory=dict)
    any: Any = None
    day_or_text: dt.date | str = ""
    x: float = 0
    n: int = 0
    yes: bool = False
    text: str = ""


def read_whole(folder: Path, text: str) -> Whole:
    file = folder / "work.toml"
    file.write_text(text, encoding="utf-8")
    return read_settings(file, Whole, noun="settings", variable="V")


UTC = dt.UTC
TAKEN = [
    ('tags = ["b", "a"]', "tags", ["b", "a"]),
    ('names = ["b", "a", "b"]', "names", {"a", "b"}),
    ('where = "a/b"', "where", Path("a/b")),
    ('kind = "b"', "kind", Kind.B),
    ("conf = {x = 2}", "conf", Conf(2, 1.0)),
    ("[[confs]]\nx = 1\n[[confs]]\nx = 2\ny = 3", "confs", [Conf(1), Conf(2, 3.0)]),
    ("[inner]\nx = 2", "inner", Inner(x=2)),
    ("day = 2024-02-29", "day", dt.date(2024, 2, 29)),
    ('day = "2024-02-29"', "day", dt.date(2024, 2, 29)),
    ("at = 2024-02-29T10:00:00Z", "at", dt.datetime(2024, 2, 29, 10, tzinfo=UTC)),
    ('price = "1.10"', "price", Decimal("1.10")),
    ("pair = [1, 2]", "pair", (1, 2.0)),
    ("by_kind = {b = 1}", "by_kind", {Kind.B: 1}),
    ("any = 2024-02-29", "any", dt.date(2024, 2, 29)),
    ("day_or_text = 2024-02-29", "day_or_text", dt.date(2024, 2, 29)),
    ('x = 1\nday = 2024-02-29\nkind = "b"\nwhere = "w"', "where", Path("w")),
]


@pytest.mark.parametrize(("text", "field", "value"), TAKEN)
def test_all_that_pydantic_takes(tmp_path: Path, text: str, field: str, value: object) -> None:
    found = getattr(read_whole(tmp_path, text), field)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "field", "said"),
    [
        ('tags = "a"', "tags", "a list in brackets"),
        ("tags = [1]", "tags.0", "valid string"),
        ('kind = "c"', "kind", "'a' or 'b'"),
        ("conf = {x = 1, z = 2}", "conf.z", "unknown key"),
        ("conf = {y = 2}", "conf.x", "missing a key"),
        ("[inner]\nz = 2", "inner.z", "unknown key"),
        ('x = "1"', "x", "valid number"),
        ("n = true", "n", "valid integer"),
        ("yes = 1", "yes", "valid boolean"),
        ("text = 2024-02-29", "text", "valid string"),
        ('day = 2024-02-29\nx = "1"', "x", "valid number"),
        ("x = nan", "x", "finite"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, text: str, field: str, said: str) -> None:
    with refusal(said, field=field):
        read_whole(tmp_path, text)
