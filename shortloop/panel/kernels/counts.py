"""Outcomes of the binomial family that are shares of trials: deviances and likelihoods of rows.

McCullagh and Nelder 1989 (Generalized Linear Models, section 4.4).
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.reasons import EXACT_FIT, NOT_FINITE, OUTSIDE, VOUCHED

__all__ = ["are_counts", "counts_deviance", "counts_likelihood", "rounding_of_sums"]

EPSILON = 2.0**-52
ROUNDING = 6 * EPSILON  # share of the terms of a deviance that may be rounding, which goes up and down


@numba.njit(cache=True, nogil=True, error_model="numpy")
def are_counts(y: FloatArray, trials: FloatArray) -> int:
    """Whether outcomes are shares of trials, and differ.

    y, trials: (rows,). Shares, and of how many trials.
    """
    lowest, highest = np.inf, -np.inf
    for i in range(y.shape[0]):
        if not (np.isfinite(y[i]) and np.isfinite(trials[i])):
            return NOT_FINITE
        if not (0.0 <= y[i] <= 1.0 and trials[i] > 0.0):
            return OUTSIDE
        lowest, highest = min(lowest, y[i]), max(highest, y[i])
    return VOUCHED if lowest < highest else EXACT_FIT


@numba.njit(cache=True, nogil=True, error_model="numpy")
def counts_deviance(y: FloatArray, trials: FloatArray, mu: FloatArray) -> tuple[float, float]:
    """Twice what the likelihood lacks to that of a model with a mean of its own for each row.

    y, trials, mu: (rows,). Shares, of how many trials, and means.
    """
    total, size = 0.0, 0.0
    for i in range(y.shape[0]):
        of_one = y[i] * math.log(y[i] / mu[i]) if y[i] > 0.0 else 0.0
        of_zero = (1.0 - y[i]) * math.log((1.0 - y[i]) / (1.0 - mu[i])) if y[i] < 1.0 else 0.0
        total += trials[i] * (of_one + of_zero)
        size += (trials[i] * (abs(of_one) + abs(of_zero) + 1.0)) ** 2
    return 2.0 * total, ROUNDING * math.sqrt(size)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def rounding_of_sums(
    y: FloatArray, eta: FloatArray, mu: FloatArray, slope: FloatArray, weight: FloatArray, condition: float
) -> float:
    """How much of a deviance may come from the rounding of sums of regressors, as statsmodels adds them up.

    y, eta, mu, slope, weight: (rows,). Shares, sums of regressors, means, derivatives of the link, and
        weights of an iteration.
    """
    longest, squares = 1.0, 0.0
    for i in range(y.shape[0]):
        longest = max(longest, abs(eta[i]))
        squares += (weight[i] * slope[i] * (y[i] - mu[i])) ** 2
    return 2.0 * EPSILON * condition * longest * math.sqrt(squares)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def counts_likelihood(y: FloatArray, trials: FloatArray, mu: FloatArray, factorials: FloatArray) -> float:
    """Logarithm of the likelihood.

    y, trials, mu: (rows,). Shares, of how many trials, and means.
    factorials: array. Logarithms of 0!, 1!, 2!, …
    """
    total = 0.0
    for i in range(y.shape[0]):
        n = trials[i]
        successes = y[i] * n
        ways = _log_factorial(n, factorials) - _log_factorial(successes, factorials)
        ways -= _log_factorial(n - successes, factorials)
        total += ways + successes * math.log(mu[i] / (1.0 - mu[i])) + n * math.log(1.0 - mu[i])
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _log_factorial(value: float, factorials: FloatArray) -> float:
    count = int(value) if 0.0 <= value < factorials.shape[0] else 0
    return factorials[count] if count == value else math.lgamma(value + 1.0)
