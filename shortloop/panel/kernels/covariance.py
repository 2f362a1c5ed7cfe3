"""Covariances of coefficients that do not take all errors for alike."""

from __future__ import annotations

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.kernels.groups import Rows
from shortloop.panel.kernels.matrices import cholesky, dot, gram_of, sandwich_of
from shortloop.panel.kernels.rows import longest_of
from shortloop.panel.statistics import Reason

NONROBUST, HC0, HC1, HC2, HC3, CLUSTER, HAC, UNIFORM = range(8)
"""Kinds of covariances: MacKinnon and White 1985, section 2; clusters: Cameron and Miller 2015, section 2;
of two columns: Cameron, Gelbach and Miller 2011, section 2; HAC: Newey and West 1987, with weights that fall;
UNIFORM: with weights of 1."""
KINDS = {
    "nonrobust": NONROBUST,
    "HC0": HC0,
    "HC1": HC1,
    "HC2": HC2,
    "HC3": HC3,
    "cluster": CLUSTER,
    "HAC": HAC,
}
UNCLEAR_TEST = -1.0
FREE = 1e-8  # least share of a row that others do not decide, over the square of the condition
LEAST = 1e-8  # times what it is where errors are alike: less than this, a variance may be rounding
CANCELS = 1e3  # times as much, where differences of sums make it
SMALL = 1e-9  # share of the largest variance; of less, rounding decides the rank that statsmodels finds


@numba.njit(cache=True, nogil=True, error_model="numpy")
def middle_of_rows(
    kind: int, q: FloatArray, residuals: FloatArray, condition: float, middle: FloatArray
) -> bool:
    """Compute the middle of a sandwich for errors of different size, ``q diag(e²) q'``."""
    # False if a row nearly alone decides its fit. `residuals` and `q` are written to.
    size, rows = q.shape
    if kind >= HC2:
        for i in range(rows):
            leverage = 0.0
            for j in range(size):
                leverage += q[j, i] * q[j, i]
            if 1.0 - leverage < FREE * condition**2:
                return False
            residuals[i] /= (1.0 - leverage) if kind == HC3 else np.sqrt(1.0 - leverage)
    for j in range(size):
        for i in range(rows):
            q[j, i] *= residuals[i]
    factor = rows / (rows - size) if kind == HC1 else 1.0
    for j in range(size):
        for k in range(j + 1):
            middle[j, k] = factor * dot(q[j], q[k])
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def middle_of_clusters(
    q: FloatArray, residuals: FloatArray, clusters: IntArray, sums: FloatArray, middle: FloatArray
) -> int:
    """Compute the middle of a sandwich for errors correlated in clusters; return how many there are."""
    # It has statsmodels' correction for small samples. `clusters`, (1 or 3, n): those of a column; or of two,
    # and of both together, whose middle is taken off. `sums`, (n, p), is written to.
    size, rows = q.shape
    fewest = rows
    middle[:] = 0.0
    for way in range(clusters.shape[0]):
        number, codes = 0, clusters[way]
        for i in range(rows):
            number = max(number, codes[i] + 1)
        fewest = min(fewest, number)
        sums[:number] = 0.0
        for i in range(rows):
            for j in range(size):
                sums[codes[i], j] += q[j, i] * residuals[i]
        if number > 1:
            factor = number / (number - 1.0) * ((rows - 1.0) / (rows - size))
            for j in range(size):
                for k in range(j + 1):
                    total = 0.0
                    for c in range(number):
                        total += sums[c, j] * sums[c, k]
                    middle[j, k] += factor * total if way < 2 else -factor * total
    return fewest


@numba.njit(cache=True, nogil=True, error_model="numpy")
def middle_of_lags(kind: int, q: FloatArray, residuals: FloatArray, lags: int, middle: FloatArray) -> None:
    """Compute the middle of a sandwich for errors correlated over time."""
    # `residuals` and `q` are written to; one becomes a sum of the rows before each of a column of the other.
    size, rows = q.shape
    for j in range(size):
        for i in range(rows):
            q[j, i] *= residuals[i]
    for k in range(size):
        for i in range(rows):
            residuals[i] = 0.5 * q[k, i]
        for lag in range(1, min(lags, rows - 1) + 1):
            weight = 1.0 if kind == UNIFORM else 1.0 - lag / (lags + 1.0)
            for i in range(lag, rows):
                residuals[i] += weight * q[k, i - lag]
        for j in range(size):
            middle[j, k] = dot(q[j], residuals)
    for j in range(size):
        for k in range(j + 1):
            middle[j, k] += middle[k, j]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def sums_for(rows: Rows, kind: int) -> FloatArray:
    """Allocate sums over clusters, (longest group, p); none for other kinds."""
    return np.empty((longest_of(rows.starts) if kind == CLUSTER else 0, rows.size))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def robust_likelihood(
    kind: int,
    x: FloatArray,
    score: FloatArray,
    clusters: IntArray,
    lags: int,
    inverse: FloatArray,
    root: FloatArray,
    scale: float,
    sums: FloatArray,
    covariance: FloatArray,
) -> int:
    """Compute the robust covariance of maximum-likelihood coefficients, or why it cannot be relied on."""
    # As in statsmodels, HC0 to HC3 are one and the same here, without a correction. `x` are the columns, or a
    # basis; `score` the derivatives of the likelihood of each row; both are written to. `inverse` is that of
    # the triangle L, where ``L L'`` are the second derivatives; `root` is the same, with a basis times the
    # inverse of the triangle that leads to the columns. `sums`, (n, p), is written to.
    size = x.shape[0]
    middle, work, both = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
    if kind == CLUSTER:
        if middle_of_clusters(x, score, clusters, sums, middle) < 2:
            return Reason.FEW_CLUSTERS
    elif kind >= HAC:
        middle_of_lags(kind, x, score, lags, middle)
    else:
        score *= score
        gram_of(x, score, middle)
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(i + 1):
                total += inverse[i, k] * (middle[k, j] if j <= k else middle[j, k])
            work[i, j] = total
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += work[i, k] * inverse[j, k]
            both[i, j] = total
    sandwich_of(root, both, work, covariance)
    least = scale * CANCELS if kind >= HAC or clusters.shape[0] > 1 else scale
    return Reason.VOUCHED if has_variances(covariance, root, least) else Reason.NO_VARIANCE


@numba.njit(cache=True, nogil=True, error_model="numpy")
def has_variances(covariance: FloatArray, root: FloatArray, scale: float) -> bool:
    """True if no variance may be rounding; ``scale * root.T @ root`` is the covariance of equal errors."""
    for j in range(root.shape[0]):
        alike = 0.0
        for k in range(j, root.shape[0]):
            alike += root[k, j] * root[k, j]
        if not covariance[j, j] > LEAST * scale * alike:
            return False
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def wald(
    beta: FloatArray, covariance: FloatArray, constant: int, work: FloatArray, lower: FloatArray
) -> float:
    """Compute the F statistic of the hypothesis that all coefficients but the constant are zero."""
    size, largest = 0, 0.0
    for i in range(beta.shape[0]):
        if i == constant:
            continue
        largest = max(largest, covariance[i, i])
        column = 0
        for j in range(beta.shape[0]):
            if j != constant:
                work[size, column] = covariance[i, j]
                column += 1
        size += 1
    if size == 0:
        return np.nan
    if not cholesky(work[:size, :size], lower):
        return UNCLEAR_TEST
    for i in range(size):
        if lower[i, i] ** 2 < SMALL * largest:
            return UNCLEAR_TEST
    total, i = 0.0, 0
    for each in range(beta.shape[0]):
        if each == constant:
            continue
        rest = beta[each]
        for k in range(i):
            rest -= lower[i, k] * work[0, k]
        work[0, i] = rest / lower[i, i]  # of which nothing is needed any more
        total += work[0, i] * work[0, i]
        i += 1
    return total / size
