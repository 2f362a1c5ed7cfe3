"""Quantile regressions of many groups at once, with the numbers of statsmodels."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.batch import Batch, Columns
from shortloop.panel.kernels.columns import NO_CONSTANT
from shortloop.panel.kernels.quantile import NUMBERS, fit_groups
from shortloop.panel.statistics import LEVEL, Statistics

__all__ = ["fit_quantile", "warm_up"]


def fit_quantile(
    columns: Columns, outcome: FloatArray, starts: IntArray, quantile: float = 0.5, *, level: float = LEVEL
) -> Statistics:
    """Fit a quantile regression to each group of rows.

    Coefficients, standard errors and the number of iterations are those of ``statsmodels.api.QuantReg``, with
    its robust covariances. Fits that cannot be vouched for are left out, with a reason.

    outcome: (rows,)
    starts: int64, (groups + 1,). First row of each group, and the end of the last.
    """
    batch = Batch(columns, outcome, starts, NUMBERS)
    size, nobs = len(columns), batch.nobs
    batch.found.numbers[:, NUMBERS.index("bandwidth")] = _widths(nobs, quantile)
    numbers = batch.run(fit_groups, quantile)
    del numbers["sparsity"], numbers["bandwidth"]
    return batch.statistics(
        freedom=nobs - size,
        level=level,
        scale=np.where(np.isnan(numbers["iterations"]), np.nan, 1.0),  # as statsmodels has it
        df_model=size - (batch.found.constants != NO_CONSTANT).astype(float),
        **numbers,
    )


def _widths(nobs: FloatArray, quantile: float) -> FloatArray:
    """Widths of the kernel, in scales of the residuals; NaN where rows are too few for so far a quantile.

    Hall and Sheather 1988, On the distribution of a studentized quantile, section 2.
    """
    from scipy import special

    z = special.ndtri(quantile)
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = nobs ** (-1.0 / 3.0) * special.ndtri(0.975) ** (2.0 / 3.0)
        half *= (1.5 * density**2 / (2.0 * z * z + 1.0)) ** (1.0 / 3.0)
        return np.asarray(special.ndtri(quantile + half) - special.ndtri(quantile - half))


def warm_up() -> None:
    """Load the machine code, so that processes forked later share it; compile it, if it never was."""
    rows = np.random.default_rng(0).standard_normal((3, 12))
    fit_quantile(rows[:2], rows[2], np.array([0, 12]))
