"""Axes of arrays, as stages name them: ``"groups × coefficients"``, and what stands at each place of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NotRequired, TypedDict

from shortloop.base.plain import Plain

__all__ = ["Described", "DescribedOutside", "DescribedSpan", "axes_of", "check_coordinates"]

TIMES, LETTER = re.compile(r"\s+×\s+"), re.compile(r"\s+x\s+")
"""What stands between names; the letter only where there is no sign, as a name may end with it."""
ANY = "…"


def axes_of(array: Described) -> tuple[str, ...]:
    """Names of the axes of an array."""
    ndim = len(array["shape"])
    text = array["axes"].strip()
    names = (TIMES if "×" in text else LETTER).split(text) if text else []
    if names and names[-1] == ANY:
        names = [*names[:-1], *[""] * (ndim - len(names) + 1)]
    return tuple(names) if len(names) == ndim else ("",) * ndim


def check_coordinates(
    coordinates: Mapping[str, str], arrays: Mapping[str, Described], facts: Mapping[str, Plain]
) -> None:
    """Check that what is said to stand along axes is there, and as long as they are."""
    for axis, name in coordinates.items():
        lengths = {
            length
            for each in arrays.values()
            for own, length in zip(axes_of(each), each["shape"], strict=True)
            if own == axis
        }
        said, fact = f"the coordinates of the axis {axis!r} are said to be {name!r}", facts.get(name)
        if len(lengths) != 1:
            raise ValueError(f"{said}, and arrays have it in the lengths {sorted(lengths)}")
        if name in arrays:
            if axes_of(arrays[name]) != (axis,):
                raise ValueError(f"{said}, which is an array of the axes {arrays[name]['axes']!r}")
        elif not isinstance(fact, list | tuple) or len(fact) != lengths.pop():
            raise ValueError(f"{said}, which is no array, and no fact that is a list of the same length")


class Described(TypedDict):
    """An array in a record: an `Array`, and what its file says of it."""

    axes: str
    description: str
    unit: str
    shape: list[int]
    dtype: str
    outside: NotRequired[DescribedOutside]


class DescribedOutside(TypedDict):
    """An `Outside` in a record."""

    name: str
    content: str
    span: DescribedSpan


class DescribedSpan(TypedDict):
    """A `Span` in a record."""

    offset: int
    shape: list[int]
    strides: list[int]
    dtype: str
