"""Families and links of generalized linear models: means, weights, deviances, likelihoods of rows.

McCullagh and Nelder 1989 (Generalized Linear Models, sections 2.2 and 2.3).
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.panel.kernels.reasons import EDGE
from shortloop.types import FloatArray

__all__ = [
    "BINOMIAL",
    "FAMILIES",
    "GAMMA",
    "LINKS",
    "POISSON",
    "deviance_of",
    "log_factorials",
    "log_likelihood",
    "logs_of",
    "means_of",
    "observed_of",
    "scale_of",
    "slopes_of",
    "start_values",
    "weights_of",
]

FAMILIES = ("binomial", "poisson", "gamma", "gaussian")
BINOMIAL, POISSON, GAMMA, GAUSSIAN = range(4)
LINKS = ("logit", "probit", "cloglog", "log", "identity", "inverse_power", "sqrt")
LOGIT, PROBIT, CLOGLOG, LOG, IDENTITY, INVERSE, SQRT = range(7)
TWO_PI = 2.0 * math.pi
QUARTILE = 0.6744897501960817  # of the normal distribution
TOGETHER = 32  # probabilities that are multiplied: none is below `EDGE`, so the product is a normal number
FACTORIALS = 256  # counts whose factorial is computed once


@numba.njit(cache=True, nogil=True, error_model="numpy")
def start_values(family: int, link: int, y: FloatArray, eta: FloatArray, mu: FloatArray) -> None:
    """Means and sums of regressors to begin with.

    Parameters
    ----------
    family, link : int
        Places in `FAMILIES` and `LINKS`.
    y : array, shape (rows,)
        Outcomes.
    eta, mu : array, shape (rows,)
        Become the sums and the means.
    """
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
            eta[i] = _quantile(mu[i])
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
def _quantile(share: float) -> float:
    """Of the normal distribution, of shares from 1/4 to 3/4: by Newton's method, there in five steps."""
    if share == 0.25 or share == 0.75:
        return -QUARTILE if share == 0.25 else QUARTILE
    found = 0.0
    for _ in range(6):
        missing = share - 0.5 * math.erfc(-found / math.sqrt(2.0))
        found += missing * math.sqrt(TWO_PI) * math.exp(0.5 * found * found)
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def means_of(family: int, link: int, eta: FloatArray, mu: FloatArray) -> bool:
    """Means of sums of regressors.

    Parameters
    ----------
    family, link : int
        Places in `FAMILIES` and `LINKS`.
    eta : array, shape (rows,)
        Sums of regressors.
    mu : array, shape (rows,)
        Become the means.

    Returns
    -------
    bool
        False if one is next to where statsmodels cuts it off, or beyond.
    """
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
def slopes_of(link: int, eta: FloatArray, mu: FloatArray, slope: FloatArray) -> None:
    """Derivatives of the link.

    Parameters
    ----------
    link : int
        Place in `LINKS`.
    eta, mu : array, shape (rows,)
        Sums of regressors, and means.
    slope : array, shape (rows,)
        Become the derivatives.
    """
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
def weights_of(family: int, mu: FloatArray, slope: FloatArray, weight: FloatArray) -> None:
    """Weights of rows in an iteration.

    Parameters
    ----------
    family : int
        Place in `FAMILIES`.
    mu, slope : array, shape (rows,)
        Means, and derivatives of the link.
    weight : array, shape (rows,)
        Become the weights.
    """
    for i in range(mu.shape[0]):
        weight[i] = 1.0 / (slope[i] * slope[i] * _variance(family, mu[i]))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def observed_of(
    family: int,
    link: int,
    eta: FloatArray,
    y: FloatArray,
    mu: FloatArray,
    slope: FloatArray,
    weight: FloatArray,
    score: FloatArray,
) -> None:
    """Derivatives of the likelihood of each row, and the second with their sign turned, times the scale.

    Parameters
    ----------
    family, link : int
        Places in `FAMILIES` and `LINKS`.
    eta, y, mu, slope : array, shape (rows,)
        Sums of regressors, outcomes, means, derivatives of the link.
    weight, score : array, shape (rows,)
        Become the second and the first derivatives.
    """
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
def scale_of(family: int, y: FloatArray, mu: FloatArray, freedom: int) -> float:
    """1, or Pearson's χ² over the degrees of freedom.

    Parameters
    ----------
    family : int
        Place in `FAMILIES`.
    y, mu : array, shape (rows,)
        Outcomes and means.
    freedom : int
        Degrees of freedom.

    Returns
    -------
    float
    """
    if family in (BINOMIAL, POISSON):
        return 1.0
    total = 0.0
    for i in range(y.shape[0]):
        total += (y[i] - mu[i]) ** 2 / _variance(family, mu[i])
    return total / freedom


@numba.njit(cache=True, nogil=True, error_model="numpy")
def deviance_of(
    family: int, link: int, y: FloatArray, logs: FloatArray, eta: FloatArray, mu: FloatArray
) -> float:
    """Twice what the likelihood lacks to that of a model with a mean of its own for each row.

    Parameters
    ----------
    family, link : int
        Places in `FAMILIES` and `LINKS`.
    y, logs, eta, mu : array, shape (rows,)
        Outcomes, their logarithms as of `logs_of`, sums of regressors, means.

    Returns
    -------
    float
    """
    total = 0.0
    if family == BINOMIAL:
        return -2.0 * _of_outcomes(y, mu)
    for i in range(y.shape[0]):
        if family == POISSON:
            total -= y[i] - mu[i]
            if y[i] > 0.0:
                total += y[i] * (logs[i] - eta[i] if link == LOG else math.log(y[i] / mu[i]))
        elif family == GAMMA:
            total += (y[i] - mu[i]) / mu[i] - (logs[i] - eta[i] if link == LOG else math.log(y[i] / mu[i]))
        else:
            total += 0.5 * (y[i] - mu[i]) ** 2
    return 2.0 * total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _of_outcomes(y: FloatArray, mu: FloatArray) -> float:
    """Sum of the logarithms of the probabilities of outcomes 0 and 1: those of products of some of them."""
    total, product, number = 0.0, 1.0, 0
    for i in range(y.shape[0]):
        product *= mu[i] if y[i] == 1.0 else 1.0 - mu[i]
        number += 1
        if number == TOGETHER:
            total += math.log(product)
            product, number = 1.0, 0
    return total + math.log(product)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_likelihood(
    family: int,
    link: int,
    y: FloatArray,
    eta: FloatArray,
    mu: FloatArray,
    scale: float,
    factorials: FloatArray,
) -> float:
    """Logarithm of the likelihood.

    Parameters
    ----------
    family, link : int
        Places in `FAMILIES` and `LINKS`.
    y, eta, mu : array, shape (rows,)
        Outcomes, sums of regressors, means.
    scale : float
        As of `scale_of`.
    factorials : array
        As of `log_factorials`.

    Returns
    -------
    float
    """
    total, rows = 0.0, y.shape[0]
    if family == BINOMIAL:
        return _of_outcomes(y, mu)
    if family == GAUSSIAN:
        squares = 0.0
        for i in range(rows):
            squares += (y[i] - mu[i]) ** 2
        if link == IDENTITY:
            scale = squares / rows
        return -0.5 * (squares / scale + rows * math.log(TWO_PI * scale))
    for i in range(rows):
        if family == POISSON:
            log = eta[i] if link == LOG else math.log(mu[i])
            count = int(y[i]) if y[i] < factorials.shape[0] else 0
            known = count == y[i]
            total += y[i] * log - mu[i] - (factorials[count] if known else math.lgamma(y[i] + 1.0))
        else:
            total += (math.log(y[i] / (scale * mu[i])) - y[i] / mu[i]) / scale - math.log(y[i])
    return total - rows * math.lgamma(1.0 / scale) if family == GAMMA else total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_factorials(family: int) -> FloatArray:
    """Logarithms of factorials of small counts, where a family needs them.

    Parameters
    ----------
    family : int
        Place in `FAMILIES`.

    Returns
    -------
    array
        Of 0!, 1!, 2!, …
    """
    found = np.zeros(FACTORIALS if family in (BINOMIAL, POISSON) else 1)
    for i in range(found.shape[0]):
        found[i] = math.lgamma(i + 1.0)
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def logs_of(family: int, y: FloatArray, logs: FloatArray) -> None:
    """Logarithms of outcomes, where a family needs them.

    Parameters
    ----------
    family : int
        Place in `FAMILIES`.
    y : array, shape (rows,)
        Outcomes.
    logs : array, shape (rows,)
        Become their logarithms; 0 where an outcome is 0.
    """
    if family in (POISSON, GAMMA):
        for i in range(y.shape[0]):
            logs[i] = math.log(y[i]) if y[i] > 0.0 else 0.0
