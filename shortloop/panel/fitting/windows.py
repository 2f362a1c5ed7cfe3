"""Rolling and expanding windows: which rows of a group each has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shortloop.base.types import IntArray
from shortloop.panel.models.model import ModelSettings

NAMES, KINDS = ("first", "last"), ("number", "number")  # columns of results: rows of the group, from 1
AT_ONCE = 500_000  # rows of windows that are fitted at a time


@dataclass(frozen=True)
class Windows:
    """Windows of all groups, arrays of shape (windows,)."""

    groups: IntArray
    begins: IntArray  # first row in the panel
    ends: IntArray  # end of the rows
    starts: IntArray  # first row of the group

    def keys(self, keys: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Add the first and the last row to the names of groups."""
        firsts, lasts = (self.begins - self.starts + 1).tolist(), (self.ends - self.starts).tolist()
        return [
            (*keys[g], str(first), str(last))
            for g, first, last in zip(self.groups.tolist(), firsts, lasts, strict=True)
        ]

    def holds(self, rows: np.ndarray, less: int = 0) -> IntArray:
        """Count the rows that are True, bool, (rows,), in each window, less its first ones."""
        counts = np.concatenate([[0], np.cumsum(rows)])
        return np.asarray(counts[self.ends] - counts[np.minimum(self.begins + less, self.ends)])


def with_windows(by: Sequence[str]) -> tuple[str, ...]:
    """Add the columns of windows to those that make groups, which get ``group_`` in front if need be."""
    return (*(f"group_{name}" if name in NAMES else name for name in by), *NAMES)


def windows_of(starts: IntArray, model: ModelSettings) -> Windows:
    """List the windows of groups, whose first rows, and the end, are `starts`."""
    assert model.window is not None
    least = model.least_rows()
    parts: list[tuple[IntArray, ...]] = []
    for g, (begin, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        ends = np.arange(begin + least, end + 1, model.step)
        begins = np.full(len(ends), begin)
        if not isinstance(model.window, str):
            begins = np.maximum(ends - model.window, begin)
        parts.append((np.full(len(ends), g), begins, ends, np.full(len(ends), begin)))
    return Windows(*(np.concatenate(each).astype(np.int64) for each in zip(*parts, strict=True)))


def rows_of_windows(begins: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of windows one after the other, and where each begins among them, and their number."""
    sizes = ends - begins
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return np.arange(starts[-1]) + np.repeat(begins - starts[:-1], sizes), starts


def parts_of_windows(begins: IntArray, ends: IntArray) -> Iterator[slice]:
    """Divide windows into parts of few rows."""
    total, first = np.cumsum(ends - begins), 0
    while first < len(begins):
        before = total[first - 1] if first else 0
        last = max(int(np.searchsorted(total, before + AT_ONCE, "right")), first + 1)
        yield slice(first, last)
        first = last
