"""Cases that are alike: the first of them at each `make test`, all of them with the slow tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def first_cases(
    count: int, names: str | Sequence[str], cases: Iterable[Any], **more: Any
) -> pytest.MarkDecorator:
    """Like `pytest.mark.parametrize`; cases after the first ones are slow."""
    found = [ParameterSet.extract_from(each, force_tuple=isinstance(names, str)) for each in cases]
    slow = [
        pytest.param(*one.values, id=one.id, marks=(*one.marks, pytest.mark.slow)) for one in found[count:]
    ]
    return pytest.mark.parametrize(names, [*found[:count], *slow], **more)
