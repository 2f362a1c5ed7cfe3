"""Plain data: what JSON can hold, and so what options, facts and records of jobs are made of."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

__all__ = ["Plain", "as_read_back", "copied", "with_tuples"]

Plain: TypeAlias = bool | int | float | str | Sequence["Plain"] | Mapping[str, "Plain"] | None
"""Read only, so that a list of names is one, too."""
PlainT = TypeVar("PlainT")


def as_read_back(value: object) -> Plain:
    """Plain data as JSON gives them back: lists in place of tuples.

    Parameters
    ----------
    value : object
        Plain data.

    Returns
    -------
    Plain

    Raises
    ------
    TypeError, ValueError
        If it is something else, a float that is not finite, or a mapping whose keys are no texts: JSON would
        make texts of them.
    """
    plain: Plain = json.loads(json.dumps(value, allow_nan=False))
    _check_keys(value)
    return plain


def copied(value: PlainT) -> PlainT:
    """Plain data again, in which nothing is shared with these; 20 times faster than `copy.deepcopy`.

    Parameters
    ----------
    value : plain data

    Returns
    -------
    plain data
    """
    made: PlainT = pickle.loads(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    return made


def _check_keys(value: object) -> None:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{key!r} is a key, and no text")
            _check_keys(each)
    elif isinstance(value, list | tuple):
        for each in value:
            _check_keys(each)


def with_tuples(value: object) -> object:
    """Plain data with tuples in place of lists.

    Parameters
    ----------
    value : object
        Plain data.

    Returns
    -------
    object
    """
    if isinstance(value, Mapping):
        return {key: with_tuples(each) for key, each in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value
