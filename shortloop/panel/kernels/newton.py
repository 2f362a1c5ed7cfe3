"""Logistic regressions of all groups, one after the other, along the path that statsmodels goes."""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels import matrices
from shortloop.panel.kernels.covariance import NONROBUST, robust_likelihood, sums_for
from shortloop.panel.kernels.groups import Found, Rows, columns_of_group, room_for
from shortloop.panel.kernels.singular import singular_values_of
from shortloop.panel.kernels.special import exp_of, log_of
from shortloop.panel.statistics import EDGE, RISE, Reason

MAX_ITERATIONS, TOLERANCE, RIDGE = 35, 1e-8, 1e-10  # as of `statsmodels.base.optimizer._fit_newton`
CONDITION = 1e6  # largest condition of the Hessian: statsmodels inverts it, and so has ten digits of it
NEAR = 0.01  # share of the tolerance within which rounding may decide whether there is one more step
NUMBERS = ("llf", "condition_number", "iterations", "outcomes")  # `outcomes`: number of outcomes that are one


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fit_groups(rows: Rows, found: Found, kind: int) -> None:
    size, room, sums = rows.size, room_for(rows), sums_for(rows, kind)
    second, lower, inverse, slope, step = room.second, room.lower, room.inverse, room.right, room.step
    covariance, numbers, reasons = found.covariance, found.numbers, found.reasons
    for g in range(reasons.shape[0]):
        begin, end = rows.starts[g], rows.starts[g + 1]
        number = end - begin
        if number <= size:
            reasons[g] = Reason.TOO_FEW_ROWS
            continue
        x, y = columns_of_group(rows, g), rows.outcome[begin:end]
        ones = _ones_of(y)
        if ones < 0:
            reasons[g] = Reason.NOT_BINARY
            continue
        eta, chance, weight = room.vectors[0, :number], room.vectors[1, :number], room.vectors[2, :number]
        numbers[g, 3] = ones
        b = found.beta[g]
        b[:] = 0.0
        reasons[g] = Reason.NOT_CONVERGED
        for iteration in range(MAX_ITERATIONS):
            _probabilities(x, b, eta, chance)
            _derivatives(x, y, chance, weight, slope, second)
            for j in range(size):
                second[j, j] += RIDGE
            if not matrices.cholesky(second, lower):
                reasons[g] = Reason.SINGULAR
                break
            matrices.solve(lower, slope, step)
            largest = 0.0
            for j in range(size):
                b[j] += step[j]
                largest = max(largest, abs(step[j]))
            if not np.isfinite(largest):
                reasons[g] = Reason.NOT_FINITE
                break
            if abs(largest - TOLERANCE) < NEAR * TOLERANCE:
                break
            if largest <= TOLERANCE:
                is_there = iteration + 1 < MAX_ITERATIONS and number * matrices.dot(slope, step) < RISE
                reasons[g] = Reason.VOUCHED if is_there else Reason.NOT_CONVERGED
                numbers[g, 2] = iteration + 1
                break
        if reasons[g] != Reason.VOUCHED:
            continue
        _probabilities(x, b, eta, chance)
        if _is_at_edge(chance):
            reasons[g] = Reason.NEAR_BOUND
            continue
        _derivatives(x, y, chance, weight, slope, second)
        if not matrices.cholesky(second, lower):
            reasons[g] = Reason.SINGULAR
            continue
        largest, smallest = singular_values_of(second, lower, inverse)
        numbers[g, 1] = largest / smallest if smallest > 0.0 else np.inf
        if not numbers[g, 1] ** 2 < CONDITION:
            reasons[g] = Reason.ILL_CONDITIONED
            continue
        matrices.inverse_of(lower, inverse)
        numbers[g, 0] = _log_likelihood(y, eta, weight)
        if kind == NONROBUST:
            matrices.outer_of(inverse, covariance[g])
            covariance[g] /= number
            continue
        inverse /= math.sqrt(number)  # so that it is of the sum, and not of the mean
        for i in range(number):
            chance[i] = y[i] - chance[i]
        some = rows.clusters[:, begin:end]
        lags, into = rows.lags[g], covariance[g]
        reasons[g] = robust_likelihood(kind, x, chance, some, lags, inverse, inverse, 1.0, sums, into)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _ones_of(y: FloatArray) -> int:
    """Count outcomes that are one; negative if some are neither zero nor one."""
    ones = 0
    for i in range(y.shape[0]):
        if y[i] == 1.0:
            ones += 1
        elif y[i] != 0.0:
            return -1
    return ones


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _probabilities(x: FloatArray, beta: FloatArray, eta: FloatArray, chance: FloatArray) -> None:
    eta[:] = 0.0
    matrices.sum_of(x, beta, 1.0, eta)
    for i in range(eta.shape[0]):
        chance[i] = 1.0 / (1.0 + exp_of(-eta[i]))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _derivatives(
    x: FloatArray, y: FloatArray, chance: FloatArray, work: FloatArray, slope: FloatArray, second: FloatArray
) -> None:
    """Set the gradient and the negative Hessian of the mean log-likelihood."""
    rows = y.shape[0]
    for i in range(rows):
        work[i] = y[i] - chance[i]
    matrices.products_of(x, work, slope)
    slope /= rows
    for i in range(rows):
        work[i] = chance[i] * (1.0 - chance[i]) / rows
    matrices.gram_of(x, work, second)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _is_at_edge(chance: FloatArray) -> bool:
    inside = 0
    for i in range(chance.shape[0]):
        inside += EDGE <= chance[i] <= 1.0 - EDGE
    return inside < chance.shape[0]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _log_likelihood(y: FloatArray, eta: FloatArray, work: FloatArray) -> float:
    for i in range(y.shape[0]):
        work[i] = log_of(1.0 + exp_of(-eta[i] if y[i] == 1.0 else eta[i]))
    return -matrices.total_of(work)
