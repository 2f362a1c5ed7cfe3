"""Columns of tables and plots: chosen groups and specifications."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

import numpy as np

from shortloop.base.errors import InputError
from shortloop.panel.formats.panel_format import key_text
from shortloop.panel.results import Results
from shortloop.panel.statistics import Status

Group = str | int | float | Sequence[str | int | float]
Column = tuple[str, str, Results, int]  # specification, group, results, number of the group


def specifications(fits: Results | Mapping[str, Results]) -> dict[str, Results]:
    found = {"": fits} if isinstance(fits, Results) else dict(fits)
    if not found:
        raise InputError("no fits", field="fits", expected="one specification at least")
    return found


def columns_of(fits: Results | Mapping[str, Results], groups: Sequence[Group]) -> list[Column]:
    if not groups:
        raise InputError("no group is chosen", field="groups", expected="one at least, by its values")
    specs = specifications(fits)
    return [
        (spec, " ".join(found.keys[place]), found, place)
        for group in groups
        for spec, found in specs.items()
        for place in [place_of(found, group)]
    ]


def place_of(found: Results, group: Group) -> int:
    key = tuple(map(key_text, group if isinstance(group, tuple | list) else [group]))
    keys = [tuple(each) for each in found.keys]
    if key in keys:
        return keys.index(key)
    near = difflib.get_close_matches(" ".join(key), [" ".join(each) for each in keys], 4, cutoff=0.0)
    expected = f"values of {', '.join(found.by)}, e.g. {', '.join(near)}"
    raise InputError("no such group", field="groups", found=" ".join(key), expected=expected)


def check_names(field: str, names: list[str], known: list[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        raise InputError("no such name", field=field, found=unknown[0], expected=f"one of {', '.join(known)}")


def is_fitted(found: Results, group: int) -> bool:
    return bool(found.arrays["status"][group] == Status.FITTED)


def numbers_of(
    column: Column, name: str, wanted: Sequence[str] = ("params", "bse", "pvalues")
) -> tuple[float, ...]:
    _, _, found, group = column
    if name not in found.names or not is_fitted(found, group):
        return (np.nan,) * len(wanted)
    return tuple(float(found.arrays[each][group, found.names.index(name)]) for each in wanted)
