"""Generalized linear models of all groups, one after the other, along the path that statsmodels goes.

Iteratively reweighted least squares (McCullagh and Nelder 1989, Generalized Linear Models, section 2.5), on
an orthonormal basis of the regressors, so that their condition does not matter within the iterations.
"""

from __future__ import annotations

import numba
import numpy as np

from shortloop.panel.kernels.columns import basis_of, weighted_gram
from shortloop.panel.kernels.covariance import CLUSTER, NONROBUST, robust_likelihood
from shortloop.panel.kernels.families import (
    BINOMIAL,
    GAMMA,
    POISSON,
    deviance_of,
    log_factorials,
    log_likelihood,
    logs_of,
    means_of,
    observed_of,
    scale_of,
    slopes_of,
    start_values,
    weights_of,
)
from shortloop.panel.kernels.reasons import (
    ILL_CONDITIONED,
    NO_VARIANCE,
    NOT_BINARY,
    NOT_CONVERGED,
    NOT_FINITE,
    OUTSIDE,
    SEPARATED,
    SINGULAR,
    TOO_FEW_ROWS,
    VOUCHED,
)
from shortloop.panel.kernels.rows import longest_of
from shortloop.panel.kernels.triangles import (
    cholesky,
    coefficients_of,
    dot,
    inverse_of,
    outer_of,
    product_of,
    singular_values,
    solve,
)
from shortloop.types import FloatArray, IntArray

__all__ = ["NUMBERS", "fit_groups"]

MAX_ITERATIONS, TOLERANCE = 100, 1e-8
"""As of statsmodels' ``GLM.fit``."""
NEAR = 0.01  # share of the tolerance within which rounding may decide whether there is one more step
ROUNDING = 1e-14  # share of a deviance that may be rounding
CONDITION = 1e6  # of the weighted regressors: statsmodels loses as many digits
RISE = 1e-9  # share of the deviance that a step may add to it
NUMBERS = ("llf", "deviance", "scale", "condition_number", "iterations")
"""What is said of each fit beside its coefficients."""


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fit_groups(
    columns: FloatArray,
    outcome: FloatArray,
    clusters: IntArray,
    starts: IntArray,
    family: int,
    link: int,
    kind: int,
    beta: FloatArray,
    covariance: FloatArray,
    numbers: FloatArray,
    reasons: IntArray,
) -> None:
    """Fit each group of rows.

    Parameters
    ----------
    columns : array, shape (p, rows)
        Regressors.
    outcome : array, shape (rows,)
    clusters : array of int, shape (rows,) or (0,)
        As of `shortloop.panel.kernels.covariance.middle_of_clusters`.
    starts : array of int, shape (groups + 1,)
        First row of each group, and the end of the last.
    family, link : int
        Places in `FAMILIES` and `LINKS` of `shortloop.panel.kernels.families`.
    kind : int
        Of the covariance, as of `shortloop.panel.kernels.covariance`.
    beta : array, shape (groups, p)
        Become the coefficients.
    covariance : array, shape (groups, p, p)
        Become their covariances.
    numbers : array, shape (groups, numbers)
        Become `NUMBERS`.
    reasons : array of int, shape (groups,)
        Become one of `shortloop.panel.kernels.reasons`.
    """
    size = columns.shape[0]
    longest = longest_of(starts)
    store, room = np.empty(size * longest), np.empty((6, longest))
    sums = np.empty((longest, size)) if kind == CLUSTER else np.empty((0, size))
    gram, lower, inverse = np.empty((size, size)), np.zeros((size, size)), np.zeros((size, size))
    first, second, weighted = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    right, gamma, factorials = np.empty(size), np.empty(size), log_factorials(family)
    for g in range(starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        rows = end - begin
        if rows <= size:
            reasons[g] = TOO_FEW_ROWS
            continue
        y = outcome[begin:end]
        reasons[g] = _suits(family, y)
        if reasons[g] != VOUCHED:
            continue
        q = store[: size * rows].reshape(size, rows)
        for j in range(size):
            q[j] = columns[j, begin:end]
        squares = 0.0
        for j in range(size):
            squares += dot(q[j], q[j])
        if not np.isfinite(squares):
            reasons[g] = NOT_FINITE
            continue
        largest, smallest = basis_of(q, gram, first, second, lower)
        numbers[g, 3] = largest / smallest
        if not numbers[g, 3] < CONDITION:
            reasons[g] = ILL_CONDITIONED if smallest > 0.0 else SINGULAR
            continue
        eta, mu, slope, weight = room[0, :rows], room[1, :rows], room[2, :rows], room[3, :rows]
        work, logs = room[4, :rows], room[5, :rows]
        logs_of(family, y, logs)
        start_values(family, link, y, eta, mu)
        scale = scale_of(family, y, mu, rows - size)
        before = deviance_of(family, link, y, logs, eta, mu) / scale
        reasons[g] = NOT_CONVERGED
        last = np.inf
        for iteration in range(MAX_ITERATIONS):
            slopes_of(link, eta, mu, slope)
            weights_of(family, mu, slope, weight)
            for i in range(rows):
                work[i] = weight[i] * (eta[i] + slope[i] * (y[i] - mu[i]))
            for j in range(size):
                right[j] = dot(q[j], work)
            weighted_gram(q, weight, work, gram)
            if not cholesky(gram, weighted):
                reasons[g] = SINGULAR
                break
            solve(weighted, right, gamma)
            eta[:] = 0.0
            for j in range(size):
                factor = gamma[j]
                for i in range(rows):
                    eta[i] += factor * q[j, i]
            if not means_of(family, link, eta, mu):
                reasons[g] = SEPARATED if family == BINOMIAL else OUTSIDE
                break
            deviance = deviance_of(family, link, y, logs, eta, mu)
            if iteration > 0 and deviance > last * (1.0 + RISE):  # rounding may grow with each such step
                break
            last = deviance
            now = deviance / scale
            scale = scale_of(family, y, mu, rows - size)
            change = abs(before - now)
            if abs(change - TOLERANCE) < NEAR * TOLERANCE + ROUNDING * abs(now):
                break
            before = now
            if change <= TOLERANCE:
                reasons[g] = VOUCHED
                numbers[g, 1], numbers[g, 2], numbers[g, 4] = deviance, scale, iteration + 1
                break
        if reasons[g] != VOUCHED:
            continue
        largest, smallest = singular_values(weighted, gram)
        if not numbers[g, 3] * largest < CONDITION * smallest:
            reasons[g] = ILL_CONDITIONED
            continue
        inverse_of(lower, inverse)
        coefficients_of(inverse, gamma, beta[g])
        numbers[g, 0] = log_likelihood(family, link, y, eta, mu, scale, factorials)
        if kind == NONROBUST:
            inverse_of(weighted, first)
            product_of(first, inverse, second)
            outer_of(second, covariance[g])
            covariance[g] *= scale
            continue
        slopes_of(link, eta, mu, slope)
        observed_of(family, link, eta, y, mu, slope, weight, work)
        weighted_gram(q, weight, eta, gram)
        if not cholesky(gram, weighted):
            reasons[g] = NO_VARIANCE
            continue
        product_of(lower, weighted, first)
        largest, smallest = singular_values(first, gram)
        if not largest**2 < CONDITION * smallest**2:  # statsmodels inverts the second derivatives
            reasons[g] = ILL_CONDITIONED
            continue
        inverse_of(weighted, first)
        product_of(first, inverse, second)
        some = clusters[begin:end] if kind == CLUSTER else clusters
        reasons[g] = robust_likelihood(kind, q, work, some, first, second, scale, sums, eta, covariance[g])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _suits(family: int, y: FloatArray) -> int:
    """Whether outcomes can be of a family, as far as code for it is here."""
    for i in range(y.shape[0]):
        if not np.isfinite(y[i]):
            return NOT_FINITE
        if family == BINOMIAL and y[i] != 0.0 and y[i] != 1.0:
            return NOT_BINARY
        if (family == POISSON and y[i] < 0.0) or (family == GAMMA and y[i] <= 0.0):
            return OUTSIDE
    return VOUCHED
