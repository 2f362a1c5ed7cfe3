"""Links of generalized linear models: between means and sums of regressors, and how means move with these.

McCullagh and Nelder 1989 (Generalized Linear Models, section 2.2). Each link has a loop of its own, which a
processor goes through several rows at once.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.exponentials import exp_of, log_of

LINKS = ("logit", "probit", "cloglog", "log", "identity", "inverse_power", "sqrt")
LOGIT, PROBIT, CLOGLOG, LOG, IDENTITY, INVERSE, SQRT = range(7)
ROOT_OF_TWO_PI = math.sqrt(2.0 * math.pi)
QUARTILE = 0.6744897501960817  # of the normal distribution


@numba.njit(cache=True, nogil=True, error_model="numpy")
def links_of(link: int, mu: FloatArray, eta: FloatArray) -> None:
    """Set linear predictors from means: from 1/4 to 3/4, if the link is of probabilities."""
    rows = mu.shape[0]
    if link == LOGIT:
        for i in range(rows):
            eta[i] = log_of(mu[i] / (1.0 - mu[i]))
    elif link == PROBIT:
        for i in range(rows):
            eta[i] = _quantile(mu[i])
    elif link == CLOGLOG:
        for i in range(rows):
            eta[i] = log_of(-log_of(1.0 - mu[i]))
    elif link == LOG:
        for i in range(rows):
            eta[i] = log_of(mu[i]) if mu[i] > 0.0 else np.nan
    elif link == IDENTITY:
        eta[:] = mu
    elif link == INVERSE:
        for i in range(rows):
            eta[i] = 1.0 / mu[i]
    else:
        for i in range(rows):
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
    rows = eta.shape[0]
    if link == LOGIT:
        for i in range(rows):
            mu[i] = 1.0 / (1.0 + exp_of(-eta[i]))
    elif link == PROBIT:
        for i in range(rows):
            mu[i] = 0.5 * math.erfc(-eta[i] / math.sqrt(2.0))
    elif link == CLOGLOG:
        for i in range(rows):
            mu[i] = 1.0 - exp_of(-exp_of(eta[i]))
    elif link == LOG:
        for i in range(rows):
            mu[i] = exp_of(eta[i])
    elif link == IDENTITY:
        mu[:] = eta
    elif link == INVERSE:
        for i in range(rows):
            mu[i] = 1.0 / eta[i]
    else:
        for i in range(rows):
            mu[i] = eta[i] * eta[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def slopes_of(link: int, eta: FloatArray, mu: FloatArray, slope: FloatArray) -> None:
    """Set derivatives of the link."""
    rows = mu.shape[0]
    if link == LOGIT:
        for i in range(rows):
            slope[i] = 1.0 / (mu[i] * (1.0 - mu[i]))
    elif link == PROBIT:
        for i in range(rows):
            slope[i] = ROOT_OF_TWO_PI * exp_of(0.5 * eta[i] * eta[i])
    elif link == CLOGLOG:
        for i in range(rows):
            slope[i] = 1.0 / ((mu[i] - 1.0) * log_of(1.0 - mu[i]))
    elif link == LOG:
        for i in range(rows):
            slope[i] = 1.0 / mu[i]
    elif link == IDENTITY:
        slope[:] = 1.0
    elif link == INVERSE:
        for i in range(rows):
            slope[i] = -1.0 / (mu[i] * mu[i])
    else:
        for i in range(rows):
            slope[i] = 0.5 / math.sqrt(mu[i])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def bends_of(link: int, eta: FloatArray, mu: FloatArray, slope: FloatArray, bend: FloatArray) -> None:
    """Set second derivatives of the link."""
    rows = mu.shape[0]
    if link == LOGIT:
        for i in range(rows):
            bend[i] = (2.0 * mu[i] - 1.0) / (mu[i] * (1.0 - mu[i])) ** 2
    elif link == PROBIT:
        for i in range(rows):
            bend[i] = eta[i] * slope[i] * slope[i]
    elif link == CLOGLOG:
        for i in range(rows):
            bend[i] = -(1.0 + log_of(1.0 - mu[i])) * slope[i] * slope[i]
    elif link == LOG:
        for i in range(rows):
            bend[i] = -1.0 / (mu[i] * mu[i])
    elif link == IDENTITY:
        bend[:] = 0.0
    elif link == INVERSE:
        for i in range(rows):
            bend[i] = 2.0 / (mu[i] * mu[i] * mu[i])
    else:
        for i in range(rows):
            bend[i] = -0.25 / (mu[i] * math.sqrt(mu[i]))
