"""Texts that are probably meant as something else are told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shortloop.base.errors import InputError
from shortloop.panel.column import lookalikes, numbers_as_text
from shortloop.panel.data import from_frame


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["1.5", "2", "N/A"], "2 of 3 are numbers, but not 'N/A'"),
        (["1,5", "2,5"], "all of them are numbers"),
        (["12 %", "3 %", "-"], "but not '-'"),
        (["1 234", "−5", "$3.10", "1e-5"], "all of them are numbers"),
        (["A1", "B2", "3"], ""),
        (["2020-01-01", "2020-01-02"], ""),
        (["5"], ""),
        ([], ""),
    ],
)
def test_numbers_among_texts(texts: list[str], said: str) -> None:
    found = numbers_as_text(texts)
    assert said in found
    assert bool(said) == bool(found)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["Mu\u0308ller", "Müller"], True),
        (["F1", "F1 "], True),
        (["a b", "a\u00a0b"], True),
        (["F1", "f1"], False),
        (["ß", "ss"], False),
        (["", "a"], False),
    ],
)
def test_texts_that_look_the_same(texts: list[str], found: bool) -> None:
    assert (lookalikes(texts) is not None) == found


def test_groups_that_look_the_same_are_refused_and_texts_told() -> None:
    frame = pd.DataFrame({"g": ["Müller", "Mu\u0308ller"], "k": ["a", "a "], "n": ["1,5", "x"], "y": 1.0})
    with pytest.raises(InputError, match="look the same") as caught:
        from_frame(frame, ["g"])
    assert r"u\u0308" in str(caught.value.found)
    notes = from_frame(frame.assign(g=["A", "B"]), ["g"]).notes
    assert [note.partition(":")[0] for note in notes] == ["k", "n"]


def test_numbers_that_cannot_be_told_apart_make_no_groups() -> None:
    ids = pd.Series([2**53, 2**53 + 1, None], dtype="Int64")
    frame = pd.DataFrame({"g": ids.astype("float64"), "y": 1.0})
    with pytest.raises(InputError, match="too large to be distinguished"):
        from_frame(frame, ["g"])
    assert len(from_frame(frame.assign(g=ids), ["g"]).keys) == 2
    assert len(from_frame(frame.assign(g=np.array([2**53, 2**53 + 1, 5])), ["g"]).keys) == 3
