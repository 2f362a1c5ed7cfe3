"""Ordinary and weighted least squares of many groups at once, with the numbers of statsmodels."""

from __future__ import annotations

import math

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.batch import Batch, Columns
from shortloop.panel.kernels.columns import IMPLICIT, NO_CONSTANT
from shortloop.panel.kernels.covariance import KINDS
from shortloop.panel.kernels.least_squares import NUMBERS, fit_groups
from shortloop.panel.kernels.reasons import VOUCHED
from shortloop.panel.statistics import LEVEL, Covariance, Statistics

__all__ = ["fit_least_squares", "warm_up"]


def fit_least_squares(
    columns: Columns,
    outcome: FloatArray,
    starts: IntArray,
    *,
    weights: FloatArray | None = None,
    covariance: Covariance = "nonrobust",
    clusters: IntArray | None = None,
    level: float = LEVEL,
) -> Statistics:
    """Fit a linear model to each group of rows.

    Coefficients and standard errors are those of ``statsmodels.api.OLS`` and ``WLS`` to nine digits. Fits
    that cannot be vouched for are left out, with a reason.

    outcome: (rows,)
    starts: int64, (groups + 1,). First row of each group, and the end of the last.
    weights: (rows,). Positive, proportional to one over the variance of each row.
    clusters: int64, (rows,). For "cluster": numbers from 0 in each group, without gaps.
    """
    from scipy import special

    batch = Batch(columns, outcome, starts, NUMBERS, weights=weights, clusters=clusters)
    numbers = batch.run(fit_groups, KINDS[covariance])
    size, nobs, constants = len(columns), batch.nobs, batch.found.constants
    ssr, out = numbers["ssr"], batch.found.reasons != VOUCHED
    has_constant = (constants != NO_CONSTANT).astype(float)
    df_resid, df_model = nobs - size, size - has_constant
    total = np.where(has_constant > 0, numbers["centered_tss"], numbers["uncentered_tss"])
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = ssr / df_resid
        rsquared = 1.0 - ssr / total
        rsquared_adj = 1.0 - (nobs - has_constant) / df_resid * (1.0 - rsquared)
        llf = -0.5 * nobs * (math.log(2 * math.pi) + np.log(ssr / nobs) + 1.0)
        if weights is not None:
            llf += 0.5 * numbers["log_weights"]
        if covariance == "nonrobust":
            bse = np.sqrt(batch.variances * scale[:, np.newaxis])
            fvalue = (total - ssr) / df_model / scale
            freedom, below = df_resid, df_resid
        else:
            bse = np.sqrt(batch.variances)
            fvalue = np.where(out | (constants == IMPLICIT), np.nan, numbers["wald"])
            freedom, below = None, df_resid
            if covariance == "cluster":
                below = numbers["clusters"] - 1.0
        fvalue[df_model == 0] = np.nan
    return batch.statistics(
        bse,
        freedom=freedom,
        level=level,
        rsquared=rsquared,
        rsquared_adj=rsquared_adj,
        fvalue=fvalue,
        f_pvalue=special.fdtrc(df_model, below, fvalue),
        llf=llf,
        scale=scale,
        df_model=df_model,
        df_resid=df_resid,
        condition_number=numbers["condition_number"],
    )


def warm_up() -> None:
    """Load the machine code, so that processes forked later share it; compile it, if it never was."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2, 12))
    fit_least_squares(rows, rows[0] + rng.standard_normal(12), np.array([0, 12]))
