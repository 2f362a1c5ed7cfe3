"""Logistic regressions of many groups at once, with the numbers of statsmodels."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.batch import Batch, Columns
from shortloop.panel.kernels.covariance import KINDS
from shortloop.panel.kernels.newton import NUMBERS, fit_groups
from shortloop.panel.statistics import LEVEL, Covariance, Statistics

__all__ = ["fit_logit", "warm_up"]


def fit_logit(
    columns: Columns,
    outcome: FloatArray,
    starts: IntArray,
    *,
    covariance: Covariance = "nonrobust",
    clusters: IntArray | None = None,
    level: float = LEVEL,
) -> Statistics:
    """Fit a logistic regression to each group of rows.

    Coefficients, standard errors and the number of iterations are those of ``statsmodels.api.Logit``, by
    Newton's method from zero. Fits that cannot be vouched for are left out, with a reason.

    outcome: (rows,). 0 or 1.
    starts: int64, (groups + 1,). First row of each group, and the end of the last.
    clusters: int64, (rows,). For "cluster": numbers from 0 in each group, without gaps.
    """
    from scipy import special

    batch = Batch(columns, outcome, starts, NUMBERS, clusters=clusters)
    numbers = batch.run(fit_groups, KINDS[covariance])
    ones, nobs = numbers.pop("outcomes"), batch.nobs
    with np.errstate(divide="ignore", invalid="ignore"):
        llnull = special.xlogy(ones, ones / nobs) + special.xlogy(nobs - ones, 1.0 - ones / nobs)
        prsquared = 1.0 - numbers["llf"] / llnull
    scale = np.where(np.isnan(numbers["iterations"]), np.nan, 1.0)  # as statsmodels has it
    return batch.statistics(level=level, prsquared=prsquared, scale=scale, **numbers)


def warm_up() -> None:
    """Load the machine code, so that processes forked later share it; compile it, if it never was."""
    rng = np.random.default_rng(0)
    fit_logit(rng.standard_normal((2, 12)), np.tile([0.0, 1.0], 6), np.array([0, 12]))
