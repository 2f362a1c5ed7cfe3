"""All groups by one kernel: rows a block at a time, arrays to write to, and what was written, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import special

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.formulas.design import Design, in_time
from shortloop.panel.kernels.groups import Found, Rows
from shortloop.panel.kernels.rows import numbered_in_groups, put_column
from shortloop.panel.kernels.special import two_sided
from shortloop.panel.statistics import Reason, Statistics, empty_statistics

BLOCK = 128 * 1024
"""Values of regressors that are fitted at a time: a megabyte, which stays in the cache. So the panel is read
once, and no memory is asked for that grows with its rows."""


class Batch:
    """One kernel on all groups of a design; `names` are the ``NUMBERS`` of the kernel.

    starts: int64, (groups + 1,). First row of each group, and the end of the last.
    lags: int64, (groups,). How far back errors are correlated; default: not at all.
    """

    def __init__(
        self, design: Design, starts: IntArray, names: Sequence[str], lags: IntArray | None = None
    ) -> None:
        twice: Any = []  # groups with two rows at one time, or none
        if "time" in design.roles:
            design, starts, twice = in_time(design, starts)
        size, groups, roles = len(design.regressors), len(starts) - 1, design.roles
        self._names, self._starts, self._columns = names, starts, design.regressors
        self._others = design.outcome, roles.get("weights"), design.trials(), roles.get("offset")
        ways = [roles[name].astype(np.int64) for name in ("clusters", "clusters 2") if name in roles]
        if len(ways) > 1:  # of both together, by numbers that are not larger than these of rows
            part, both = slice(starts[0], starts[-1]), ways[0] * (ways[1].max(initial=0) + 1) + ways[1]
            both[part] = np.unique(both[part], return_inverse=True)[1]
            ways.append(both)
        ways = [numbered_in_groups(codes, starts) for codes in ways]
        shape = len(ways), len(design.outcome)
        self._clusters: IntArray = (
            np.array(ways, np.int64).reshape(shape) if len(ways) != 1 else ways[0][np.newaxis]
        )
        self.nobs: FloatArray = np.diff(starts).astype(np.float64)
        self._lags = np.zeros(groups, np.int64) if lags is None else lags
        self._twice = twice
        self.found = Found(
            np.full((groups, size), np.nan),
            np.full((groups, size, size), np.nan),
            np.full((groups, len(names)), np.nan),
            np.zeros(groups, np.int64),
            np.zeros(groups, np.int64),
        )

    def run(self, kernel: Callable[..., None], *settings: Any) -> dict[str, FloatArray]:
        """Fit; return the numbers of the kernel by name, each of shape (groups,)."""
        with np.errstate(all="ignore"):
            for rows, found in self._blocks():
                kernel(rows, found, *settings)
        self.found.reasons[self._twice] = Reason.SAME_TIME
        out = self.found.reasons != Reason.VOUCHED
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
            part, number = slice(begin, starts[last]), starts[last] - begin
            inside = starts[first : last + 1] - begin
            for j, values in enumerate(self._columns):
                column = np.ascontiguousarray(values[part], np.float64).view()
                column.flags.writeable = False  # as of a file: code is compiled for one kind only
                put_column(column, inside, j, size, regressors)
            there = [0 if values is None else number for values in self._others]
            for row, values in zip(others, self._others, strict=True):
                if values is not None:
                    row[:number] = values[part]
            outcome, weights, trials, offset = (row[:n] for row, n in zip(others, there, strict=True))
            clusters = np.ascontiguousarray(self._clusters[:, part])
            out: list[Any] = [values[first:last] for values in self.found]
            columns, lags = regressors[: size * number], self._lags[first:last]
            rows = Rows(size, columns, outcome, weights, trials, offset, clusters, inside, lags)
            yield rows, Found(*out)
            first = last

    @property
    def variances(self) -> FloatArray:
        """Variances of the coefficients, shape (groups, coefficients)."""
        return np.diagonal(self.found.covariance, axis1=1, axis2=2)

    def statistics(
        self,
        level: float,
        bse: FloatArray | None = None,
        freedom: FloatArray | None = None,
        **known: FloatArray,
    ) -> Statistics:
        """Test coefficients, and put all numbers of the fits together."""
        # bse: (groups, coefficients). Standard errors. Default: by the covariance.
        # freedom: (groups,). Degrees of freedom of Student's t. Default: the normal distribution.
        # known: (groups,). Further numbers of the fits.
        params, nobs, reasons = self.found.beta, self.nobs, self.found.reasons
        groups, size = params.shape
        bse = np.sqrt(self.variances) if bse is None else bse
        more: dict[str, FloatArray] = {"df_model": np.full(groups, size - 1.0), "df_resid": nobs - size}
        if "llf" in known:
            more["aic"] = 2.0 * size - 2.0 * known["llf"]
            more["bic"] = np.log(np.maximum(nobs, 1.0)) * size - 2.0 * known["llf"]
        if "iterations" in known:
            more["converged"] = np.where(reasons == Reason.VOUCHED, 1.0, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            tvalues = params / bse
        tail = (1.0 + level) / 2.0
        if freedom is None:
            pvalues, half = 2.0 * special.ndtr(-np.abs(tvalues)), special.ndtri(tail) * bse
        else:
            pvalues = two_sided(np.ascontiguousarray(tvalues), freedom)
            different, place = np.unique(freedom, return_inverse=True)
            half = special.stdtrit(different, tail)[place][:, np.newaxis] * bse
        found = {"params": params, "bse": bse, "tvalues": tvalues, "pvalues": pvalues}
        found |= {"covariance": self.found.covariance}
        found["freedom"] = np.full(groups, np.inf) if freedom is None else freedom
        found |= {"lower": params - half, "upper": params + half, "nobs": nobs, "reasons": reasons}
        return {**empty_statistics(groups, size), **found, **more, **known}
