"""Results of fits, by name: statistics as statsmodels has them, and what became of each fit."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from enum import IntEnum
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Self

import numpy as np

LEVEL = 0.95  # level of confidence intervals
COEFFICIENTS = {  # statistics of coefficients, with descriptions
    "params": "estimate",
    "bse": "standard error",
    "tvalues": "t, or z, of the hypothesis that the coefficient is 0",
    "pvalues": "its two-sided p",
    "lower": "lower end of the confidence interval",
    "upper": "upper end of the confidence interval",
}
FITS = {  # statistics of fits, with descriptions
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

TESTS = {  # statistics of hypotheses, with descriptions
    "test_effect": "left side less right side, but for its number, of a single hypothesis",
    "test_bse": "its standard error",
    "test_statistic": "F, or χ², of the hypotheses",
    "test_df": "number of hypotheses",
    "test_df_denom": "degrees of freedom of the denominator of F; infinite: χ²",
    "test_pvalues": "p of the hypotheses",
}
MARGINS = {f"margin_{name}": f"{said}, of marginal effects" for name, said in COEFFICIENTS.items()}
BOOTSTRAP = {"pvalues_bootstrap": "its p by the wild cluster bootstrap"}
CONSTANT = "Intercept"  # the name of its coefficient


SCORES = {  # statistics of cross-validated scores, (groups, scores), with descriptions
    "score": "mean over folds",
    "score_std": "standard deviation over folds",
}

ALPHA = "alpha"  # name of the statistic of the penalty that is chosen, (groups,)
CHOSEN = "penalty that cross-validation chose"


class Status(IntEnum):
    """Outcome of a fit. Of all but the first and the last, numbers, if any, are not to be relied on."""

    FITTED = 0
    SINGULAR = 1
    SEPARATED = 2
    NOT_CONVERGED = 3
    CONSTANT_OUTCOME = 4
    TOO_FEW_ROWS = 5
    MISSING_VALUES = 6
    VALUES_NOT_FINITE = 7
    FAILED = 8
    LEVERAGE_OF_1 = 9


class Reason(IntEnum):
    """Why compiled code left a fit to statsmodels."""

    said: str

    def __new__(cls, number: int, said: str) -> Self:
        found = int.__new__(cls, number)
        found._value_, found.said = number, said
        return found

    VOUCHED = 0, ""
    SINGULAR = 1, "a regressor may be a sum of others"
    ILL_CONDITIONED = 2, "regressors are nearly sums of others"
    TOO_FEW_ROWS = 3, "no more rows than coefficients"
    EXACT_FIT = 4, "residuals too small to be told from rounding"
    UNCLEAR_CONSTANT = 5, "rounding decides whether a sum of regressors is constant"
    LEVERAGE = 6, "a row nearly alone decides its own fit"
    FEW_CLUSTERS = 7, "hardly more clusters than coefficients"
    NOT_FINITE = 8, "values, or their squares, that are not finite"
    NO_VARIANCE = 9, "a variance that may be rounding"
    UNCLEAR_F = 10, "the covariance of the tested coefficients is nearly singular"
    NEAR_BOUND = 11, "fitted probabilities next to 0 or 1"
    NOT_CONVERGED = 12, "it did not converge, or rounding decides where it stops"
    NOT_BINARY = 13, "outcomes other than 0 and 1"
    BAD_WEIGHTS = 14, "weights that are not positive"
    OUTSIDE = 15, "outcomes, or means on the way, beyond or next to the bounds of the family"
    UNCLEAR_WEIGHT = 16, "rounding decides how much a residual counts"
    UNSTABLE = 17, "rounding may change the coefficients"
    SAME_TIME = 18, "two rows have the same time"


EDGE = 1e-6  # fitted probabilities nearer to 0 or 1 may be on their way: outcomes may be separated
RISE = 1e-6
"""By how much twice the log-likelihood may be below its maximum, to second order, where iterations stop: with
regressors so large that coefficients are tiny, Newton's method of statsmodels stops before it is there."""
STATUSES = tuple(each.name.lower().replace("_", " ") for each in Status)
PATHS = ("batched", "statsmodels", "scikit-learn")  # the code that fits, by number
CODES = {  # arrays of such codes, with descriptions
    "status": "what became of the fit: " + ", ".join(f"{i} {each}" for i, each in enumerate(STATUSES)),
    "path": "which code fitted it: " + ", ".join(f"{i} {each}" for i, each in enumerate(PATHS)),
}
Statistics = dict[str, np.ndarray]
"""Arrays of `COEFFICIENTS`, (groups, coefficients), and of `FITS`, (groups,); NaN where there is none.

And "reasons", (groups,): the `Reason` why compiled code left a fit.
"""
Terms = tuple[tuple[str, ...], tuple[int, ...]]  # names of coefficients, and the term of the formula of each


def empty_statistics(groups: int, coefficients: int) -> Statistics:
    made: Statistics = {name: np.full((groups, coefficients), np.nan) for name in COEFFICIENTS}
    made |= {name: np.full(groups, np.nan) for name in FITS}
    return made | {"reasons": np.zeros(groups, np.int64)}


def merge_terms(parts: Iterable[Terms]) -> Terms:
    """Merge coefficients of groups that differ in these, in one order."""
    different = sorted(set(parts))
    terms = {name: term for names, of in different for name, term in zip(names, of, strict=True)}
    after: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(terms, ()))
    for names, _ in different:
        for first, second in pairwise(names):
            after.add(second, first)
    try:
        after.prepare()
    except CycleError:  # formulas that order what they make by what rows hold
        return tuple(terms), tuple(terms.values())
    ready: list[tuple[int, str, str]] = []
    order: list[str] = []
    while after.is_active():
        for name in after.get_ready():
            heapq.heappush(ready, (terms[name], name.replace("]", "\0"), name))  # "a" is before "a b"
        order.append(heapq.heappop(ready)[-1])
        after.done(order[-1])
    return tuple(order), tuple(terms[name] for name in order)
