"""What is said of fitted models, as statsmodels has it: tests, intervals, criteria."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortloop.types import FloatArray, IntArray

__all__ = ["COEFFICIENTS", "FITS", "LEVEL", "Statistics", "infer"]

LEVEL = 0.95
"""Of confidence intervals."""


COEFFICIENTS = {
    "params": "estimate",
    "bse": "standard error",
    "tvalues": "t, or z, of the hypothesis that the coefficient is 0",
    "pvalues": "its two-sided p",
    "lower": "lower end of the confidence interval",
    "upper": "upper end of the confidence interval",
}
"""What is said of each coefficient, and what it is."""
FITS = {
    "rsquared": "R²",
    "rsquared_adj": "adjusted R²",
    "prsquared": "McFadden's pseudo R²",
    "fvalue": "F of the hypothesis that all coefficients but the constant are 0",
    "f_pvalue": "its p",
    "llf": "log-likelihood",
    "deviance": "deviance",
    "aic": "Akaike's criterion",
    "bic": "Bayesian criterion",
    "scale": "variance, or dispersion, of the errors",
    "nobs": "number of rows",
    "df_model": "degrees of freedom of the model",
    "df_resid": "degrees of freedom of the residuals",
    "condition_number": "condition number of the (weighted) regressors",
    "iterations": "number of iterations",
    "converged": "1: the iterations converged, 0: they did not",
}
"""What is said of each fit, and what it is."""


@dataclass(frozen=True)
class Statistics:
    """Results of one model in many groups; NaN where there is none, or the model has no such number.

    Parameters
    ----------
    params, bse, tvalues, pvalues, lower, upper : array, shape (groups, coefficients)
        Estimates, their standard errors, t or z, two-sided p, and ends of the confidence intervals.
    rsquared, rsquared_adj, prsquared, fvalue, f_pvalue, llf, deviance, aic, bic, scale : array
        Shape (groups,): of the whole fit, by the names of statsmodels.
    nobs, df_model, df_resid : array, shape (groups,)
        Rows, and degrees of freedom.
    condition_number : array, shape (groups,)
        Largest over smallest singular value of the (weighted) regressors.
    iterations, converged : array, shape (groups,)
        Of fits that are iterated.
    reasons : array of int, shape (groups,)
        Why a fit was left out, of `shortloop.panel.kernels.reasons`; 0: it was not.
    """

    params: FloatArray
    bse: FloatArray
    tvalues: FloatArray
    pvalues: FloatArray
    lower: FloatArray
    upper: FloatArray
    rsquared: FloatArray
    rsquared_adj: FloatArray
    prsquared: FloatArray
    fvalue: FloatArray
    f_pvalue: FloatArray
    llf: FloatArray
    deviance: FloatArray
    aic: FloatArray
    bic: FloatArray
    scale: FloatArray
    nobs: FloatArray
    df_model: FloatArray
    df_resid: FloatArray
    condition_number: FloatArray
    iterations: FloatArray
    converged: FloatArray
    reasons: IntArray

    @classmethod
    def empty(cls, groups: int, coefficients: int) -> Statistics:
        """Of no fit yet.

        Parameters
        ----------
        groups, coefficients : int
            How many there are.

        Returns
        -------
        Statistics
            NaN everywhere.
        """
        made: dict[str, FloatArray] = {name: np.full((groups, coefficients), np.nan) for name in COEFFICIENTS}
        made |= {name: np.full(groups, np.nan) for name in FITS}
        return cls(**made, reasons=np.zeros(groups, np.int64))


def infer(
    params: FloatArray, bse: FloatArray, freedom: FloatArray | None, level: float = LEVEL
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Test each coefficient against zero.

    Parameters
    ----------
    params, bse : array, shape (groups, coefficients)
        Coefficients and their standard errors.
    freedom : array, shape (groups,), or None
        Degrees of freedom of Student's t; None: the normal distribution.
    level : float, default 0.95
        Of the intervals.

    Returns
    -------
    tvalues, pvalues, lower, upper : array, shape (groups, coefficients)
        t or z, two-sided p, and the ends of confidence intervals.
    """
    from scipy import special

    with np.errstate(divide="ignore", invalid="ignore"):
        tvalues = params / bse
    tail = (1.0 + level) / 2.0
    if freedom is None:
        pvalues = 2.0 * special.ndtr(-np.abs(tvalues))
        quantile = special.ndtri(tail)
    else:
        pvalues = 2.0 * special.stdtr(freedom[:, np.newaxis], -np.abs(tvalues))
        quantile = special.stdtrit(freedom, tail)[:, np.newaxis]
    half = quantile * bse
    return tvalues, pvalues, params - half, params + half
