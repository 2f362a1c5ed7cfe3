"""Robust regressions of all groups, one after the other, along the path that statsmodels goes.

Huber's weights by iteratively reweighted least squares (Huber 1981, Robust Statistics, section 7.8), on an
orthonormal basis of the regressors; each step is solved for what it adds, so that rounding does not grow.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels import matrices
from shortloop.panel.kernels.groups import CONDITION, Found, Rows, basis_of_group, columns_of_group, room_for
from shortloop.panel.kernels.rows import put
from shortloop.panel.kernels.singular import singular_values_of
from shortloop.panel.statistics import Reason

MAX_ITERATIONS, TOLERANCE = 50, 1e-8  # as of statsmodels' ``RLM.fit``
NORMAL = 0.6744897501960817  # median of the absolute values of a standard normal variable
ROUNDING = 1e-15  # unit of rounding, with some room
EXACT = 1e-9  # share of the outcome's size that errors must have, not to be rounding
TIE = 1e-9  # share of the bound within which rounding may decide whether a residual is beyond it
NUMBERS = ("scale", "condition_number", "iterations", "converged")


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fit_groups(rows: Rows, found: Found, bound: float) -> None:
    room = room_for(rows)
    gram, first, second, lower, inverse = room.gram, room.first, room.second, room.lower, room.inverse
    weighted, right, step, gamma = room.weighted, room.right, room.step, room.gamma
    beta, covariance, numbers, reasons = found.beta, found.covariance, found.numbers, found.reasons
    for g in range(reasons.shape[0]):
        reasons[g], q, largest, smallest, _ = basis_of_group(rows, g, room)
        if reasons[g] != Reason.VOUCHED:
            continue
        condition = numbers[g, 1] = largest / smallest
        x, y = columns_of_group(rows, g), rows.outcome[rows.starts[g] : rows.starts[g + 1]]
        size, number = q.shape
        left, weight, work = room.vectors[0, :number], room.vectors[1, :number], room.vectors[2, :number]
        put(y, left)
        length = math.sqrt(matrices.dot(y, y) / number)
        gamma[:] = 0.0
        for _ in range(2):  # the second time, for what rounding left
            matrices.products_of(q, left, step)
            matrices.move(q, step, gamma, left)
        variance = matrices.dot(left, left) / (number - size)
        scale = _scale(left, work)
        before = _criterion(left, variance, bound)
        iteration, last, change = 1, np.inf, np.inf
        while iteration < MAX_ITERATIONS:
            if not scale > EXACT * length:
                reasons[g] = Reason.EXACT_FIT
                break
            for i in range(number):
                distance = abs(left[i])
                weight[i] = 1.0 if distance <= bound * scale else bound * scale / distance
                work[i] = weight[i] * left[i]
            matrices.products_of(q, work, right)
            matrices.gram_of(q, weight, gram)
            if not matrices.cholesky(gram, weighted):
                reasons[g] = Reason.SINGULAR
                break
            matrices.solve(weighted, right, step)
            matrices.move(q, step, gamma, left)
            for i in range(number):
                work[i] = weight[i] * left[i]
            variance = matrices.dot(left, work) / (number - size)
            scale = _scale(left, work)
            iteration += 1
            now = _criterion(left, variance, bound)
            last, change = min(last, change), abs(before - now)
            before = now
            if not change > TOLERANCE:
                break
        if reasons[g] != Reason.VOUCHED:
            continue
        numbers[g, 0], numbers[g, 2], numbers[g, 3] = scale, iteration, change <= TOLERANCE
        above, below = singular_values_of(gram, weighted, gram)
        if not condition * length * above < CONDITION * scale * below:
            reasons[g] = Reason.ILL_CONDITIONED if scale > EXACT * length else Reason.EXACT_FIT
            continue
        factor = _inflation(left, scale, bound, size)
        if not factor > 0.0:
            reasons[g] = Reason.UNCLEAR_WEIGHT
            continue
        matrices.inverse_of(lower, inverse)
        matrices.coefficients_of(inverse, gamma, beta[g])
        matrices.inverse_of(weighted, first)
        matrices.product_of(first, inverse, second)
        for i in range(number):
            work[i] = weight[i] * y[i]
        length = math.sqrt(matrices.dot(work, y))
        length += above * largest * math.sqrt(matrices.dot(beta[g], beta[g]))
        for i in range(size):
            right[i] = length * math.sqrt(matrices.dot(second[i:, i], second[i:, i]))
        noise = _noise(x, y, beta[g], right, left, weight, variance, scale, bound, work)
        if not min(last - TOLERANCE, abs(TOLERANCE - change)) > ROUNDING * noise:
            reasons[g] = Reason.NOT_CONVERGED
            continue
        matrices.outer_of(inverse, covariance[g])
        covariance[g] *= factor * scale**2


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _scale(left: FloatArray, work: FloatArray) -> float:
    for i in range(left.shape[0]):
        work[i] = abs(left[i])
    return float(np.median(work)) / NORMAL


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _criterion(left: FloatArray, variance: float, bound: float) -> float:
    """Compute the deviance of statsmodels: residuals are divided by a variance, and not by a scale."""
    total = 0.0
    for i in range(left.shape[0]):
        distance = abs(left[i] / variance)
        total += 0.5 * distance * distance if distance <= bound else bound * (distance - 0.5 * bound)
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _inflation(left: FloatArray, scale: float, bound: float, size: int) -> float:
    """Compute the ratio of the covariance to that of least squares with a variance of scale²."""
    # Huber 1981, Robust Statistics, section 7.6; ``H1`` of statsmodels.
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
    """Estimate by how much rounding moves the criterion of statsmodels, over the unit of rounding."""
    # `errors` is what rounding does to `beta`; `weight` led to the residuals `left`.
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
        by_coefficients += abs(matrices.dot(x[j], work)) * errors[j]
        by_scale += math.sqrt(matrices.dot(x[j], x[j]) / rows) * errors[j]
    by_scale *= 2.0 * criterion * outside / (inside + outside) / scale  # by way of weights and variance
    return criterion + math.sqrt(directly) + by_coefficients + by_scale
