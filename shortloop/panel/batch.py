"""All groups by one kernel: arrays to write to, and what was written, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shortloop.panel.kernels.groups import Found, Rows
from shortloop.panel.kernels.reasons import VOUCHED
from shortloop.panel.statistics import LEVEL, Statistics
from shortloop.types import FloatArray, IntArray

__all__ = ["Batch"]


class Batch:
    """One kernel on all groups.

    Parameters
    ----------
    columns : array of float64, shape (coefficients, rows)
        Regressors, each in one piece; the rows of a group one after the other.
    outcome : array of float64, shape (rows,)
    starts : array of int64, shape (groups + 1,)
        First row of each group, and the end of the last.
    names : sequence of str
        ``NUMBERS`` of the kernel.
    weights : array of float64, shape (rows,), optional
        Of the rows.
    clusters : array of int64, shape (rows,), optional
        Numbers from 0 in each group, without gaps.
    """

    def __init__(
        self,
        columns: FloatArray,
        outcome: FloatArray,
        starts: IntArray,
        names: Sequence[str],
        *,
        weights: FloatArray | None = None,
        clusters: IntArray | None = None,
    ) -> None:
        size, groups = len(columns), len(starts) - 1
        self._names = names
        self._rows = Rows(
            columns,
            outcome,
            np.empty(0) if weights is None else weights,
            np.empty(0, np.int64) if clusters is None else clusters,
            starts,
        )
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

        Parameters
        ----------
        kernel : callable
            ``fit_groups`` of a module of `shortloop.panel.kernels`.
        *settings
            What it takes beside the rows.

        Returns
        -------
        dict of str to array
            Each of shape (groups,): the numbers of the kernel. NaN, as coefficients and covariances are,
            where a fit was left out.
        """
        with np.errstate(all="ignore"):
            kernel(self._rows, self.found, *settings)
        out = self.found.reasons != VOUCHED
        for values in (self.found.beta, self.found.covariance, self.found.numbers):
            values[out] = np.nan
        return {name: self.found.numbers[:, i] for i, name in enumerate(self._names)}

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

        Parameters
        ----------
        bse : array, shape (groups, coefficients), optional
            Standard errors. Default: by the covariances.
        freedom, level, **known
            As of `shortloop.panel.statistics.Statistics.of`.

        Returns
        -------
        Statistics
        """
        found = self.found
        errors = np.sqrt(self.variances) if bse is None else bse
        return Statistics.of(
            found.beta, errors, self.nobs, found.reasons, freedom=freedom, level=level, **known
        )
