"""Differences between the arrays and files of two jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortloop.base.text import short_list
from shortloop.stages.records import RECORD
from shortloop.stages.results import Result
from shortloop.store.integrity import NOTES
from shortloop.store.manifest import Manifest

if TYPE_CHECKING:
    import numpy as np


NAMED = 6  # in a line


class ArrayDifference(NamedTuple):
    """How an array differs between two jobs."""

    name: str
    first: str  # shape and type in each job; empty where it is not there
    second: str
    differ: int | None  # how many values are not the same; None if shapes differ
    largest: float | None  # largest difference between two numbers; None if there is none to tell


def array_differences(first: Result, second: Result) -> Iterator[ArrayDifference]:
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
    """Compare by parts, because arrays may exceed memory."""
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


def outcome(before: Manifest, now: Manifest, declared: bool = False) -> str:
    """Compare a job with the previous one of the same key."""
    if before.content == now.content:
        return f"{now.job} came out the same as {before.job}"
    differ = [
        name
        for name in sorted({*before.files, *now.files})
        if before.files.get(name) != now.files.get(name) and name not in NOTES
    ]
    # The record differs whenever an array does, or the versions in it: it is worth a word only by itself.
    named = [_word(name) for name in differ if name != RECORD] or ["the record"]
    words = f"{now.job} came out different from {before.job}: {short_list(named, NAMED)}"
    if declared:
        return f"{words}; the change between the two was declared harmless"
    return f"{words}; its key did not change: give random draws a seed"


def _word(file: str) -> str:
    return f"array {Path(file).stem}" if file.endswith(".npy") else f"file {file}"
