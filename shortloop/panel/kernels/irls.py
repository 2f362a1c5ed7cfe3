"""Generalized linear models of all groups, one after the other, along the path that statsmodels goes.

Iteratively reweighted least squares (McCullagh and Nelder 1989, Generalized Linear Models, section 2.5), on
an orthonormal basis of the regressors, so that their condition does not matter within the iterations.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.panel.kernels.columns import basis_of, weighted_gram
from shortloop.panel.kernels.covariance import CLUSTER, NONROBUST, robust_likelihood
from shortloop.panel.kernels.reasons import (
    EDGE,
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

__all__ = ["FAMILIES", "LINKS", "NUMBERS", "fit_groups"]

FAMILIES = ("binomial", "poisson", "gamma", "gaussian")
BINOMIAL, POISSON, GAMMA, GAUSSIAN = range(4)
LINKS = ("logit", "probit", "cloglog", "log", "identity", "inverse_power", "sqrt")
LOGIT, PROBIT, CLOGLOG, LOG, IDENTITY, INVERSE, SQRT = range(7)
MAX_ITERATIONS, TOLERANCE = 100, 1e-8
"""As of statsmodels' ``GLM.fit``."""
NEAR = 0.01  # share of the tolerance within which rounding may decide whether there is one more step
ROUNDING = 1e-14  # share of a deviance that may be rounding
CONDITION = 1e6  # of the weighted regressors: statsmodels loses as many digits
RISE = 1e-9  # share of the deviance that a step may add to it
TWO_PI = 2.0 * math.pi
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
        Places in `FAMILIES` and `LINKS`.
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
    store, room = np.empty(size * longest), np.empty((5, longest))
    sums = np.empty((longest, size)) if kind == CLUSTER else np.empty((0, size))
    gram, lower, inverse = np.empty((size, size)), np.zeros((size, size)), np.zeros((size, size))
    first, second, weighted = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    right, gamma = np.empty(size), np.empty(size)
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
        work = room[4, :rows]
        _begin(family, link, y, eta, mu)
        scale = _scale(family, y, mu, rows - size)
        before = _deviance(family, y, mu) / scale
        reasons[g] = NOT_CONVERGED
        last = np.inf
        for iteration in range(MAX_ITERATIONS):
            _slopes(link, eta, mu, slope)
            _weights(family, mu, slope, weight)
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
            if not _means(family, link, eta, mu):
                reasons[g] = SEPARATED if family == BINOMIAL else OUTSIDE
                break
            deviance = _deviance(family, y, mu)
            if iteration > 0 and deviance > last * (1.0 + RISE):  # rounding may grow with each such step
                break
            last = deviance
            now = deviance / scale
            scale = _scale(family, y, mu, rows - size)
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
        numbers[g, 0] = _log_likelihood(family, link, y, mu, scale)
        if kind == NONROBUST:
            inverse_of(weighted, first)
            product_of(first, inverse, second)
            outer_of(second, covariance[g])
            covariance[g] *= scale
            continue
        _slopes(link, eta, mu, slope)
        _observed(family, link, eta, y, mu, slope, weight, work)
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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _begin(family: int, link: int, y: FloatArray, eta: FloatArray, mu: FloatArray) -> None:
    """Means and sums of regressors to begin with."""
    mean = 0.5
    if family != BINOMIAL:
        mean = 0.0
        for i in range(y.shape[0]):
            mean += y[i]
        mean /= y.shape[0]
    for i in range(y.shape[0]):
        mu[i] = (y[i] + mean) / 2.0
        if link == LOGIT:
            eta[i] = math.log(mu[i] / (1.0 - mu[i]))
        elif link == PROBIT:
            eta[i] = -0.6744897501960817 if mu[i] == 0.25 else 0.6744897501960817
        elif link == CLOGLOG:
            eta[i] = math.log(-math.log(1.0 - mu[i]))
        elif link == LOG:
            eta[i] = math.log(mu[i]) if mu[i] > 0.0 else np.nan
        elif link == IDENTITY:
            eta[i] = mu[i]
        elif link == INVERSE:
            eta[i] = 1.0 / mu[i] if mu[i] != 0.0 else np.nan
        else:
            eta[i] = math.sqrt(mu[i]) if mu[i] >= 0.0 else np.nan


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _means(family: int, link: int, eta: FloatArray, mu: FloatArray) -> bool:
    """Means of sums of regressors; False if one is next to where statsmodels cuts it off, or beyond."""
    for i in range(eta.shape[0]):
        if link == LOGIT:
            mu[i] = 1.0 / (1.0 + math.exp(-eta[i]))
        elif link == PROBIT:
            mu[i] = 0.5 * math.erfc(-eta[i] / math.sqrt(2.0))
        elif link == CLOGLOG:
            mu[i] = 1.0 - math.exp(-math.exp(eta[i]))
        elif link == LOG:
            mu[i] = math.exp(eta[i])
        elif link == IDENTITY:
            mu[i] = eta[i]
        elif link == INVERSE:
            mu[i] = 1.0 / eta[i]
        else:
            mu[i] = eta[i] * eta[i]
    lowest, highest = np.inf, -np.inf
    for i in range(mu.shape[0]):
        lowest, highest = min(lowest, mu[i]), max(highest, mu[i])
    if family == BINOMIAL:
        return lowest > EDGE and highest < 1.0 - EDGE
    if family == GAUSSIAN:
        return np.isfinite(lowest) and np.isfinite(highest)
    return lowest > EDGE and highest < 1.0 / EDGE


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _slopes(link: int, eta: FloatArray, mu: FloatArray, slope: FloatArray) -> None:
    """Derivatives of the link."""
    for i in range(mu.shape[0]):
        if link == LOGIT:
            slope[i] = 1.0 / (mu[i] * (1.0 - mu[i]))
        elif link == PROBIT:
            slope[i] = math.sqrt(TWO_PI) * math.exp(0.5 * eta[i] * eta[i])
        elif link == CLOGLOG:
            slope[i] = 1.0 / ((mu[i] - 1.0) * math.log(1.0 - mu[i]))
        elif link == LOG:
            slope[i] = 1.0 / mu[i]
        elif link == IDENTITY:
            slope[i] = 1.0
        elif link == INVERSE:
            slope[i] = -1.0 / (mu[i] * mu[i])
        else:
            slope[i] = 0.5 / math.sqrt(mu[i])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _variance(family: int, mu: float) -> float:
    if family == BINOMIAL:
        return mu * (1.0 - mu)
    if family == POISSON:
        return mu
    return mu * mu if family == GAMMA else 1.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _weights(family: int, mu: FloatArray, slope: FloatArray, weight: FloatArray) -> None:
    for i in range(mu.shape[0]):
        weight[i] = 1.0 / (slope[i] * slope[i] * _variance(family, mu[i]))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _observed(
    family: int,
    link: int,
    eta: FloatArray,
    y: FloatArray,
    mu: FloatArray,
    slope: FloatArray,
    weight: FloatArray,
    score: FloatArray,
) -> None:
    """Derivatives of the likelihood of each row, and the second with their sign turned, times the scale."""
    for i in range(mu.shape[0]):
        m = mu[i]
        if link == LOGIT:
            bend = (2.0 * m - 1.0) / (m * (1.0 - m)) ** 2
        elif link == PROBIT:
            bend = eta[i] * slope[i] * slope[i]
        elif link == CLOGLOG:
            bend = -(1.0 + math.log(1.0 - m)) * slope[i] * slope[i]
        elif link == LOG:
            bend = -1.0 / (m * m)
        elif link == IDENTITY:
            bend = 0.0
        elif link == INVERSE:
            bend = 2.0 / (m * m * m)
        else:
            bend = -0.25 / (m * math.sqrt(m))
        of_mean = 0.0  # derivative of the variance
        if family == BINOMIAL:
            of_mean = 1.0 - 2.0 * m
        elif family == POISSON:
            of_mean = 1.0
        elif family == GAMMA:
            of_mean = 2.0 * m
        variance = _variance(family, m)
        score[i] = (y[i] - m) / (slope[i] * variance)
        weight[i] = (1.0 + score[i] * (variance * bend + of_mean * slope[i])) / (slope[i] ** 2 * variance)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _scale(family: int, y: FloatArray, mu: FloatArray, freedom: int) -> float:
    """1, or Pearson's χ² over the degrees of freedom."""
    if family in (BINOMIAL, POISSON):
        return 1.0
    total = 0.0
    for i in range(y.shape[0]):
        total += (y[i] - mu[i]) ** 2 / _variance(family, mu[i])
    return total / freedom


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _deviance(family: int, y: FloatArray, mu: FloatArray) -> float:
    total = 0.0
    for i in range(y.shape[0]):
        if family == BINOMIAL:
            total -= math.log(mu[i]) if y[i] == 1.0 else math.log(1.0 - mu[i])
        elif family == POISSON:
            total -= y[i] - mu[i]
            if y[i] > 0.0:
                total += y[i] * math.log(y[i] / mu[i])
        elif family == GAMMA:
            total += (y[i] - mu[i]) / mu[i] - math.log(y[i] / mu[i])
        else:
            total += 0.5 * (y[i] - mu[i]) ** 2
    return 2.0 * total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _log_likelihood(family: int, link: int, y: FloatArray, mu: FloatArray, scale: float) -> float:
    total, rows = 0.0, y.shape[0]
    if family == GAUSSIAN:
        squares = 0.0
        for i in range(rows):
            squares += (y[i] - mu[i]) ** 2
        if link == IDENTITY:
            scale = squares / rows
        return -0.5 * (squares / scale + rows * math.log(TWO_PI * scale))
    for i in range(rows):
        if family == BINOMIAL:
            total += math.log(mu[i]) if y[i] == 1.0 else math.log(1.0 - mu[i])
        elif family == POISSON:
            total += y[i] * math.log(mu[i]) - mu[i] - math.lgamma(y[i] + 1.0)
        else:
            total += (math.log(y[i] / (scale * mu[i])) - y[i] / mu[i]) / scale - math.log(y[i])
    return total - rows * math.lgamma(1.0 / scale) if family == GAMMA else total
