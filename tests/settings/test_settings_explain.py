"""What is wrong with a settings file is told by file, key, what was found and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest
from settings_toy import read

from shortloop.base.errors import InputError
from shortloop.settings.read import WrongSettings

NAME = 'name = "soup"\n'


def mistake(folder: Path, text: str) -> InputError:
    file = folder / "recipe.toml"
    with pytest.raises(InputError) as caught:
        read(file, text)
    assert caught.value.file == str(file)
    assert caught.value.hint
    assert "recipe file" in caught.value.problem
    return caught.value


WRONG = [
    # what is written, at what key it is told, what is shown as found, what was expected
    ("servings = 0", "servings", "0", "greater than or equal to 1"),
    ("servings = '4'", "servings", "'4'", "integer"),
    ("range = [1]", "range", "[1]", "2 values"),
    ("range = [1, 'x']", "range.1", "'x'", "integer"),
    ("oven = 3", "oven", "3", "table"),
    ("oven.kind = 'gas'\noven.flame = 0", "oven.flame", "0", "greater than or equal to 1"),
    ("oven.kind = 'electric'\noven.watts = 'x'", "oven.watts", "'x'", "number or 'auto'"),
    ("oven.kind = 'steam'", "oven.kind", "'steam'", "'gas', 'electric'"),
    ("[[steps]]\nminutes = 0", "steps.0.minutes", "0", "greater than 0"),
    ("[[steps]]\n[[steps]]\nstove.kind = 'gas'\nstove.flame = 'x'", "steps.1.stove.flame", "'x'", "integer"),
    ("[[steps]]\nstove.kind = 'steam'", "steps.0.stove.kind", "'steam'", "'gas', 'electric'"),
    ("[parts.sauce]\nminutes = 'x'", "parts.sauce.minutes", "'x'", "number"),
    # A name of the user's that is also a tag, or a key.
    ("[parts.gas]\nstove.kind = 'gas'\nstove.flame = 'x'", "parts.gas.stove.flame", "'x'", "integer"),
    ("[parts.minutes]\nminutes = 'x'", "parts.minutes.minutes", "'x'", "number"),
    ("parts = 3", "parts", "3", "table"),
]


@pytest.mark.parametrize(("text", "field", "found", "expected"), WRONG)
def test_wrong_value(tmp_path: Path, text: str, field: str, found: str, expected: str) -> None:
    error = mistake(tmp_path, NAME + text)
    assert error.problem == "the recipe file has a wrong value"
    assert (error.field, error.found) == (field, found)
    assert expected in str(error.expected)


UNKNOWN = [
    ("serving = 4", "serving", "did you mean 'servings'?", "name, oven, parts, range, servings, steps"),
    ("oven.kind = 'gas'\noven.watts = 4", "oven.watts", "remove the key", "flame, kind"),
    ("[[steps]]\nminute = 4", "steps.0.minute", "did you mean 'minutes'?", "minutes, stove"),
    ("[parts.sauce]\nflame = 4", "parts.sauce.flame", "remove the key", "minutes, stove"),
    ("[parts.gas]\nstove.kind = 'electric'\nstove.watt = 4", "parts.gas.stove.watt", None, "kind, watts"),
]


@pytest.mark.parametrize(("text", "field", "hint", "known"), UNKNOWN)
def test_unknown_key(tmp_path: Path, text: str, field: str, hint: str | None, known: str) -> None:
    error = mistake(tmp_path, NAME + text)
    assert error.problem == "the recipe file has an unknown key"
    assert (error.field, error.found, error.expected) == (field, field.split(".")[-1], known)
    assert hint in (None, error.hint)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", "name"),
        (NAME + "oven.flame = 3", "oven.kind"),
        (NAME + "[[steps]]\n[steps.stove]", "steps.0.stove.kind"),
        (NAME + "[parts.gas.stove]", "parts.gas.stove.kind"),
    ],
)
def test_missing_key(tmp_path: Path, text: str, field: str) -> None:
    error = mistake(tmp_path, text)
    assert error.problem == "the recipe file is missing a key"
    assert (error.field, error.hint) == (field, f"add '{field.split('.')[-1]}'")


def test_the_records_own_checks_name_the_field(tmp_path: Path) -> None:
    error = mistake(tmp_path, 'name = "nothing"')
    assert (error.field, error.found, error.expected) == ("name", "there is no such dish", None)


def test_other_mistakes_are_counted_and_ways_to_be_right_are_not(tmp_path: Path) -> None:
    error = mistake(tmp_path, NAME + "servings = 0\nx = 1\n[[steps]]\nminutes = 'x'")
    assert error.problem.endswith("(and 2 more)")
    assert isinstance(error, WrongSettings)
    assert [each.field for each in error.every] == ["servings", "steps.0.minutes", "x"]
    error = mistake(tmp_path, NAME + "oven.kind = 'electric'\noven.watts = 'x'")
    assert "more" not in error.problem
