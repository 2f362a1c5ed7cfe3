"""Quantile regressions of all groups, one after the other, along the path that statsmodels goes.

Iteratively reweighted least squares with weights of one over the residual, on an orthonormal basis of the
regressors; each step is solved for what it adds, so that rounding does not grow.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels import groups, matrices
from shortloop.panel.kernels.groups import Found, Rows
from shortloop.panel.kernels.rounding import (
    LEAST,
    SURE,
    are_clear,
    carry,
    evaluate,
    matrices_for,
    sizes_of,
    variance_of,
)
from shortloop.panel.kernels.rows import longest_of
from shortloop.panel.statistics import Reason

MAX_ITERATIONS, TOLERANCE = 1000, 1e-6  # as of statsmodels' ``QuantReg.fit``
FIRST_LOOK, EACH_LOOK, LOOK_BACK = 300, 100, 9
"""When statsmodels looks for a circle of coefficients, and for how long a circle."""
NUMBERS = ("prsquared", "condition_number", "iterations", "converged", "sparsity", "bandwidth")
AGREED = 5e-10  # share of a standard error that rounding may be, with some room
ENDED = 1e-6  # the same where iterations do not converge, but end
CIRCLE = 1e-7  # coefficients that come back as near as this may be a circle
EXACT = 1e-6  # share of the outcome's size that residuals must have, not to be rounding
FEW = 1e-3  # rows about the quantile, at least, for a density there


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fit_groups(rows: Rows, found: Found, quantile: float) -> None:
    room, size = groups.room_for(rows), rows.size
    lower, inverse = room.lower, room.inverse
    work, gram, first = matrices_for(11, size), room.gram, room.first
    past, vectors = np.empty((LOOK_BACK, size)), np.empty(5 * longest_of(rows.starts))
    beta, covariance, numbers, reasons = found.beta, found.covariance, found.numbers, found.reasons
    constants = found.constants
    for g in range(reasons.shape[0]):
        reasons[g], q, largest, smallest, squares = groups.basis_of_group(rows, g, room)
        if reasons[g] != Reason.VOUCHED:
            continue
        numbers[g, 1] = largest / smallest
        if not numbers[g, 1] ** 2 < groups.CONDITION:  # statsmodels inverts the products of the regressors
            reasons[g] = Reason.ILL_CONDITIONED
            continue
        x, y = groups.columns_of_group(rows, g), rows.outcome[rows.starts[g] : rows.starts[g + 1]]
        number = y.shape[0]
        store = vectors[: 5 * number].reshape(5, number)
        left, weight, some = store[0], store[1], store[2]
        matrices.inverse_of(lower, inverse)
        reasons[g] = _iterate(x, q, y, quantile, lower, inverse, past, beta[g], numbers[g], store, work)
        if reasons[g] != Reason.VOUCHED:
            continue
        constants[g] = groups.constant_of(x)
        if constants[g] == groups.NO_CONSTANT:
            some[:] = 1.0
            constants[g] = groups.implicit_constant(q, some, smallest, math.sqrt(squares))
            if constants[g] == groups.UNCLEAR:
                reasons[g] = Reason.UNCLEAR_CONSTANT
                continue
        sparsity = _sparsity(y, left, numbers[g])
        if not sparsity > 0.0:
            reasons[g] = Reason.NO_VARIANCE
            continue
        for i in range(number):
            weight[i] = ((quantile if left[i] > 0.0 else 1.0 - quantile) * sparsity) ** 2
        matrices.gram_of(q, weight, gram)
        matrices.sandwich_of(inverse, gram, first, covariance[g])
        whole = _loss(y, np.percentile(y, 100.0 * quantile), quantile)  # type: ignore[arg-type]
        numbers[g, 0] = 1.0 - _loss(left, 0.0, quantile) / whole
        if not whole > 0.0:
            reasons[g] = Reason.NO_VARIANCE
        for j in range(size):
            error = float(math.sqrt(covariance[g, j, j]))
            error = max(error, min(float(abs(beta[g, j])), math.sqrt(number) * error))
            error *= AGREED if numbers[g, 3] == 1.0 else ENDED
            if not SURE * math.sqrt(variance_of(inverse, work[5], j)) < error:
                reasons[g] = Reason.UNSTABLE


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _iterate(
    x: FloatArray,
    q: FloatArray,
    y: FloatArray,
    quantile: float,
    lower: FloatArray,
    inverse: FloatArray,
    past: FloatArray,
    beta: FloatArray,
    numbers: FloatArray,
    room: FloatArray,
    work: FloatArray,
) -> int:
    """Compute coefficients, and what rounding of statsmodels may have done to them; or a reason why not.

    Rounding in one iteration changes the weights of the next, so that it may grow a millionfold before it
    shrinks; so its covariance is carried along, to first order.

    `past` is (`LOOK_BACK`, p). Of `room`, (5, n), the first becomes the residuals. `work` is (11, p, p), of
    `matrices_for`.
    """
    size, rows = q.shape
    left, weight, pull, some, sizes = room[0], room[1], room[2], room[3], room[4]
    gram, weighted, spread, change_of, evaluated = work[0], work[1], work[2], work[3], work[4]
    errors, of_columns, more = work[5], work[6], work[7:]
    gamma, step, right = np.zeros(size), np.empty(size), np.empty(size)
    left[:] = y
    for _ in range(2):  # the second time, for what rounding left
        matrices.products_of(q, left, step)
        matrices.move(q, step, gamma, left)
    matrices.coefficients_of(inverse, gamma, beta)
    sizes_of(x, y, beta, sizes)
    change = 0.0
    for j in range(size):
        change = max(change, abs(beta[j] - 1.0))  # from where statsmodels says that it begins
        for k in range(size):
            gram[j, k] = weighted[j, k] = 1.0 if j == k else 0.0
            spread[j, k] = matrices.dot(inverse[j], inverse[k])
            of_columns[j, k] = inverse[j, k] if k <= j else 0.0
    errors[:] = 0.0
    change_of[:] = 0.0
    evaluated[:] = 0.0
    carry(gram, weighted, change_of, evaluated, spread, of_columns, lower, beta, errors, more)
    last, iteration = np.inf, 1
    past[:] = np.inf
    past[1] = beta
    above, below = 1.0 / quantile, 1.0 / (1.0 - quantile)
    while change > TOLERANCE and iteration < MAX_ITERATIONS:
        for i in range(rows):
            distance = abs(left[i])
            weight[i] = (below if left[i] >= 0.0 else above) / (distance if distance > LEAST else LEAST)
            pull[i] = weight[i] / left[i] if distance > LEAST else 0.0
            some[i] = weight[i] * left[i]
        if not are_clear(q, left, errors, quantile):
            return Reason.UNCLEAR_WEIGHT
        matrices.products_of(q, some, right)
        matrices.gram_of(q, weight, gram)
        if not matrices.cholesky(gram, weighted):
            return Reason.SINGULAR
        matrices.solve(weighted, right, step)
        matrices.move(q, step, gamma, left)
        for i in range(rows):
            pull[i] *= left[i]
        matrices.gram_of(q, pull, change_of)
        evaluate(q, sizes, weight, pull, evaluated)
        matrices.coefficients_of(inverse, step, right)
        last, change = min(last, change), 0.0
        for j in range(size):
            beta[j] += right[j]
            change = max(change, abs(right[j]))
        if not carry(gram, weighted, change_of, evaluated, spread, of_columns, lower, beta, errors, more):
            return Reason.ILL_CONDITIONED
        iteration += 1
        if iteration >= FIRST_LOOK and iteration % EACH_LOOK == 0 and _came_back(past, beta):
            return Reason.NOT_CONVERGED
        past[iteration % LOOK_BACK] = beta
    matrices.coefficients_of(inverse, gamma, beta)
    numbers[2], numbers[3] = iteration, change <= TOLERANCE
    if quantile != 0.5 and not are_clear(q, left, errors, quantile):
        return Reason.UNCLEAR_WEIGHT
    worst = 0.0
    for j in range(size):
        worst = max(worst, variance_of(inverse, errors, j))
    if not min(last - TOLERANCE, abs(change - TOLERANCE)) > 2.0 * SURE * math.sqrt(worst):
        return Reason.NOT_CONVERGED
    return Reason.VOUCHED


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _came_back(past: FloatArray, beta: FloatArray) -> bool:
    """True if the coefficients equal, but for rounding, those of one of the last iterations."""
    for k in range(past.shape[0]):
        farthest = 0.0
        for j in range(beta.shape[0]):
            farthest = max(farthest, abs(past[k, j] - beta[j]))
        if farthest < CIRCLE:
            return True
    return False


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _sparsity(y: FloatArray, left: FloatArray, numbers: FloatArray) -> float:
    """One over the density of residuals at the quantile; negative if there is none to be relied on.

    Greene 2008, Econometric Analysis, section 14.3; bandwidth of Hall and Sheather 1988 (On the distribution
    of a studentized quantile), with the kernel of Epanechnikov.
    """
    rows = y.shape[0]
    spread = float(np.percentile(left, 75.0)) - float(np.percentile(left, 25.0))
    if not spread > EXACT * math.sqrt(matrices.dot(y, y) / rows):
        return -1.0
    deviation = float(np.std(y))
    bandwidth = numbers[5] * (deviation if deviation < spread / 1.34 else spread / 1.34)
    if not bandwidth > 0.0:
        return -1.0
    total = 0.0
    for i in range(rows):
        distance = left[i] / bandwidth
        if abs(distance) <= 1.0:
            total += 0.75 * (1.0 - distance * distance)
    if not total > FEW:
        return -1.0
    numbers[4], numbers[5] = rows * bandwidth / total, bandwidth
    return numbers[4]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _loss(values: FloatArray, center: float, quantile: float) -> float:
    total = 0.0
    for i in range(values.shape[0]):
        distance = values[i] - center
        total += quantile * distance if distance >= 0.0 else (quantile - 1.0) * distance
    return total
