"""A settings file is read, or one message says what it is instead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from settings_toy import Electric, Gas, Recipe, read

from shortloop.base.errors import InputError
from shortloop.settings.paths import expand_path
from shortloop.settings.read import documented_fields, read_settings, settings_path


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    text = 'name = "soup"\nrange = [2, 6]\noven.kind = "gas"\n[[steps]]\nminutes = false\n[parts.a]\n'
    recipe = read(tmp_path / "r.toml", text)
    assert (recipe.name, recipe.servings, recipe.range, recipe.oven) == ("soup", 4, (2, 6), Gas())
    assert recipe.steps[0].minutes is None
    assert list(recipe.parts) == ["a"]
    assert read(tmp_path / "r.toml", 'name = "soup"').oven == Electric()


def test_a_byte_order_mark_is_no_part_of_it(tmp_path: Path) -> None:
    assert read(tmp_path / "r.toml", '\ufeffname = "soup"').name == "soup"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"name = ", "the recipe file is not valid TOML"),
        ("name = 'größer'".encode("latin-1"), "the recipe file is not valid TOML"),
        (f"servings = {'9' * 5000}".encode(), "the recipe file holds a number too large"),
        (f"servings = {'[' * 5000}".encode(), "the recipe file holds a number too large"),
        (None, "the recipe file cannot be read"),
    ],
)
def test_what_is_none(tmp_path: Path, content: bytes | None, problem: str) -> None:
    file = tmp_path / "r.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_settings(file, Recipe, noun="recipe", variable="RECIPE")
    assert caught.value.problem.startswith(problem)
    assert caught.value.file == str(file)
    assert caught.value.hint
    if content is None:
        assert (
            caught.value.hint == "give an existing file: --settings FILE, or RECIPE=FILE in the environment"
        )


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.toml")
    with pytest.raises(InputError, match="is not a regular file"):
        read_settings(tmp_path / "r.toml", Recipe, noun="recipe", variable="RECIPE")


def test_a_variable_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    default = Path("/far/default.toml")
    monkeypatch.chdir(tmp_path)
    assert settings_path(["RECIPE"], default, {}) == default
    assert settings_path(["RECIPE"], default, {"RECIPE": ""}) == default
    assert settings_path(["RECIPE"], default, {"RECIPE": "mine.toml"}) == tmp_path / "mine.toml"
    assert settings_path(["RECIPE"], default, {"RECIPE": "a/../b"}, base=Path("/base")) == Path("/base/b")
    both = {"FIRST": "one.toml", "RECIPE": "mine.toml"}
    assert settings_path(["FIRST", "RECIPE"], default, both) == tmp_path / "one.toml"
    assert settings_path(["FIRST", "RECIPE"], default, {**both, "FIRST": ""}) == tmp_path / "mine.toml"


def test_paths_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def expanded(written: str) -> Path:
        return expand_path(written, "/recipes/r.toml", field="folder", what="the folder of the pictures")

    monkeypatch.delenv("PICTURES", raising=False)
    assert expanded("../x") == Path("/x")
    assert expanded("${PICTURES=a b}/y") == Path("/recipes/a b/y")
    with pytest.raises(InputError, match="PICTURES is not set") as caught:
        expanded("${PICTURES}/y")
    assert (caught.value.field, caught.value.file) == ("folder", "/recipes/r.toml")
    assert caught.value.hint == "set PICTURES to the folder of the pictures"
    monkeypatch.setenv("PICTURES", "/server")
    assert expanded("${PICTURES=a b}/y") == Path("/server/y")


def test_every_field_is_listed_with_its_text() -> None:
    found = dict(documented_fields(Recipe))
    assert list(found)[:6] == ["name", "servings", "range", "oven", "steps", "parts"]
    assert found["servings"] == "for how many; default 4"
    assert found["oven[gas].flame"] == found["steps.stove[gas].flame"] == "its size, mm; default 3"
    assert found["parts.minutes"] == found["steps.minutes"]
