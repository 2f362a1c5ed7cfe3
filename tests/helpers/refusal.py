"""Errors of input, which say what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shortloop.base.errors import InputError


@contextmanager
def refusal(problem: str, *parts: str, **facts: object) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """What is done within is refused: the message has all parts, and its facts are these.

    Facts are the participant, and what else the error has: file, field, found, expected and hint.
    """
    with pytest.raises(InputError, match=problem or None) as caught:
        yield caught
    error = caught.value
    for part in parts:
        assert part in str(error)
    known = {**vars(error), **error.where}
    assert {name: str(known[name]) for name in facts} == {name: str(each) for name, each in facts.items()}
