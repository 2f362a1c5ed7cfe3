"""What a sweep changes in a settings file: how it is written, and that nothing else changes."""

from __future__ import annotations

import copy
import datetime
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusal import refusal
from settings_toy import Recipe

from shortloop.settings.changes import (
    CHANGES_VARIABLE,
    Changes,
    changed_name,
    changed_text,
    field_keys,
    toml_key,
    toml_text,
    toml_value,
    value_of,
)
from shortloop.settings.read import read_settings

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
    | st.dates()
    | st.times().map(lambda time: time.replace(fold=0))
    | st.datetimes()
    | st.datetimes(timezones=st.just(datetime.timezone(datetime.timedelta(hours=2))))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=5)


@given(TABLES, VALUES)
def test_what_is_written_is_read_back(content: dict[str, Any], value: object) -> None:
    found = tomllib.loads(toml_text(content))
    assert found == content
    assert repr(found) == repr(tomllib.loads(toml_text(found)))  # 1, 1.0 and true are equal, and not the same
    assert value_of(toml_value(value)) == value
    assert type(value_of(toml_value(value))) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("-5", -5), ("0.1", 0.1), ("1e-4", 1e-4), ("true", True), ("false", False),
        ('"5"', "5"), ("'a, b'", "a, b"), ("[1, 2]", [1, 2]), ('{a = 1, b = "x"}', {"a": 1, "b": "x"}),
        ("lda", "lda"), ("linear-svm", "linear-svm"), ("y ~ x1 + C(sector)", "y ~ x1 + C(sector)"),
        ("010", "010"), ("True", "True"), ("a=b", "a=b"), ("5 #", "5 #"), ("../data", "../data"),
        ("2021-01-02", datetime.date(2021, 1, 2)),
    ],
)  # fmt: skip
def test_values_as_users_write_them(text: str, value: object) -> None:
    assert value_of(text) == value
    assert type(value_of(text)) is type(value)


def test_what_is_no_field_or_no_value_is_refused() -> None:
    for field in ("", ".", "a.", "a b", "a = 1\nb", "a = 1", "[a]", "a#", "{}"):
        with refusal("that is no name of a field"):
            field_keys(field)
    for text in ("", " ", "a ", '"', "[1, 2", "{a", "1, 2", "C(a", "1\nb = 2", "5]\nw = [3"):
        with refusal("that is no value"):
            value_of(text)


@given(TABLES, st.lists(KEYS, min_size=1, max_size=3), SCALARS)
def test_one_field_changes_and_nothing_else(content: dict[str, Any], keys: list[str], value: object) -> None:
    before = copy.deepcopy(content)
    assert field_keys(".".join(map(toml_key, keys))) == tuple(keys)
    changes = Changes("x", ((".".join(map(toml_key, keys)), toml_value(value)),))
    wanted = copy.deepcopy(content)
    if isinstance(wanted.get("name"), str):
        wanted["name"] += "-x"
    table: Any = wanted
    for key in keys[:-1]:
        table = table.setdefault(key, {}) if isinstance(table, dict) else table
    if not isinstance(table, dict):
        with refusal("no table"):
            changes.applied(content)
    else:
        table[keys[-1]] = value
        assert changes.applied(content) == wanted
    assert content == before


def test_a_run_is_told_by_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Changes.given({}) is None
    assert changed_name("fists") == "fists"
    assert changed_text("name = 1 # as it is") == "name = 1 # as it is"
    environ: dict[str, str] = {}
    changes = Changes("folds-5", (("decoding.folds", "5"), ("words", "lda")))
    changes.into(environ)
    assert Changes.given(environ) == changes
    monkeypatch.setenv(CHANGES_VARIABLE, environ[CHANGES_VARIABLE])
    assert changed_name("fists") == "fists-folds-5"
    assert tomllib.loads(changed_text('name = "a"\ndecoding = {folds = 10, score = "auc"}\n')) == {
        "name": "a-folds-5",
        "decoding": {"folds": 5, "score": "auc"},
        "words": "lda",
    }
    assert changed_text("no = toml = ") == "no = toml = "
    fields = (("model.alpha", "2"), ("model", '{name = "ridge", alpha = 1}'))  # a table before what is in it
    assert Changes("x", fields).applied({"model": {"name": "lda"}})["model"] == {"name": "ridge", "alpha": 2}


def test_a_settings_file_is_read_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "r.toml"
    file.write_text('name = "soup"\nservings = 4\n', encoding="utf-8")
    before = file.read_bytes()
    assert read_settings(file, Recipe, noun="recipe", variable="RECIPE").servings == 4
    Changes("servings-6", (("servings", "6"),)).into(os.environ)
    try:
        found = read_settings(file, Recipe, noun="recipe", variable="RECIPE")
        assert (found.name, found.servings) == ("soup-servings-6", 6)
        Changes("x", (("servings", '"6"'),)).into(os.environ)
        with refusal("", "'6'", field="servings"):
            read_settings(file, Recipe, noun="recipe", variable="RECIPE")
    finally:
        del os.environ[CHANGES_VARIABLE]
    assert file.read_bytes() == before
