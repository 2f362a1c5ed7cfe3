"""Robust regressions of all groups, one after the other, along the path that statsmodels goes.

Huber's weights by iteratively reweighted least squares (Huber 1981, Robust Statistics, section 7.8), on an
orthonormal basis of the regressors; each step is solved for what it adds, so that rounding does not grow.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.panel.kernels.columns import basis_of, move, weighted_gram
from shortloop.panel.kernels.reasons import (
    EXACT_FIT,
    ILL_CONDITIONED,
    NOT_CONVERGED,
    NOT_FINITE,
    SINGULAR,
    TOO_FEW_ROWS,
    UNCLEAR_WEIGHT,
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

MAX_ITERATIONS, TOLERANCE = 50, 1e-8
"""As of statsmodels' ``RLM.fit``."""
NORMAL = 0.6744897501960817  # median of the absolute values of a standard normal variable
CONDITION = 1e6  # of the weighted regressors, times the size of the outcome over that of the errors
ROUNDING = 1e-15  # unit of rounding, with some room
EXACT = 1e-9  # share of the outcome's size that errors must have, not to be rounding
TIE = 1e-9  # share of the bound within which rounding may decide whether a residual is beyond it
NUMBERS = ("scale", "condition_number", "iterations", "converged")
"""What is said of each fit beside its coefficients."""


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fit_groups(
    columns: FloatArray,
    outcome: FloatArray,
    starts: IntArray,
    bound: float,
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
    starts : array of int, shape (groups + 1,)
        First row of each group, and the end of the last.
    bound : float
        Residuals beyond this many scales count less.
    beta : array, shape (groups, p)
        Become the coefficients.
    covariance : array, shape (groups, p, p)
        Become their covariances.
    numbers : array, shape (groups, numbers)
        Become `NUMBERS`.
    reasons : array of int, shape (groups,)
        Become one of `shortloop.panel.kernels.reasons`.
    """
    size, longest = columns.shape[0], longest_of(starts)
    store, room = np.empty(size * longest), np.empty((3, longest))
    gram, lower, inverse = np.empty((size, size)), np.zeros((size, size)), np.zeros((size, size))
    first, second, weighted = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    right, gamma, step = np.empty(size), np.empty(size), np.empty(size)
    for g in range(starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        rows = end - begin
        if rows <= size:
            reasons[g] = TOO_FEW_ROWS
            continue
        y = outcome[begin:end]
        q = store[: size * rows].reshape(size, rows)
        left, weight, work = room[0, :rows], room[1, :rows], room[2, :rows]
        left[:] = y
        squares, length = 0.0, math.sqrt(dot(y, y) / rows)
        for j in range(size):
            q[j] = columns[j, begin:end]
            squares += dot(q[j], q[j])
        if not np.isfinite(squares + length):
            reasons[g] = NOT_FINITE
            continue
        largest, smallest = basis_of(q, gram, first, second, lower)
        condition = numbers[g, 1] = largest / smallest
        if not condition < CONDITION:
            reasons[g] = ILL_CONDITIONED if smallest > 0.0 else SINGULAR
            continue
        gamma[:] = 0.0
        for _ in range(2):  # the second time, for what rounding left
            for j in range(size):
                step[j] = dot(q[j], left)
            move(q, step, gamma, left)
        variance = dot(left, left) / (rows - size)
        scale = _scale(left, work)
        before = _criterion(left, variance, bound)
        reasons[g] = VOUCHED
        iteration, last, change = 1, np.inf, np.inf
        while iteration < MAX_ITERATIONS:
            if not scale > EXACT * length:
                reasons[g] = EXACT_FIT
                break
            for i in range(rows):
                distance = abs(left[i])
                weight[i] = 1.0 if distance <= bound * scale else bound * scale / distance
                work[i] = weight[i] * left[i]
            for j in range(size):
                right[j] = dot(q[j], work)
            weighted_gram(q, weight, work, gram)
            if not cholesky(gram, weighted):
                reasons[g] = SINGULAR
                break
            solve(weighted, right, step)
            move(q, step, gamma, left)
            for i in range(rows):
                work[i] = weight[i] * left[i]
            variance = dot(left, work) / (rows - size)
            scale = _scale(left, work)
            iteration += 1
            now = _criterion(left, variance, bound)
            last, change = min(last, change), abs(before - now)
            before = now
            if not change > TOLERANCE:
                break
        if reasons[g] != VOUCHED:
            continue
        numbers[g, 0], numbers[g, 2], numbers[g, 3] = scale, iteration, change <= TOLERANCE
        above, below = singular_values(weighted, gram)
        if not condition * length * above < CONDITION * scale * below:
            reasons[g] = ILL_CONDITIONED if scale > EXACT * length else EXACT_FIT
            continue
        factor = _inflation(left, scale, bound, size)
        if not factor > 0.0:
            reasons[g] = UNCLEAR_WEIGHT
            continue
        inverse_of(lower, inverse)
        coefficients_of(inverse, gamma, beta[g])
        inverse_of(weighted, first)
        product_of(first, inverse, second)
        for i in range(rows):
            work[i] = weight[i] * y[i]
        length = math.sqrt(dot(work, y)) + above * largest * math.sqrt(dot(beta[g], beta[g]))
        for i in range(size):
            right[i] = length * math.sqrt(dot(second[i:, i], second[i:, i]))
        noise = _noise(columns[:, begin:end], y, beta[g], right, left, weight, variance, scale, bound, work)
        if not min(last - TOLERANCE, abs(TOLERANCE - change)) > ROUNDING * noise:
            reasons[g] = NOT_CONVERGED
            continue
        outer_of(inverse, covariance[g])
        covariance[g] *= factor * scale**2


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _scale(left: FloatArray, work: FloatArray) -> float:
    for i in range(left.shape[0]):
        work[i] = abs(left[i])
    return float(np.median(work)) / NORMAL


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _criterion(left: FloatArray, variance: float, bound: float) -> float:
    """What statsmodels calls the deviance: residuals are divided by a variance, and not by a scale."""
    total = 0.0
    for i in range(left.shape[0]):
        distance = abs(left[i] / variance)
        total += 0.5 * distance * distance if distance <= bound else bound * (distance - 0.5 * bound)
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _inflation(left: FloatArray, scale: float, bound: float, size: int) -> float:
    """By how much the covariance is larger than that of least squares with a variance of scale².

    Huber 1981, Robust Statistics, section 7.6; ``H1`` of statsmodels.

    Parameters
    ----------
    left : array, shape (n,)
        Residuals.
    scale, bound : float
        Of residuals; and how many of it they may be to count in full.
    size : int
        Number of coefficients.

    Returns
    -------
    float
        Negative if none counts in full, or rounding decides whether one does.
    """
    rows, inside, squares = left.shape[0], 0, 0.0
    for i in range(rows):
        distance = abs(left[i]) / scale
        if abs(distance - bound) < TIE * bound:
            return -1.0
        if distance < bound:
            inside += 1
        squares += min(distance, bound) ** 2
    if inside == 0:
        return -1.0
    share = inside / rows
    k = 1.0 + size / rows * (1.0 - share) / share
    return k * k * squares / (rows - size) / (share * share)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _noise(
    x: FloatArray,
    y: FloatArray,
    beta: FloatArray,
    errors: FloatArray,
    left: FloatArray,
    weight: FloatArray,
    variance: float,
    scale: float,
    bound: float,
    work: FloatArray,
) -> float:
    """By how much rounding moves the criterion of statsmodels, times one over the unit of rounding.

    Parameters
    ----------
    x, y : array, shape (p, n) and (n,)
    beta, errors : array, shape (p,)
        Coefficients, and what rounding does to them.
    left, weight : array, shape (n,)
        Residuals, and the weights that led to them.
    variance, scale, bound : float
        Of the residuals; and how many scales they may be to count in full.
    work : array, shape (n,)
        Is written to.

    Returns
    -------
    float
    """
    rows = y.shape[0]
    criterion = directly = spread = inside = outside = 0.0
    for i in range(rows):
        distance = min(abs(left[i]) / variance, bound)
        work[i] = math.copysign(distance, left[i]) / variance
        criterion += distance * (abs(left[i]) / variance - 0.5 * distance)
        size = abs(y[i])
        for j in range(x.shape[0]):
            size += abs(beta[j] * x[j, i])
        directly += (work[i] * size) ** 2
        spread += size * size
        if weight[i] < 1.0:
            outside += weight[i] * left[i] * left[i]
        else:
            inside += left[i] * left[i]
    by_coefficients, by_scale = 0.0, math.sqrt(spread / rows)
    for j in range(x.shape[0]):
        by_coefficients += abs(dot(x[j], work)) * errors[j]
        by_scale += math.sqrt(dot(x[j], x[j]) / rows) * errors[j]
    by_scale *= 2.0 * criterion * outside / (inside + outside) / scale  # by way of weights and variance
    return criterion + math.sqrt(directly) + by_coefficients + by_scale
