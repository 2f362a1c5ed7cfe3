"""Families and links of generalized linear models.

McCullagh and Nelder 1989 (Generalized Linear Models, sections 2.2 and 2.3; binomial outcomes that are shares
of trials, section 4.4). Loops of links are vectorized.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.matrices import total_of
from shortloop.panel.kernels.special import exp_of, log_of
from shortloop.panel.statistics import EDGE, Reason

FAMILIES = ("binomial", "poisson", "gamma", "gaussian")
BINOMIAL, POISSON, GAMMA, GAUSSIAN = range(4)
LINKS = ("logit", "probit", "cloglog", "log", "identity", "inverse_power", "sqrt")
LOGIT, PROBIT, CLOGLOG, LOG, IDENTITY, INVERSE, SQRT = range(7)
ROOT_OF_TWO_PI = math.sqrt(2.0 * math.pi)
QUARTILE = 0.6744897501960817  # of the normal distribution
TWO_PI = 2.0 * math.pi
FACTORIALS = 256  # counts whose factorial is computed once
EPSILON = 2.0**-52
ROUNDING = 6 * EPSILON  # share of the terms of a deviance that may be rounding, which goes up and down


@numba.njit(cache=True, nogil=True, error_model="numpy")
def start_means(family: int, y: FloatArray, mu: FloatArray) -> None:
    mean = 0.5 if family == BINOMIAL else total_of(y) / y.shape[0]
    for i in range(y.shape[0]):
        mu[i] = (y[i] + mean) / 2.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def are_possible(family: int, mu: FloatArray) -> bool:
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
    """Set the weights of rows in an iteration from means and derivatives of the link."""
    for i in range(mu.shape[0]):
        weight[i] = 1.0 / (slope[i] * slope[i] * _variance(family, mu[i]))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def observed_of(
    family: int, y: FloatArray, mu: FloatArray, slope: FloatArray, weight: FloatArray, score: FloatArray
) -> None:
    """Set first derivatives of the likelihood of each row, and negative second ones, times the scale."""
    # `weight` holds second derivatives of the link before, and those of the likelihood after.
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
    """Compute the dispersion: 1, or Pearson's χ² over the degrees of freedom."""
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
    """Compute the deviance relative to the saturated model; `logs` are of `logs_of`."""
    if family == BINOMIAL:
        return -2.0 * _of_outcomes(y, mu, work)
    for i in range(y.shape[0]):
        left = y[i] - mu[i]
        if family == POISSON and link == LOG:
            work[i] = y[i] * (logs[i] - eta[i]) - left
        elif family == POISSON:
            work[i] = (y[i] * log_of(y[i] / mu[i]) if y[i] > 0.0 else 0.0) - left
        elif family == GAMMA:
            work[i] = left / mu[i] - (logs[i] - eta[i] if link == LOG else log_of(y[i] / mu[i]))
        else:
            work[i] = 0.5 * left * left
    return 2.0 * total_of(work)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _of_outcomes(y: FloatArray, mu: FloatArray, work: FloatArray) -> float:
    """Sum the logarithms of the probabilities of outcomes 0 and 1."""
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
    """Compute the log-likelihood; `logs` are of `logs_of`, `factorials` of `log_factorials`."""
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
    for i in range(rows):
        work[i] = y[i] * (eta[i] if link == LOG else log_of(mu[i])) - mu[i]
    total = total_of(work)
    for i in range(rows):
        total -= _log_factorial(y[i], factorials)
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_factorials(family: int) -> FloatArray:
    """Compute logarithms of 0!, 1!, 2!, …, where a family needs them."""
    found = np.zeros(FACTORIALS if family in (BINOMIAL, POISSON) else 1)
    for i in range(found.shape[0]):
        found[i] = math.lgamma(i + 1.0)
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def logs_of(family: int, y: FloatArray, logs: FloatArray) -> None:
    """Set the logarithms of outcomes, where a family needs them; 0 where an outcome is 0."""
    if family in (POISSON, GAMMA):
        for i in range(y.shape[0]):
            logs[i] = log_of(y[i]) if y[i] > 0.0 else 0.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def are_counts(y: FloatArray, trials: FloatArray) -> int:
    """Check that outcomes are shares of trials, and differ."""
    lowest, highest = np.inf, -np.inf
    for i in range(y.shape[0]):
        if not (np.isfinite(y[i]) and np.isfinite(trials[i])):
            return Reason.NOT_FINITE
        if not (0.0 <= y[i] <= 1.0 and trials[i] > 0.0):
            return Reason.OUTSIDE
        lowest, highest = min(lowest, y[i]), max(highest, y[i])
    return Reason.VOUCHED if lowest < highest else Reason.EXACT_FIT


@numba.njit(cache=True, nogil=True, error_model="numpy")
def counts_deviance(y: FloatArray, trials: FloatArray, mu: FloatArray) -> tuple[float, float]:
    """Compute the deviance relative to the saturated model, and how much of it may be rounding."""
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
    """Estimate how much of a deviance comes from the rounding of linear predictors in statsmodels."""
    longest, squares = 1.0, 0.0
    for i in range(y.shape[0]):
        longest = max(longest, abs(eta[i]))
        squares += (weight[i] * slope[i] * (y[i] - mu[i])) ** 2
    return 2.0 * EPSILON * condition * longest * math.sqrt(squares)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def counts_likelihood(y: FloatArray, trials: FloatArray, mu: FloatArray, factorials: FloatArray) -> float:
    """Compute the log-likelihood; `factorials` are logarithms of 0!, 1!, 2!, …"""
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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def links_of(link: int, mu: FloatArray, eta: FloatArray) -> None:
    """Set linear predictors from means: from 1/4 to 3/4, if the link is of probabilities."""
    for i in range(mu.shape[0]):
        if link == LOGIT:
            eta[i] = log_of(mu[i] / (1.0 - mu[i]))
        elif link == PROBIT:
            eta[i] = _quantile(mu[i])
        elif link == CLOGLOG:
            eta[i] = log_of(-log_of(1.0 - mu[i]))
        elif link == LOG:
            eta[i] = log_of(mu[i]) if mu[i] > 0.0 else np.nan
        elif link == IDENTITY:
            eta[i] = mu[i]
        elif link == INVERSE:
            eta[i] = 1.0 / mu[i]
        else:
            eta[i] = math.sqrt(mu[i])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _quantile(share: float) -> float:
    """Invert the normal distribution for shares from 1/4 to 3/4, by Newton's method, in five steps."""
    if share == 0.25 or share == 0.75:
        return -QUARTILE if share == 0.25 else QUARTILE
    found = 0.0
    for _ in range(6):
        missing = share - 0.5 * math.erfc(-found / math.sqrt(2.0))
        found += missing * ROOT_OF_TWO_PI * math.exp(0.5 * found * found)
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def means_of(link: int, eta: FloatArray, mu: FloatArray) -> None:
    """Set means from linear predictors."""
    for i in range(eta.shape[0]):
        if link == LOGIT:
            mu[i] = 1.0 / (1.0 + exp_of(-eta[i]))
        elif link == PROBIT:
            mu[i] = 0.5 * math.erfc(-eta[i] / math.sqrt(2.0))
        elif link == CLOGLOG:
            mu[i] = 1.0 - exp_of(-exp_of(eta[i]))
        elif link == LOG:
            mu[i] = exp_of(eta[i])
        elif link == IDENTITY:
            mu[i] = eta[i]
        elif link == INVERSE:
            mu[i] = 1.0 / eta[i]
        else:
            mu[i] = eta[i] * eta[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def slopes_of(link: int, eta: FloatArray, mu: FloatArray, slope: FloatArray) -> None:
    """Set derivatives of the link."""
    for i in range(mu.shape[0]):
        if link == LOGIT:
            slope[i] = 1.0 / (mu[i] * (1.0 - mu[i]))
        elif link == PROBIT:
            slope[i] = ROOT_OF_TWO_PI * exp_of(0.5 * eta[i] * eta[i])
        elif link == CLOGLOG:
            slope[i] = 1.0 / ((mu[i] - 1.0) * log_of(1.0 - mu[i]))
        elif link == LOG:
            slope[i] = 1.0 / mu[i]
        elif link == IDENTITY:
            slope[i] = 1.0
        elif link == INVERSE:
            slope[i] = -1.0 / (mu[i] * mu[i])
        else:
            slope[i] = 0.5 / math.sqrt(mu[i])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def bends_of(link: int, eta: FloatArray, mu: FloatArray, slope: FloatArray, bend: FloatArray) -> None:
    """Set second derivatives of the link."""
    for i in range(mu.shape[0]):
        if link == LOGIT:
            bend[i] = (2.0 * mu[i] - 1.0) / (mu[i] * (1.0 - mu[i])) ** 2
        elif link == PROBIT:
            bend[i] = eta[i] * slope[i] * slope[i]
        elif link == CLOGLOG:
            bend[i] = -(1.0 + log_of(1.0 - mu[i])) * slope[i] * slope[i]
        elif link == LOG:
            bend[i] = -1.0 / (mu[i] * mu[i])
        elif link == IDENTITY:
            bend[i] = 0.0
        elif link == INVERSE:
            bend[i] = 2.0 / (mu[i] * mu[i] * mu[i])
        else:
            bend[i] = -0.25 / (mu[i] * math.sqrt(mu[i]))
