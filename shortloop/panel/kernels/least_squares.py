"""Least squares of all groups, one after the other, without leaving compiled code."""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.panel.kernels.columns import (
    NO_CONSTANT,
    UNCLEAR,
    basis_of,
    constant_of,
    implicit_constant,
)
from shortloop.panel.kernels.covariance import (
    CLUSTER,
    NONROBUST,
    UNCLEAR_TEST,
    middle_of_clusters,
    middle_of_rows,
    wald,
)
from shortloop.panel.kernels.reasons import (
    BAD_WEIGHTS,
    EXACT_FIT,
    FEW_CLUSTERS,
    ILL_CONDITIONED,
    LEVERAGE,
    NO_VARIANCE,
    NOT_FINITE,
    SINGULAR,
    TOO_FEW_ROWS,
    UNCLEAR_CONSTANT,
    UNCLEAR_F,
    VOUCHED,
)
from shortloop.panel.kernels.rows import longest_of
from shortloop.panel.kernels.triangles import dot, inverse_of, outer_of, sandwich_of
from shortloop.types import FloatArray, IntArray

__all__ = ["CONDITION", "NUMBERS", "fit_groups"]

CONDITION = 1e6
"""Up to this condition number of the columns, times the length of the outcome over that of the residuals,
statsmodels itself has nine digits of standard errors."""
SMALL = 1e-8  # times what it is with errors that are all alike: less than this, a variance may be rounding
EXACT = 1e-12  # share of the squares that residuals must have, not to be rounding
NUMBERS = ("ssr", "centered_tss", "uncentered_tss", "condition_number", "log_weights", "wald", "clusters")
"""What is said of each fit beside its coefficients."""


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fit_groups(
    columns: FloatArray,
    outcome: FloatArray,
    weights: FloatArray,
    clusters: IntArray,
    starts: IntArray,
    kind: int,
    beta: FloatArray,
    covariance: FloatArray,
    numbers: FloatArray,
    constants: IntArray,
    reasons: IntArray,
) -> None:
    """Fit each group of rows by weighted least squares.

    Parameters
    ----------
    columns : array, shape (p, rows)
        Regressors.
    outcome : array, shape (rows,)
    weights : array, shape (rows,) or (0,)
        None: all alike.
    clusters : array of int, shape (rows,) or (0,)
        As of `shortloop.panel.kernels.covariance.middle_of_clusters`.
    starts : array of int, shape (groups + 1,)
        First row of each group, and the end of the last.
    kind : int
        Of the covariance, as of `shortloop.panel.kernels.covariance`.
    beta : array, shape (groups, p)
        Become the coefficients.
    covariance : array, shape (groups, p, p)
        Become their covariances; of `NONROBUST` without the variance of the errors.
    numbers : array, shape (groups, numbers)
        Become `NUMBERS`.
    constants : array of int, shape (groups,)
        Become what `shortloop.panel.kernels.columns.constant_of` and `implicit_constant` say.
    reasons : array of int, shape (groups,)
        Become one of `shortloop.panel.kernels.reasons`.
    """
    size = columns.shape[0]
    longest = longest_of(starts)
    store = np.empty(size * longest)
    residuals, ones = np.empty(longest), np.empty(longest)
    sums = np.empty((longest, size)) if kind == CLUSTER else np.empty((0, size))
    gram, lower = np.empty((size, size)), np.zeros((size, size))
    first, second, inverse = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    for g in range(starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        rows = end - begin
        if rows <= size:
            reasons[g] = TOO_FEW_ROWS
            continue
        x, y = columns[:, begin:end], outcome[begin:end]
        q = store[: size * rows].reshape(size, rows)
        root = ones[:rows]
        left = residuals[:rows]
        weighted = weights.shape[0] > 0
        if weighted:
            for i in range(rows):
                root[i] = math.sqrt(weights[begin + i])
            for j in range(size):
                for i in range(rows):
                    q[j, i] = x[j, i] * root[i]
            for i in range(rows):
                left[i] = y[i] * root[i]
        else:
            root[:] = 1.0
            for j in range(size):
                q[j] = x[j]
            left[:] = y
        constants[g] = constant_of(x)
        squares = 0.0
        for j in range(size):
            squares += dot(q[j], q[j])
        if weighted and not _are_weights(weights[begin:end]):
            reasons[g] = BAD_WEIGHTS
            continue
        if not np.isfinite(squares + dot(left, left)):
            reasons[g] = NOT_FINITE
            continue
        largest, smallest = basis_of(q, gram, first, second, lower)
        numbers[g, 3] = largest / smallest
        if not numbers[g, 3] < CONDITION:
            reasons[g] = ILL_CONDITIONED if smallest > 0.0 else SINGULAR
            continue
        inverse_of(lower, inverse)
        _sums_of_squares(y, weights[begin:end] if weighted else weights, numbers[g])
        _solve(q, left, inverse, beta[g])
        _residuals(x, y, root, weighted, beta[g], left)
        numbers[g, 0] = dot(left, left)
        if not numbers[g, 0] > EXACT * numbers[g, 2]:
            reasons[g] = EXACT_FIT
            continue
        if not numbers[g, 3] * math.sqrt(numbers[g, 2] / numbers[g, 0]) < CONDITION:
            reasons[g] = ILL_CONDITIONED
            continue
        if constants[g] == NO_CONSTANT:
            constants[g] = implicit_constant(q, root, smallest, math.sqrt(squares))
            if constants[g] == UNCLEAR:
                reasons[g] = UNCLEAR_CONSTANT
                continue
        reasons[g] = VOUCHED
        if kind == NONROBUST:
            outer_of(inverse, covariance[g])
            continue
        if kind == CLUSTER:
            number = middle_of_clusters(q, left, clusters[begin:end], sums, gram)
            numbers[g, 6] = number
            if number <= size + 1:
                reasons[g] = FEW_CLUSTERS
                continue
        elif not middle_of_rows(kind, q, left, numbers[g, 3], gram):
            reasons[g] = LEVERAGE
            continue
        sandwich_of(inverse, gram, first, covariance[g])
        if not _has_variances(covariance[g], inverse, numbers[g, 0] / rows):
            reasons[g] = NO_VARIANCE
            continue
        numbers[g, 5] = wald(beta[g], covariance[g], constants[g], gram, second)
        if numbers[g, 5] == UNCLEAR_TEST:
            reasons[g] = UNCLEAR_F


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _are_weights(weights: FloatArray) -> bool:
    least, most = np.inf, 0.0
    for i in range(weights.shape[0]):
        least, most = min(least, weights[i]), max(most, weights[i])
    return least > 0.0 and most < np.inf


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _sums_of_squares(y: FloatArray, weights: FloatArray, numbers: FloatArray) -> None:
    """Of the outcome, about its mean and about zero; and the sum of the weights' logarithms."""
    rows = y.shape[0]
    mean = total = logarithms = 0.0
    if weights.shape[0] > 0:
        for i in range(rows):
            mean += weights[i] * y[i]
            total += weights[i]
            logarithms += math.log(weights[i])
        mean /= total
    else:
        for i in range(rows):
            mean += y[i]
        mean /= rows
    centered = uncentered = 0.0
    for i in range(rows):
        weight = weights[i] if weights.shape[0] > 0 else 1.0
        centered += weight * (y[i] - mean) ** 2
        uncentered += weight * y[i] ** 2
    numbers[1], numbers[2], numbers[4] = centered, uncentered, logarithms


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _solve(q: FloatArray, y: FloatArray, inverse: FloatArray, beta: FloatArray) -> None:
    beta[:] = 0.0
    for k in range(q.shape[0]):
        along = dot(q[k], y)
        for i in range(k + 1):
            beta[i] += inverse[k, i] * along


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _residuals(
    x: FloatArray, y: FloatArray, root: FloatArray, weighted: bool, beta: FloatArray, left: FloatArray
) -> None:
    left[:] = y
    for j in range(x.shape[0]):
        factor = beta[j]
        for i in range(y.shape[0]):
            left[i] -= factor * x[j, i]
    if weighted:
        for i in range(y.shape[0]):
            left[i] *= root[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _has_variances(covariance: FloatArray, inverse: FloatArray, scale: float) -> bool:
    for j in range(inverse.shape[0]):
        alike = 0.0
        for k in range(j, inverse.shape[0]):
            alike += inverse[k, j] * inverse[k, j]
        if not covariance[j, j] > SMALL * scale * alike:
            return False
    return True
