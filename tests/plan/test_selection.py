"""What was asked for, in words and in the environment of a run."""

from __future__ import annotations

import pytest

from shortloop.base.errors import InputError
from shortloop.plan.selection import SELECTION, Selection


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection(), ""),
        (Selection(until="train"), "--until train"),
        (Selection(only="train", partition="A b"), "--only train --partition A b"),
        (Selection(force=("main-1", "train")), "--force main-1 --force train"),
    ],
)
def test_there_and_back(selection: Selection, words: str) -> None:
    environ = {SELECTION: "of another run", "HOME": "/"}
    selection.into(environ)
    assert Selection.given(environ) == selection
    assert selection.words == words
    assert (SELECTION in environ) == bool(words)


@pytest.mark.parametrize("text", ["train", "[]", '{"force": 1}', '{"force": [], "stage": "x"}'])
def test_a_variable_that_says_something_else(text: str) -> None:
    with pytest.raises(InputError, match="SHORTLOOP_SELECTION"):
        Selection.given({SELECTION: text})
    for wrong in ({"until": "a", "only": "b"}, {"partition": "A"}):
        with pytest.raises(InputError):
            Selection(**wrong)  # type: ignore[arg-type]
