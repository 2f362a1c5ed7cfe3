"""What is said of fitted models, as statsmodels has it: tests, intervals, criteria."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.kernels.reasons import VOUCHED

__all__ = ["COEFFICIENTS", "FITS", "LEVEL", "Covariance", "Statistics"]

Covariance = Literal["nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"]
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

    params, bse, tvalues, pvalues, lower, upper: (groups, coefficients). Estimates, their standard errors, t
        or z, two-sided p, and ends of the confidence intervals.
    rsquared, rsquared_adj, prsquared, fvalue, f_pvalue, llf, deviance, aic, bic, scale: array. Shape
        (groups,): of the whole fit, by the names of statsmodels.
    nobs, df_model, df_resid: (groups,). Rows, and degrees of freedom.
    condition_number: (groups,). Largest over smallest singular value of the (weighted) regressors.
    iterations, converged: (groups,). Of fits that are iterated.
    reasons: int, (groups,). Why a fit was left out, of `shortloop.panel.kernels.reasons`; 0: it was not.
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
        """Of no fit yet."""
        made: dict[str, FloatArray] = {name: np.full((groups, coefficients), np.nan) for name in COEFFICIENTS}
        made |= {name: np.full(groups, np.nan) for name in FITS}
        return cls(**made, reasons=np.zeros(groups, np.int64))

    @classmethod
    def of(
        cls,
        params: FloatArray,
        bse: FloatArray,
        nobs: FloatArray,
        reasons: IntArray,
        *,
        freedom: FloatArray | None = None,
        level: float = LEVEL,
        **known: FloatArray,
    ) -> Statistics:
        """Of fits whose coefficients and standard errors are known.

        params, bse: (groups, coefficients). Coefficients and their standard errors.
        nobs: (groups,). Rows.
        reasons: int, (groups,). Why a fit was left out.
        freedom: (groups,). Degrees of freedom of Student's t.
        **known: (groups,). More of what there is.
        """
        groups, size = params.shape
        more: dict[str, FloatArray] = {"df_model": np.full(groups, size - 1.0), "df_resid": nobs - size}
        if "llf" in known:
            more["aic"] = 2.0 * size - 2.0 * known["llf"]
            more["bic"] = np.log(np.maximum(nobs, 1.0)) * size - 2.0 * known["llf"]
        if "iterations" in known:
            more["converged"] = np.where(reasons == VOUCHED, 1.0, np.nan)
        tvalues, pvalues, half = _tested(params, bse, freedom, level)
        return replace(
            cls.empty(groups, size),
            params=params,
            bse=bse,
            tvalues=tvalues,
            pvalues=pvalues,
            lower=params - half,
            upper=params + half,
            nobs=nobs,
            reasons=reasons,
            **{**more, **known},
        )


def _tested(
    params: FloatArray, bse: FloatArray, freedom: FloatArray | None, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Each coefficient against zero: t or z, its two-sided p, and half the length of the interval."""
    from scipy import special

    from shortloop.panel.kernels.student import two_sided

    with np.errstate(divide="ignore", invalid="ignore"):
        tvalues = params / bse
    tail = (1.0 + level) / 2.0
    if freedom is None:
        return tvalues, 2.0 * special.ndtr(-np.abs(tvalues)), special.ndtri(tail) * bse
    pvalues = two_sided(np.ascontiguousarray(tvalues), freedom)
    different, place = np.unique(freedom, return_inverse=True)
    return tvalues, pvalues, special.stdtrit(different, tail)[place][:, np.newaxis] * bse
