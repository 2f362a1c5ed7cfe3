"""Generalized linear models of all groups, one after the other, along the path that statsmodels goes.

Iteratively reweighted least squares (McCullagh and Nelder 1989, Generalized Linear Models, section 2.5), on
an orthonormal basis of the regressors, so that their condition does not matter within the iterations.
"""

from __future__ import annotations

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels import families, matrices
from shortloop.panel.kernels.covariance import NONROBUST, robust_likelihood, sums_for
from shortloop.panel.kernels.groups import CONDITION, Found, Rows, basis_of_group, room_for
from shortloop.panel.kernels.singular import singular_values, singular_values_of
from shortloop.panel.statistics import Reason

MAX_ITERATIONS, TOLERANCE = 100, 1e-8  # as of statsmodels' ``GLM.fit``
NEAR = 1e-3  # share of the tolerance within which rounding may decide whether there is one more step
ROUNDING = 1e-14  # share of a deviance that may be rounding
RISE = 1e-9  # share of the deviance that a step may add to it
MOST = 1e5  # offset, times the condition, that leaves linear predictors their digits
SMALL = 1e-3  # share of the standard deviation below which a mean may be on its way to 0
NUMBERS = ("llf", "deviance", "scale", "condition_number", "iterations")


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fit_groups(rows: Rows, found: Found, family: int, link: int, kind: int) -> None:
    room = room_for(rows)
    gram, first, second, lower, inverse = room.gram, room.first, room.second, room.lower, room.inverse
    weighted, right, gamma, sums = room.weighted, room.right, room.gamma, sums_for(rows, kind)
    beta, covariance, numbers, reasons = found.beta, found.covariance, found.numbers, found.reasons
    factorials, is_counted = families.log_factorials(family), rows.trials.shape[0] > 0
    for g in range(reasons.shape[0]):
        begin, end = rows.starts[g], rows.starts[g + 1]
        y, number = rows.outcome[begin:end], end - begin
        tried = rows.trials[begin:end] if is_counted else rows.trials
        if number > rows.size:
            reasons[g] = families.are_counts(y, tried) if is_counted else _suits(family, y)
            if reasons[g] != Reason.VOUCHED:
                continue
        reasons[g], q, largest, smallest, _ = basis_of_group(rows, g, room)
        if reasons[g] != Reason.VOUCHED:
            continue
        numbers[g, 3] = largest / smallest
        size, offset, farthest = q.shape[0], rows.offset[begin:end], 0.0
        for i in range(offset.shape[0]):
            farthest = max(farthest, abs(offset[i]) if np.isfinite(offset[i]) else np.inf)
        if not numbers[g, 3] * farthest < MOST:
            reasons[g] = Reason.ILL_CONDITIONED if farthest < np.inf else Reason.NOT_FINITE
            continue
        eta, mu, slope = room.vectors[0, :number], room.vectors[1, :number], room.vectors[2, :number]
        weight, work, logs = room.vectors[3, :number], room.vectors[4, :number], room.vectors[5, :number]
        families.logs_of(family, y, logs)
        families.start_means(family, y, mu)
        families.links_of(link, mu, eta)
        scale = families.scale_of(family, y, mu, number - size, work)
        rounding, of_sums = 0.0, 0.0  # in the deviance
        if is_counted:
            before, rounding = families.counts_deviance(y, tried, mu)
        else:
            before = families.deviance_of(family, link, y, logs, eta, mu, work) / scale
        reasons[g] = Reason.NOT_CONVERGED
        last = np.inf
        for iteration in range(MAX_ITERATIONS):
            families.slopes_of(link, eta, mu, slope)
            families.weights_of(family, mu, slope, weight)
            if is_counted:
                weight *= tried
            if is_counted or farthest > 0.0:
                of_sums = (1.0 + farthest) * families.rounding_of_sums(
                    y, eta, mu, slope, weight, numbers[g, 3]
                )
            for i in range(number):
                work[i] = weight[i] * (eta[i] + slope[i] * (y[i] - mu[i]))
            for i in range(offset.shape[0]):
                work[i] -= weight[i] * offset[i]
            matrices.products_of(q, work, right)
            matrices.gram_of(q, weight, gram)
            if not matrices.cholesky(gram, weighted):
                reasons[g] = Reason.SINGULAR
                break
            matrices.solve(weighted, right, gamma)
            eta[:] = 0.0
            matrices.sum_of(q, gamma, 1.0, eta)
            for i in range(offset.shape[0]):
                eta[i] += offset[i]
            families.means_of(link, eta, mu)
            if not families.are_possible(family, mu):
                reasons[g] = Reason.NEAR_BOUND if family == families.BINOMIAL else Reason.OUTSIDE
                break
            if is_counted:
                deviance, rounding = families.counts_deviance(y, tried, mu)
                rounding += of_sums
            else:
                deviance = families.deviance_of(family, link, y, logs, eta, mu, work)
                rounding = of_sums
            if iteration > 0 and deviance > last * (1.0 + RISE):  # rounding may grow with each such step
                break
            last = deviance
            now = deviance / scale
            scale = families.scale_of(family, y, mu, number - size, work)
            change = abs(before - now)
            if abs(change - TOLERANCE) < NEAR * TOLERANCE + ROUNDING * abs(now) + rounding:
                break
            before = now
            if change <= TOLERANCE:
                reasons[g] = Reason.VOUCHED
                numbers[g, 1], numbers[g, 2], numbers[g, 4] = deviance, scale, iteration + 1
                break
        if reasons[g] != Reason.VOUCHED:
            continue
        largest, smallest = singular_values_of(gram, weighted, gram)
        if not numbers[g, 3] * largest < CONDITION * smallest:
            reasons[g] = Reason.ILL_CONDITIONED
            continue
        if family in (families.GAUSSIAN, families.GAMMA):  # rounding may be seen beside tiny errors
            squares = 0.0
            for i in range(number):
                squares += weight[i] * (abs(eta[i]) + farthest) ** 2
            if not numbers[g, 3] ** 2 * squares < CONDITION**2 * scale * (number - size):
                reasons[g] = Reason.ILL_CONDITIONED
                continue
        if family == families.GAUSSIAN and link == families.LOG and _falls_to_zero(y, mu, np.sqrt(scale)):
            reasons[g] = Reason.NEAR_BOUND
            continue
        matrices.inverse_of(lower, inverse)
        matrices.coefficients_of(inverse, gamma, beta[g])
        if is_counted:
            numbers[g, 0] = families.counts_likelihood(y, tried, mu, factorials)
        else:
            numbers[g, 0] = families.log_likelihood(family, link, y, logs, eta, mu, scale, factorials, work)
        if kind == NONROBUST:
            matrices.inverse_of(weighted, first)
            matrices.product_of(first, inverse, second)
            matrices.outer_of(second, covariance[g])
            covariance[g] *= scale
            continue
        families.slopes_of(link, eta, mu, slope)
        families.bends_of(link, eta, mu, slope, weight)
        families.observed_of(family, y, mu, slope, weight, work)
        if is_counted:
            weight *= tried
            work *= tried
        matrices.gram_of(q, weight, gram)
        if not matrices.cholesky(gram, weighted):
            reasons[g] = Reason.NO_VARIANCE
            continue
        matrices.product_of(lower, weighted, first)
        largest, smallest = singular_values(first, gram)
        if not largest**2 < CONDITION * smallest**2:  # statsmodels inverts the second derivatives
            reasons[g] = Reason.ILL_CONDITIONED
            continue
        matrices.inverse_of(weighted, first)
        matrices.product_of(first, inverse, second)
        some = rows.clusters[:, begin:end]
        lags, into = rows.lags[g], covariance[g]
        reasons[g] = robust_likelihood(kind, q, work, some, lags, first, second, scale, sums, into)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _falls_to_zero(y: FloatArray, mu: FloatArray, error: float) -> bool:
    """True if the mean of an outcome that is not positive may be on its way to 0."""
    return bool(np.any((y <= 0.0) & (mu < SMALL * error)))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _suits(family: int, y: FloatArray) -> int:
    """Check that compiled code can fit outcomes of a family."""
    for i in range(y.shape[0]):
        if not np.isfinite(y[i]):
            return Reason.NOT_FINITE
        if family == families.BINOMIAL and y[i] != 0.0 and y[i] != 1.0:
            return Reason.NOT_BINARY
        if (family == families.POISSON and y[i] < 0.0) or (family == families.GAMMA and y[i] <= 0.0):
            return Reason.OUTSIDE
    return Reason.VOUCHED
