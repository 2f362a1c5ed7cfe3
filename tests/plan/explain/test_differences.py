"""What differs between two keys, in order, and what of it is known in a plan."""

from __future__ import annotations

from typing import Any

import pytest

from shortloop.keys.key import Parts
from shortloop.plan.explain.reasons import Difference, differences, option_rows

A, B, C = ("a" * 64, "b" * 64, "c" * 64)


def parts(**changes: Any) -> Parts:
    return Parts(
        **{"method": "methods.m", "code": {}, "versions": {}, "options": {}, "inputs": {}, **changes}
    )


def found(old: Parts, new: Parts) -> list[tuple[str, str, Any, Any]]:
    return [(each.kind, each.name, each.old, each.new) for each in differences(old, new)]


def test_the_same_has_no_differences() -> None:
    one = parts(code={"m": "1"}, options={"files": [A], "s": {"C": [1]}}, inputs={"f": ["x"]})
    assert differences(one, one) == []


def test_the_order_is_options_code_versions_inputs() -> None:
    old = parts(code={"gone": "1", "m": "1"}, versions={"numpy": "2.0"}, options={"a": 1, "z": 1})
    new = parts(
        code={"a": "2", "m": "2"}, versions={"numpy": "2.1"}, options={"b": 1, "z": 2}, inputs={"f": "x"}
    )
    assert found(old, new) == [
        ("option", "z", 1, 2),
        ("option", "b", None, 1),
        ("option", "a", 1, None),
        ("code", "m", "1", "2"),
        ("code", "a", None, "2"),
        ("code", "gone", "1", None),
        ("version", "numpy", "2.0", "2.1"),
        ("input", "f", None, "x"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([A, B], [A, C], [("file", "files", B, C)]),
        ([A, B], [A], [("file", "files", B, None)]),
        ([A], [A, B], [("file", "files", None, B)]),
        (A, B, [("file", "files", A, B)]),
        (A, "", [("file", "files", A, "")]),
        ([A], [A, A], [("option", "files", [A], [A, A])]),
        ([["a", A], ["b", B]], [["a", A], ["b", C]], [("file", "files", B, C)]),
        ([["a", A], ["b", B]], [["a", A], ["b", ""]], [("file", "files", B, "")]),
        ([["a", A]], [["a", ""]], [("file", "files", A, "")]),
        ([["a", A]], [["b", A]], [("option", "files", "a", "b")]),
        ([[["a", A]]], [[["a", A], ["b", B]]], [("file", "files", None, B)]),
        (None, [["a", A]], [("file", "files", None, A)]),
        (None, [A], [("file", "files", None, A)]),
        (A, None, [("file", "files", A, None)]),
        ([["a", A], 1], [["a", B], 1], [("option", "files", [["a", A], 1], [["a", B], 1])]),
        (["x"], ["y"], [("option", "files", ["x"], ["y"])]),
        ("", "x", [("option", "files", "", "x")]),
        (None, 1, [("option", "files", None, 1)]),
        ([A], 3, [("option", "files", [A], 3)]),
    ],
)
def test_contents_of_files_are_told_from_other_options(old: Any, new: Any, expected: list[Any]) -> None:
    assert found(parts(options={"files": old}), parts(options={"files": new})) == expected


def test_an_option_with_nothing_inside_any_more_is_told_of_once() -> None:
    one, none = parts(options={"a": {"b": 1}}), parts(options={"a": {}})
    assert found(one, none) == [("option", "a.b", 1, None)]
    assert found(none, one) == [("option", "a.b", None, 1)]
    assert found(none, parts()) == [("option", "a", {}, None)]


@pytest.mark.parametrize(
    ("kind", "old", "new", "known"),
    [
        ("input", "x", "y", True),
        ("input", "x", "", False),
        ("input", ["x", "y"], ["x", ""], False),
        ("input", ["x", "y"], ["", "z"], True),
        ("input", ["x", "y"], ["x"], True),
        ("input", "x", None, True),
        ("file", None, "", True),
        ("file", A, "", False),
        ("file", A, B, True),
        ("option", "x", "", True),
        ("option", ["x"], [""], False),
    ],
)
def test_what_is_not_built_or_read_yet_is_not_known(kind: str, old: Any, new: Any, known: bool) -> None:
    assert Difference(kind, "n", old, new).known is known


def test_options_are_flat_with_dots() -> None:
    assert dict(option_rows({"a": {"b": {"c": 1}, "d": {}}, "e": [1]})) == {"a.b.c": 1, "a.d": {}, "e": [1]}


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        ("option", None, 1, "option n: none → 1"),
        ("option", [1, 2], "", "option n: [1, 2] → "),
        ("option", 0.1, None, "option n: 0.1 → none"),
        ("input", None, "1", "n was added"),
        ("input", "1", None, "n was removed"),
    ],
)
def test_a_difference_in_words(kind: str, old: Any, new: Any, said: str) -> None:
    assert Difference(kind, "n", old, new).words() == said


def test_a_long_value_is_cut_unless_it_is_wanted_in_full() -> None:
    each = Difference("option", "n", "x" * 100, 1)
    assert len(each.words()) < 60
    assert each.words(full=True) == f"option n: {'x' * 100} → 1"


def test_a_package_is_named_by_its_file() -> None:
    assert Difference("code", "shortloop.run", "1", "2").words() == "code of run (shortloop/run/__init__.py)"
