"""Least squares of all groups, one after the other, without leaving compiled code."""

from __future__ import annotations

import math

import numba

from shortloop.base.types import FloatArray
from shortloop.panel.kernels import groups, matrices
from shortloop.panel.kernels.covariance import (
    CANCELS,
    CLUSTER,
    HAC,
    NONROBUST,
    UNCLEAR_TEST,
    has_variances,
    middle_of_clusters,
    middle_of_lags,
    middle_of_rows,
    sums_for,
    wald,
)
from shortloop.panel.kernels.groups import Found, Room, Rows
from shortloop.panel.kernels.rows import put
from shortloop.panel.kernels.singular import singular_values
from shortloop.panel.statistics import Reason

EXACT = 1e-12  # share of the squares that residuals must have, not to be rounding
NUMBERS = ("ssr", "centered_tss", "uncentered_tss", "condition_number", "log_weights", "wald", "clusters")


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fit_groups(rows: Rows, found: Found, kind: int) -> None:
    room, sums, weighted = groups.room_for(rows), sums_for(rows, kind), rows.weights.shape[0] > 0
    gram, first, second, inverse = room.gram, room.first, room.second, room.inverse
    gamma = room.gamma
    beta, covariance, numbers, reasons = found.beta, found.covariance, found.numbers, found.reasons
    constants = found.constants
    for g in range(reasons.shape[0]):
        begin, end = rows.starts[g], rows.starts[g + 1]
        x, y = groups.columns_of_group(rows, g), rows.outcome[begin:end]
        weights = rows.weights[begin:end] if weighted else rows.weights
        size, number, has_basis = rows.size, end - begin, True
        root, left = room.vectors[0, :number], room.vectors[1, :number]
        reason, q, largest, smallest, squares = groups.factor_of_group(rows, g, room)
        if reason == Reason.VOUCHED:
            constants[g] = groups.constant_of(x)
            has_basis = (
                kind != NONROBUST or constants[g] == groups.NO_CONSTANT or largest >= groups.ONCE * smallest
            )
            if has_basis:
                reason, q, largest, smallest = groups.basis_by_factor(q, largest, smallest, room)
        condition = largest / smallest
        # Called once: what two places call may come to other bits if it is compiled than read from a cache.
        _sums_of_squares(y, weights, numbers[g])
        for scaled in (False, True):  # the second time, if the first is not good enough
            if scaled:
                is_there, q, condition = groups.scaled_basis_of_group(rows, g, room)
                if not is_there:
                    break
                largest, smallest = singular_values(room.lower, gram)
                reason, has_basis, constants[g] = Reason.VOUCHED, True, groups.constant_of(x)
            if reason == Reason.VOUCHED:
                put(y, left)
                if weighted:
                    left *= root
                if has_basis:
                    matrices.inverse_of(room.lower, inverse)
                    matrices.products_of(q, left, gamma)
                    matrices.sum_of(q, gamma, -1.0, left)
                    matrices.coefficients_of(inverse, gamma, beta[g])
                else:
                    matrices.inverse_of(room.first, inverse)
                    _solve_refined(q, inverse, left, room, beta[g])
                numbers[g, 0], numbers[g, 3] = matrices.dot(left, left), largest / smallest
                if not numbers[g, 0] > EXACT * numbers[g, 2]:
                    reason = Reason.EXACT_FIT
                elif not condition * math.sqrt(numbers[g, 2] / numbers[g, 0]) < groups.CONDITION:
                    reason = Reason.ILL_CONDITIONED
            if reason not in (Reason.SINGULAR, Reason.ILL_CONDITIONED):
                break
        reasons[g] = reason
        if reason != Reason.VOUCHED:
            continue
        if constants[g] == groups.NO_CONSTANT:
            if not weighted:
                root[:] = 1.0
            constants[g] = groups.implicit_constant(q, root, smallest, math.sqrt(squares))
            if constants[g] == groups.UNCLEAR:
                reasons[g] = Reason.UNCLEAR_CONSTANT
                continue
        if kind == NONROBUST:
            matrices.outer_of(inverse, covariance[g])
            continue
        if kind == CLUSTER:
            numbers[g, 6] = middle_of_clusters(q, left, rows.clusters[:, begin:end], sums, gram)
            if numbers[g, 6] <= size + 1:
                reasons[g] = Reason.FEW_CLUSTERS
                continue
        elif kind >= HAC:
            middle_of_lags(kind, q, left, rows.lags[g], gram)
        elif not middle_of_rows(kind, q, left, condition, gram):
            reasons[g] = Reason.LEVERAGE
            continue
        matrices.sandwich_of(inverse, gram, first, covariance[g])
        least = CANCELS if kind >= HAC or rows.clusters.shape[0] > 1 else 1.0
        if not has_variances(covariance[g], inverse, least * numbers[g, 0] / number):
            reasons[g] = Reason.NO_VARIANCE
            continue
        numbers[g, 5] = wald(beta[g], covariance[g], constants[g], gram, second)
        if numbers[g, 5] == UNCLEAR_TEST:
            reasons[g] = Reason.UNCLEAR_F


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _solve_refined(
    columns: FloatArray, inverse: FloatArray, left: FloatArray, room: Room, beta: FloatArray
) -> None:
    """Solve the normal equations with a step of refinement: as good as a basis."""
    # Björck 1987 (Stability analysis of the method of seminormal equations). `inverse` is that of the factor.
    # `left` are outcomes, and become residuals before the last step, whose squares are the same to rounding.
    step, right, gamma = room.right, room.right, room.step
    for iteration in range(2):
        matrices.products_of(columns, left, right)
        matrices.ahead_of(inverse, right, gamma)
        matrices.coefficients_of(inverse, gamma, step)
        if iteration == 0:
            put(step, beta)
            matrices.sum_of(columns, beta, -1.0, left)
    beta += step


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _sums_of_squares(y: FloatArray, weights: FloatArray, numbers: FloatArray) -> None:
    """Set sums of squares of the outcome about its mean and about zero, and of log weights."""
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
    if weights.shape[0] > 0:
        for i in range(rows):
            centered += weights[i] * (y[i] - mean) ** 2
            uncentered += weights[i] * y[i] ** 2
    else:
        for i in range(rows):
            centered += (y[i] - mean) ** 2
            uncentered += y[i] ** 2
    numbers[1], numbers[2], numbers[4] = centered, uncentered, logarithms
