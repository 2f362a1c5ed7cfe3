"""Quantile regressions of many groups at once, with the numbers of statsmodels."""

from __future__ import annotations

import numpy as np

from shortloop.panel.kernels.columns import NO_CONSTANT
from shortloop.panel.kernels.quantile import NUMBERS, fit_groups
from shortloop.panel.kernels.reasons import VOUCHED
from shortloop.panel.statistics import LEVEL, Statistics
from shortloop.types import FloatArray, IntArray

__all__ = ["fit_quantile", "warm_up"]


def fit_quantile(
    columns: FloatArray, outcome: FloatArray, starts: IntArray, quantile: float = 0.5, *, level: float = LEVEL
) -> Statistics:
    """Fit a quantile regression to each group of rows.

    Coefficients, standard errors and the number of iterations are those of ``statsmodels.api.QuantReg``, with
    its robust covariances. Fits that cannot be vouched for are left out, with a reason.

    Parameters
    ----------
    columns : array of float64, shape (coefficients, rows)
        Regressors, each in one piece; the rows of a group one after the other.
    outcome : array of float64, shape (rows,)
    starts : array of int64, shape (groups + 1,)
        First row of each group, and the end of the last.
    quantile : float, default 0.5
        Which, above 0 and below 1.
    level : float, default 0.95
        Of confidence intervals.

    Returns
    -------
    Statistics
    """
    size, groups = columns.shape[0], len(starts) - 1
    nobs = np.diff(starts).astype(float)
    beta, cov = np.full((groups, size), np.nan), np.full((groups, size, size), np.nan)
    numbers, reasons = np.full((groups, len(NUMBERS)), np.nan), np.zeros(groups, np.int64)
    constants, widths = np.zeros(groups, np.int64), _widths(nobs, quantile)
    fit_groups(columns, outcome, starts, quantile, widths, beta, cov, numbers, constants, reasons)
    out = reasons != VOUCHED
    beta[out], cov[out], numbers[out] = np.nan, np.nan, np.nan
    prsquared, condition, iterations, converged = (numbers[:, i] for i in range(4))
    return Statistics.of(
        beta,
        np.sqrt(np.diagonal(cov, axis1=1, axis2=2)),
        nobs,
        reasons,
        freedom=nobs - size,
        level=level,
        prsquared=prsquared,
        scale=np.where(out, np.nan, 1.0),  # as statsmodels has it
        df_model=size - (constants != NO_CONSTANT).astype(float),
        condition_number=condition,
        iterations=iterations,
        converged=converged,
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
