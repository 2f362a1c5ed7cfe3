"""A difference between two jobs in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from shortloop.base.text import short, short_list
from shortloop.keys.own_code import ROOT
from shortloop.plan.explain.differences import Difference, code_words, input_words, value_words


def test_texts_and_lists_are_short() -> None:
    assert (short("none"), len(short("x" * 100))) == ("none", 44)
    assert short_list(["a", "b"]) == "a, b"
    assert short_list(["a", "b", "c", "d"], separator="; ") == "a; b and 2 more"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (None, 1, "option n: none → 1"),
        ([1, 2], "", "option n: [1, 2] → "),
        (0.1, None, "option n: 0.1 → none"),
    ],
)
def test_what_a_value_was_and_is(old: Any, new: Any, said: str) -> None:
    assert value_words(Difference("option", "n", old, new)) == said


def test_a_long_value_is_cut_unless_it_is_wanted_in_full() -> None:
    each = Difference("option", "n", "x" * 100, 1)
    assert len(value_words(each)) < 60
    assert value_words(each, full=True) == f"option n: {'x' * 100} → 1"


def test_an_input_that_comes_or_goes() -> None:
    assert input_words(Difference("input", "a", None, "1")) == "a was added"
    assert input_words(Difference("input", "a", "1", None)) == "a was removed"


def test_a_package_is_named_by_its_file() -> None:
    assert (ROOT / "shortloop/run/__init__.py").is_file()
    changed = Difference("code", "shortloop.run", "one", "other")
    assert code_words(changed, []) == "code of run (shortloop/run/__init__.py)"
