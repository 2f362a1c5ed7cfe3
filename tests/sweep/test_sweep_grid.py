"""A grid of settings: every combination once, and a name for each that no other has."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from refusal import refusal

from shortloop.settings.base import Name
from shortloop.settings.changes import toml_key, toml_value, value_of
from shortloop.sweep.grid import parse_grid

KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
FIELDS = st.lists(KEYS, min_size=1, max_size=3).map(lambda keys: ".".join(map(toml_key, keys)))
VALUES = (
    st.booleans() | st.integers(-9, 99) | st.floats(allow_nan=False) | st.lists(st.integers(0, 3), max_size=3)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)  # fmt: skip
AXES = st.dictionaries(
    FIELDS.filter(lambda field: field != "name"),
    st.lists(VALUES.map(toml_value), min_size=1, max_size=3, unique=True),
    min_size=1,
    max_size=3,
)


@given(AXES)
def test_every_combination_is_there_once_under_a_name(axes: dict[str, list[str]]) -> None:
    name: TypeAdapter[str] = TypeAdapter(Name)
    grid = parse_grid([f"{field}={','.join(values)}" for field, values in axes.items()])
    assert grid.fields == tuple(axes)
    found = [each.fields for each in grid.combinations()]
    wanted: list[tuple[tuple[str, str], ...]] = [()]
    for field, values in axes.items():
        wanted = [(*each, (field, value)) for each in wanted for value in values]
    assert found == wanted
    suffixes = {each.changes.suffix for each in grid.combinations()}
    assert len(suffixes) == len(found)
    for suffix in suffixes:
        assert name.validate_python(f"a-{suffix}")
        assert len(suffix) <= 80
        assert "/" not in suffix


@given(AXES, st.randoms())
def test_a_name_says_what_is_set_whatever_else_the_grid_has(axes: dict[str, list[str]], random: Any) -> None:
    texts = [f"{field}={','.join(values)}" for field, values in axes.items()]
    grid = parse_grid(texts)
    random.shuffle(texts)
    by_settings = {frozenset(each.fields): each.changes.suffix for each in parse_grid(texts).combinations()}
    alone = parse_grid([f"{field}={values[-1]}" for field, values in axes.items()]).combinations()
    for each in (*grid.combinations(), *alone):
        assert by_settings[frozenset(each.fields)] == each.changes.suffix


@given(st.lists(st.lists(st.tuples(FIELDS, VALUES), min_size=1, max_size=3), min_size=2, max_size=2))
def test_other_settings_have_other_names(both: list[list[tuple[str, object]]]) -> None:
    known, suffixes = [], []
    for settings in both:
        fields = {field: toml_value(value) for field, value in settings if field != "name"}
        if not fields:
            return
        (each,) = parse_grid([f"{field}={value}" for field, value in fields.items()]).combinations()
        known.append(fields)
        suffixes.append(each.changes.suffix)
    assert (known[0] == known[1]) == (suffixes[0] == suffixes[1])


def test_names_are_as_plain_as_they_can_be() -> None:
    def suffix(*texts: str) -> str:
        return parse_grid(texts).combinations()[0].changes.suffix

    both = suffix("estimator.kind=linear-svm", "decoding.folds=5")
    assert both == "decoding.folds-5+estimator.kind-linear-svm"
    assert suffix("level=-0.5") == "level--0.5"
    assert suffix('kind="lda"') == suffix("kind=lda") == "kind-lda"
    assert re.fullmatch(r"x-5\+[0-9a-f]{8}", suffix('x="5"'))
    assert re.fullmatch(r"formula-y_x1\+[0-9a-f]{8}", suffix("formula=y ~ x1"))
    assert suffix("formula=y ~ x1") != suffix("formula=y / x1")
    assert suffix("a-b=c") != suffix("a=b-c")
    assert suffix(f"x={'v' * 100}") != suffix(f"x={'v' * 101}")


def test_values_are_told_apart_at_commas() -> None:
    grid = parse_grid(['x=lda, [1, 2] ,"a,b",{a = 1, b = 2},0.5,y ~ C(z)'])
    values = [value_of(point[0]) for point in grid.axes[0].points]
    assert values == ["lda", [1, 2], "a,b", {"a": 1, "b": 2}, 0.5, "y ~ C(z)"]
    assert len(parse_grid(['x=1,1.0,true,"1"']).combinations()) == 4  # equal, but not the same value
    (axis,) = parse_grid(['models."a=b".x=1,2']).axes
    assert axis.fields == ('models."a=b".x',)
    assert tomllib.loads(f"{axis.fields[0]} = 0") == {"models": {"a=b": {"x": 0}}}


def test_fields_that_go_together_and_their_labels() -> None:
    grid = parse_grid(["a=1,2"], ["b=x,y,z", "c=7,8,9"])
    assert [each.values() for each in grid.combinations()] == [
        (a, b, c) for a in "12" for b, c in zip("xyz", "789", strict=True)
    ]
    assert [each.label for each in grid.steps()] == ["a=1", "a=2", "b=x, c=7", "b=y, c=8", "b=z, c=9"]
    with refusal(r"b: 2, c: 3"):
        parse_grid([], ["b=1,2", "c=1,2,3"])
    (only,) = parse_grid(["models.a.covariance=HC1", "models.b.covariance=HC3", "folds=5"]).combinations()
    assert only.label == "a.covariance=HC1, b.covariance=HC3, folds=5"
    assert parse_grid(["x=1", "a.x=2"]).combinations()[0].label == "x=1, a.x=2"


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([], "no field varies"),
        (["folds"], "not a field with values"),
        (["=1"], "not a field with values"),
        (["a b=1"], "not a field with values"),
        (["x="], "no value"),
        (["x=1,"], "no value"),
        (["x=[1,2"], "no value"),
        (["x=y ~ C(a, b)"], "no value"),
        (["x=1,2,1"], "a value is given twice"),
        (['x=lda,"lda"'], "a value is given twice"),
        (["x=1", "x=2"], "a field is given twice"),
        (["x.y=1", 'x . "y"=2'], "a field is given twice"),
        (["name=a,b"], "the name of the settings"),
    ],
)
def test_what_is_wrong_is_said(texts: list[str], words: str) -> None:
    with refusal(words):
        parse_grid(texts)
