"""Slices of a dataset, each in a fork, come to the right numbers together."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frames_tiny import checked, tiny

from shortloop.frames.runners.exax_slices import (
    ROW,
    Slice,
    Together,
    measure_slice,
    timed_together,
    whole,
)
from shortloop.frames.stages.table_rows import parts_of
from shortloop.frames.timing import Timed
from shortloop.frames.work import KEY, TRANSFORMATIONS, Work


class Rows:
    """Rows as exax has them, in slices by the key."""

    def __init__(self, work: Work, slices: int) -> None:
        parts = list(parts_of(work))
        keys = np.concatenate([part[0] for part in parts])
        self._columns = {KEY: keys, ROW: np.arange(len(keys))}
        for number, name in enumerate(work.columns):
            self._columns[name] = np.concatenate([part[1][number] for part in parts])
        self._where = [np.flatnonzero(keys % slices == each) for each in range(slices)]
        self.lines = [len(each) for each in self._where]

    def iterate(self, sliceno: int, columns: str | Sequence[str]) -> Iterator[Any]:
        if isinstance(columns, str):
            return iter(self._columns[columns][self._where[sliceno]].tolist())
        return zip(*(self._columns[name][self._where[sliceno]].tolist() for name in columns))


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("slices", [1, 3, 9])  # of 9, one has no rows
def test_slices_are_right_together(tmp_path: Path, transformation: str, slices: int) -> None:
    work = tiny(tmp_path, "exax", groups=8)
    rows: Any = Rows(work, slices)
    forks = multiprocessing.get_context("fork")
    together = Together(forks.Barrier(slices), forks.Value("i", 1), time.monotonic())
    with forks.Pool(slices, _begin, (rows, transformation, work, together)) as pool:
        found = pool.map(_measure, range(slices), chunksize=1)
    values, aggregates = whole(found, transformation, sum(work.rows), work.groups, len(work.columns))
    assert checked(work, values, aggregates).wrong == ""
    timed = timed_together(found)
    assert len({len(each.timed.seconds) for each in found}) == 1
    assert len(timed.seconds) >= 2
    assert timed.start > 0
    assert timed.peak


_asked: Any = None


def _begin(*asked: Any) -> None:
    global _asked
    _asked = asked


def _measure(sliceno: int) -> Slice:
    rows, transformation, work, together = _asked
    return measure_slice(
        rows, sliceno, transformation, work.columns, lambda: work.generator(sliceno), 2, 60.0, together
    )


def test_times_of_slices_become_one() -> None:
    def of(own: float, every: float, peak: int | None) -> Slice:
        none = np.zeros(0, np.int64)
        return Slice(none, np.zeros(0), none, Timed(0.5, [1.0, 3.0], own, every, peak))

    made = timed_together([of(3.0, 6.0, 10), of(1.0, 6.1, 20)])
    assert made == Timed(0.5, [1.0, 3.0], busy=1.0, others=0.5, peak=30)
    assert timed_together([of(3.0, 6.0, 10), of(1.0, 6.1, None)]).peak is None
