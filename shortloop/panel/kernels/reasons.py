"""Why a compiled fit was left to statsmodels."""

from __future__ import annotations

EDGE = 1e-6
"""Fitted probabilities nearer than this to 0 or 1 may be on their way there: outcomes may be separated."""
RISE = 1e-6
"""By how much twice the log-likelihood may be below its maximum, to second order, where iterations stop: with
regressors so large that coefficients are tiny, Newton's method of statsmodels stops before it is there."""
VOUCHED = 0
(
    SINGULAR,
    ILL_CONDITIONED,
    TOO_FEW_ROWS,
    EXACT_FIT,
    UNCLEAR_CONSTANT,
    LEVERAGE,
    FEW_CLUSTERS,
    NOT_FINITE,
    NO_VARIANCE,
    UNCLEAR_F,
    NEAR_BOUND,
    NOT_CONVERGED,
    NOT_BINARY,
    BAD_WEIGHTS,
    OUTSIDE,
    UNCLEAR_WEIGHT,
    UNSTABLE,
) = range(1, 18)
REASONS = {
    VOUCHED: "",
    SINGULAR: "a regressor may be a sum of others",
    ILL_CONDITIONED: "regressors are nearly sums of others",
    TOO_FEW_ROWS: "no more rows than coefficients",
    EXACT_FIT: "residuals too small to be told from rounding",
    UNCLEAR_CONSTANT: "rounding decides whether a sum of regressors is constant",
    LEVERAGE: "a row nearly alone decides its own fit",
    FEW_CLUSTERS: "hardly more clusters than coefficients",
    NOT_FINITE: "values, or their squares, that are not finite",
    NO_VARIANCE: "a variance that may be rounding",
    UNCLEAR_F: "the covariance of the tested coefficients is nearly singular",
    NEAR_BOUND: "fitted probabilities next to 0 or 1",
    NOT_CONVERGED: "it did not converge, or rounding decides where it stops",
    NOT_BINARY: "outcomes other than 0 and 1",
    BAD_WEIGHTS: "weights that are not positive",
    UNCLEAR_WEIGHT: "rounding decides how much a residual counts",
    UNSTABLE: "rounding grows too much in the iterations",
    OUTSIDE: "outcomes, or means on the way, beyond or next to the bounds of the family",
}
