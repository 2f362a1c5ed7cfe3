"""How the arrays of two jobs differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from shortloop.worker.results import Result

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ArrayDifference", "array_differences"]


class ArrayDifference(NamedTuple):
    """How an array differs between two jobs.

    Parameters
    ----------
    name : str
        Name of the array.
    first, second : str
        Shape and type in each job; empty where it is not there.
    differ : int or None
        How many values are not the same; None if shapes differ.
    largest : float or None
        Largest difference between two numbers; None if there is none to tell.
    """

    name: str
    first: str
    second: str
    differ: int | None
    largest: float | None


def array_differences(first: Result, second: Result) -> Iterator[ArrayDifference]:
    """How the arrays of two jobs differ.

    Parameters
    ----------
    first, second : Result
        The jobs.

    Yields
    ------
    ArrayDifference
        Of each array that either has.
    """
    for name in dict.fromkeys([*first.arrays, *second.arrays]):
        before, after = _described(first, name), _described(second, name)
        found: tuple[int | None, float | None] = (None, None)
        if before and after:
            one, other = first.arrays[name], second.arrays[name]
            if one.shape == other.shape:
                found = _difference(one, other)
        yield ArrayDifference(name, before, after, *found)


def _described(result: Result, name: str) -> str:
    array = result.record["arrays"].get(name)
    return "" if array is None else f"{' × '.join(map(str, array['shape'])) or '1'} {array['dtype']}"


def _difference(one: np.ndarray, other: np.ndarray) -> tuple[int, float | None]:
    """Part by part, as arrays may be larger than memory."""
    import numpy as np

    numeric = all(each.dtype.kind in "biuf" for each in (one, other))
    differ, largest = 0, 0.0
    for old, new in zip(np.atleast_1d(one), np.atleast_1d(other)):
        if not numeric:
            differ += int(np.sum(np.asarray(old != new)))
            continue
        old, new = np.asarray(old, dtype=float), np.asarray(new, dtype=float)
        same = (old == new) | (np.isnan(old) & np.isnan(new))
        differ += int(np.sum(~same))
        away = np.abs(new - old)[~same]
        if np.isfinite(away).any():
            largest = max(largest, float(np.nanmax(away)))
    return differ, largest if numeric and differ else None
