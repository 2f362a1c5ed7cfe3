"""Families of generalized linear models: weights, deviances, likelihoods of rows.

McCullagh and Nelder 1989 (Generalized Linear Models, sections 2.2 and 2.3).
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.exponentials import log_of
from shortloop.panel.kernels.links import IDENTITY, LOG
from shortloop.panel.kernels.reasons import EDGE
from shortloop.panel.kernels.triangles import total_of

__all__ = [
    "BINOMIAL",
    "FAMILIES",
    "GAMMA",
    "GAUSSIAN",
    "POISSON",
    "are_possible",
    "deviance_of",
    "log_factorials",
    "log_likelihood",
    "logs_of",
    "observed_of",
    "scale_of",
    "start_means",
    "weights_of",
]

FAMILIES = ("binomial", "poisson", "gamma", "gaussian")
BINOMIAL, POISSON, GAMMA, GAUSSIAN = range(4)
TWO_PI = 2.0 * math.pi
FACTORIALS = 256  # counts whose factorial is computed once


@numba.njit(cache=True, nogil=True, error_model="numpy")
def start_means(family: int, y: FloatArray, mu: FloatArray) -> None:
    """Means to begin with.

    y: (rows,). Outcomes.
    mu: (rows,). Become the means.
    """
    mean = 0.5 if family == BINOMIAL else total_of(y) / y.shape[0]
    for i in range(y.shape[0]):
        mu[i] = (y[i] + mean) / 2.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def are_possible(family: int, mu: FloatArray) -> bool:
    """Whether means are such as a family can have.

    mu: (rows,). Means.
    """
    lowest, highest = EDGE, 1.0 / EDGE
    if family == BINOMIAL:
        highest = 1.0 - EDGE
    elif family == GAUSSIAN:
        lowest, highest = -np.inf, np.inf
    inside = 0
    for i in range(mu.shape[0]):
        inside += lowest < mu[i] < highest
    return inside == mu.shape[0]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _variance(family: int, mu: float) -> float:
    if family == BINOMIAL:
        return mu * (1.0 - mu)
    if family == POISSON:
        return mu
    return mu * mu if family == GAMMA else 1.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def weights_of(family: int, mu: FloatArray, slope: FloatArray, weight: FloatArray) -> None:
    """Weights of rows in an iteration.

    mu, slope: (rows,). Means, and derivatives of the link.
    weight: (rows,). Become the weights.
    """
    for i in range(mu.shape[0]):
        weight[i] = 1.0 / (slope[i] * slope[i] * _variance(family, mu[i]))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def observed_of(
    family: int, y: FloatArray, mu: FloatArray, slope: FloatArray, weight: FloatArray, score: FloatArray
) -> None:
    """Derivatives of the likelihood of each row, and the second with their sign turned, times the scale.

    y, mu, slope: (rows,). Outcomes, means, derivatives of the link.
    weight: (rows,). Second derivatives of the link; become those of the likelihood.
    score: (rows,). Become the first derivatives.
    """
    for i in range(mu.shape[0]):
        of_mean = 0.0  # derivative of the variance
        if family == BINOMIAL:
            of_mean = 1.0 - 2.0 * mu[i]
        elif family == POISSON:
            of_mean = 1.0
        elif family == GAMMA:
            of_mean = 2.0 * mu[i]
        variance = _variance(family, mu[i])
        score[i] = (y[i] - mu[i]) / (slope[i] * variance)
        weight[i] = 1.0 + score[i] * (variance * weight[i] + of_mean * slope[i])
        weight[i] /= slope[i] * slope[i] * variance


@numba.njit(cache=True, nogil=True, error_model="numpy")
def scale_of(family: int, y: FloatArray, mu: FloatArray, freedom: int, work: FloatArray) -> float:
    """1, or Pearson's χ² over the degrees of freedom.

    y, mu: (rows,). Outcomes and means.
    work: (rows,). Is written to.
    """
    if family in (BINOMIAL, POISSON):
        return 1.0
    for i in range(y.shape[0]):
        left = y[i] - mu[i]
        work[i] = left * left / _variance(family, mu[i])
    return total_of(work) / freedom


@numba.njit(cache=True, nogil=True, error_model="numpy")
def deviance_of(
    family: int, link: int, y: FloatArray, logs: FloatArray, eta: FloatArray, mu: FloatArray, work: FloatArray
) -> float:
    """Twice what the likelihood lacks to that of a model with a mean of its own for each row.

    y, logs, eta, mu: (rows,). Outcomes, their logarithms as of `logs_of`, sums of regressors, means.
    work: (rows,). Is written to.
    """
    rows = y.shape[0]
    if family == BINOMIAL:
        return -2.0 * _of_outcomes(y, mu, work)
    if family == POISSON and link == LOG:
        for i in range(rows):
            work[i] = y[i] * (logs[i] - eta[i]) - (y[i] - mu[i])
    elif family == POISSON:
        for i in range(rows):
            work[i] = (y[i] * log_of(y[i] / mu[i]) if y[i] > 0.0 else 0.0) - (y[i] - mu[i])
    elif family == GAMMA and link == LOG:
        for i in range(rows):
            work[i] = (y[i] - mu[i]) / mu[i] - (logs[i] - eta[i])
    elif family == GAMMA:
        for i in range(rows):
            work[i] = (y[i] - mu[i]) / mu[i] - log_of(y[i] / mu[i])
    else:
        for i in range(rows):
            left = y[i] - mu[i]
            work[i] = 0.5 * left * left
    return 2.0 * total_of(work)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _of_outcomes(y: FloatArray, mu: FloatArray, work: FloatArray) -> float:
    """Sum of the logarithms of the probabilities of outcomes 0 and 1."""
    for i in range(y.shape[0]):
        work[i] = log_of(mu[i] if y[i] == 1.0 else 1.0 - mu[i])
    return total_of(work)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_likelihood(
    family: int,
    link: int,
    y: FloatArray,
    logs: FloatArray,
    eta: FloatArray,
    mu: FloatArray,
    scale: float,
    factorials: FloatArray,
    work: FloatArray,
) -> float:
    """Logarithm of the likelihood.

    y, logs, eta, mu: (rows,). Outcomes, their logarithms as of `logs_of`, sums of regressors, means.
    work: (rows,). Is written to.
    """
    rows = y.shape[0]
    if family == BINOMIAL:
        return _of_outcomes(y, mu, work)
    if family == GAUSSIAN:
        squares = deviance_of(family, link, y, logs, eta, mu, work)
        if link == IDENTITY:
            scale = squares / rows
        return -0.5 * (squares / scale + rows * math.log(TWO_PI * scale))
    if family == GAMMA:
        for i in range(rows):
            share = y[i] / mu[i]
            work[i] = (log_of(share / scale) - share) / scale - logs[i]
        return total_of(work) - rows * math.lgamma(1.0 / scale)
    if link == LOG:
        for i in range(rows):
            work[i] = y[i] * eta[i] - mu[i]
    else:
        for i in range(rows):
            work[i] = y[i] * log_of(mu[i]) - mu[i]
    total = total_of(work)
    for i in range(rows):
        count = int(y[i]) if y[i] < factorials.shape[0] else 0
        total -= factorials[count] if count == y[i] else math.lgamma(y[i] + 1.0)
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_factorials(family: int) -> FloatArray:
    """Logarithms of factorials of small counts, where a family needs them.

    returns: array. Of 0!, 1!, 2!, …
    """
    found = np.zeros(FACTORIALS if family in (BINOMIAL, POISSON) else 1)
    for i in range(found.shape[0]):
        found[i] = math.lgamma(i + 1.0)
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def logs_of(family: int, y: FloatArray, logs: FloatArray) -> None:
    """Logarithms of outcomes, where a family needs them.

    y: (rows,). Outcomes.
    logs: (rows,). Become their logarithms; 0 where an outcome is 0.
    """
    if family in (POISSON, GAMMA):
        for i in range(y.shape[0]):
            logs[i] = log_of(y[i]) if y[i] > 0.0 else 0.0
