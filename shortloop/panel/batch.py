"""All groups by one kernel: rows a block at a time, arrays to write to, and what was written, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.kernels.groups import Found, Rows
from shortloop.panel.kernels.reasons import VOUCHED
from shortloop.panel.kernels.rows import put_column
from shortloop.panel.statistics import LEVEL, Statistics

__all__ = ["Batch", "Columns"]


Columns = FloatArray | Sequence[FloatArray]
"""Regressors: an array of shape (coefficients, rows), or arrays each of shape (rows,)."""
BLOCK = 128 * 1024
"""Values of regressors that are fitted at a time: a megabyte, which stays in the cache. So the panel is read
once, and no memory is asked for that grows with its rows."""


class Batch:
    """One kernel on all groups.

    columns: Regressors; the rows of a group one after the other.
    outcome: (rows,)
    starts: int64, (groups + 1,). First row of each group, and the end of the last.
    names: ``NUMBERS`` of the kernel.
    weights: (rows,), optional. Of the rows.
    trials: (rows,), optional. How many trials outcomes are shares of.
    clusters: int64, (rows,), optional. Numbers from 0 in each group, without gaps.
    """

    def __init__(
        self,
        columns: Columns,
        outcome: FloatArray,
        starts: IntArray,
        names: Sequence[str],
        *,
        weights: FloatArray | None = None,
        trials: FloatArray | None = None,
        clusters: IntArray | None = None,
    ) -> None:
        size, groups = len(columns), len(starts) - 1
        self._names = names
        self._starts = starts
        self._columns = columns
        self._others = outcome, weights, trials
        self._clusters = clusters
        self.nobs: FloatArray = np.diff(starts).astype(np.float64)
        self.found = Found(
            np.full((groups, size), np.nan),
            np.full((groups, size, size), np.nan),
            np.full((groups, len(names)), np.nan),
            np.zeros(groups, np.int64),
            np.zeros(groups, np.int64),
        )

    def run(self, kernel: Callable[..., None], *settings: Any) -> dict[str, FloatArray]:
        """Fit.

        returns: dict of str to array. Each of shape (groups,): the numbers of the kernel.
        """
        with np.errstate(all="ignore"):
            for rows, found in self._blocks():
                kernel(rows, found, *settings)
        out = self.found.reasons != VOUCHED
        for values in (self.found.beta, self.found.covariance, self.found.numbers):
            values[out] = np.nan
        return {name: self.found.numbers[:, i] for i, name in enumerate(self._names)}

    def _blocks(self) -> Iterator[tuple[Rows, Found]]:
        """Rows of some groups, always in the same memory, and where to write what is found of them."""
        starts, size = self._starts, len(self._columns)
        most = max(BLOCK // size, int(np.diff(starts).max(initial=0)))
        regressors, others = np.empty(size * most), np.empty((len(self._others), most))
        first = 0
        while first < len(starts) - 1:
            begin = starts[first]
            last = int(np.searchsorted(starts, begin + most, "right")) - 1
            last = min(last, len(starts) - 1)
            part, number = slice(begin, starts[last]), starts[last] - begin
            inside = starts[first : last + 1] - begin
            for j, values in enumerate(self._columns):
                put_column(np.ascontiguousarray(values[part], np.float64), inside, j, size, regressors)
            there = [0 if values is None else number for values in self._others]
            for row, values in zip(others, self._others, strict=True):
                if values is not None:
                    row[:number] = values[part]
            outcome, weights, trials = (row[:count] for row, count in zip(others, there, strict=True))
            clusters = np.empty(0, np.int64) if self._clusters is None else self._clusters[part]
            out: list[Any] = [values[first:last] for values in self.found]
            yield (
                Rows(size, regressors[: size * number], outcome, weights, trials, clusters, inside),
                Found(*out),
            )
            first = last

    @property
    def variances(self) -> FloatArray:
        """Of the coefficients, shape (groups, coefficients)."""
        return np.diagonal(self.found.covariance, axis1=1, axis2=2)

    def statistics(
        self,
        bse: FloatArray | None = None,
        *,
        freedom: FloatArray | None = None,
        level: float = LEVEL,
        **known: FloatArray,
    ) -> Statistics:
        """What is said of the fits.

        bse: (groups, coefficients). Standard errors.
        """
        found = self.found
        errors = np.sqrt(self.variances) if bse is None else bse
        return Statistics.of(
            found.beta, errors, self.nobs, found.reasons, freedom=freedom, level=level, **known
        )
