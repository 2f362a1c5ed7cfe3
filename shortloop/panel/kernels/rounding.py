"""Rounding in a quantile regression of statsmodels, carried along its iterations to first order."""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.matrices import dot, inverse_of

LEAST = 1e-6  # smaller residuals are taken for as large as this by statsmodels
SURE = 10.0  # standard deviations of rounding
CUT = 1e12  # condition, on the way, of what statsmodels inverts but for parts 1e-15 as large
ROUNDING = 1e-16  # of what statsmodels inverts, of the inverse, and of the sums that residuals are made of
WIDTH = 8  # columns of a small matrix that are computed at once
TOGETHER = 64  # rows in a block: few rows matter, and most often none of a block
BESIDE = 1e4  # sums this many times the residual leave rounding in its weight


@numba.njit(cache=True, nogil=True, error_model="numpy")
def matrices_for(count: int, size: int) -> FloatArray:
    """Allocate small matrices; rows are padded with zeros to what a processor takes at once."""
    return np.zeros((count, size, (size + WIDTH - 1) // WIDTH * WIDTH))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def carry(
    gram: FloatArray,
    weighted: FloatArray,
    change: FloatArray,
    evaluated: FloatArray,
    spread: FloatArray,
    of_columns: FloatArray,
    lower: FloatArray,
    beta: FloatArray,
    errors: FloatArray,
    work: FloatArray,
) -> bool:
    """Carry the covariance of rounding through an iteration, and add that of the iteration.

    Matrices but `lower` are of `matrices_for`. `gram` and `weighted` are the weighted products of the basis,
    and their factor. `change` is by how much the right side moves with the coefficients, by way of the
    weights; `evaluated` is of `evaluate`. `spread` is ``inverse @ inverse.T``, the errors of the products of
    columns, in the basis; `of_columns` the inverse of `lower`. Zeros above the diagonal of the second of
    `work` stay so.
    """
    size = beta.shape[0]
    middle, inverse, sums, right = work[0], work[1], work[2, 0], work[3, 0]
    trace, smallest = 0.0, np.inf
    for j in range(size):
        for a in range(j + 1):
            total = 0.5 * gram[a, a] * lower[j, a]
            for b in range(a):
                total += gram[a, b] * lower[j, b]
            trace += 2.0 * lower[j, a] * total
        smallest = min(smallest, (lower[j, j] * weighted[j, j]) ** 2)
        for k in range(j):
            change[k, j] = change[j, k]
            evaluated[k, j] = evaluated[j, k]
    of_products = (ROUNDING * trace) ** 2 * dot(beta, beta)
    _product(errors, change, middle)
    _product(change, middle, errors)
    for i in range(size):
        for j in range(size):
            errors[i, j] += of_products * spread[i, j] + evaluated[i, j]
    inverse_of(weighted, inverse)
    _product(inverse, inverse, change)  # the inverse of the weighted products
    _product(errors, change, middle)
    _product(change, middle, errors)
    _product(change, of_columns, middle)
    _product(of_columns, middle, change)  # the same of the columns
    _right_side(gram, lower, beta, sums, right)
    _add_of_inverse(change, right, lower, errors)
    return trace < CUT * smallest


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _right_side(
    gram: FloatArray, lower: FloatArray, beta: FloatArray, sums: FloatArray, right: FloatArray
) -> None:
    """Set weighted products of the columns and the fitted values."""
    size = beta.shape[0]
    sums[:] = 0.0
    for a in range(size):
        total = 0.0
        for j in range(a, size):
            total += lower[j, a] * beta[j]
        for b in range(size):
            sums[b] += total * (gram[a, b] if b <= a else gram[b, a])
    for j in range(size):
        right[j] = 0.0
        for a in range(j + 1):
            right[j] += lower[j, a] * sums[a]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_of_inverse(inverse: FloatArray, right: FloatArray, lower: FloatArray, errors: FloatArray) -> None:
    """Add the rounding of an inverse times the right side, as statsmodels multiplies them.

    With a residual next to zero these are sums of large numbers that cancel each other, and the error is as
    large in directions in which the rows with large weights leave nothing free.
    """
    size = lower.shape[0]
    for j in range(size):
        variance = 0.0
        for k in range(size):
            variance += (ROUNDING * inverse[j, k] * right[k]) ** 2
        for a in range(j + 1):
            for b in range(j + 1):
                errors[a, b] += variance * lower[j, a] * lower[j, b]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _product(a: FloatArray, b: FloatArray, product: FloatArray) -> None:
    """``a.T @ b`` of small matrices."""
    for first in range(0, product.shape[1], WIDTH):
        for i in range(a.shape[0]):
            for j in range(WIDTH):
                product[i, first + j] = 0.0
            for k in range(a.shape[0]):
                factor = a[k, i]
                for j in range(WIDTH):
                    product[i, first + j] += factor * b[k, first + j]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def sizes_of(x: FloatArray, y: FloatArray, beta: FloatArray, sizes: FloatArray) -> None:
    """Set the sums of the absolute values of the terms of each residual."""
    for i in range(y.shape[0]):
        sizes[i] = abs(y[i])
    for j in range(x.shape[0]):
        factor = beta[j]
        for i in range(y.shape[0]):
            sizes[i] += abs(factor * x[j, i])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def evaluate(
    q: FloatArray, sizes: FloatArray, weight: FloatArray, pull: FloatArray, evaluated: FloatArray
) -> None:
    """Set the covariance that rounding of residuals adds to the right side; `pull` is its derivative.

    Only small residuals of large sums matter.
    """
    evaluated[:] = 0.0
    for first in range(0, sizes.shape[0], TOGETHER):
        some, by, large = weight[first : first + TOGETHER], sizes[first : first + TOGETHER], 0
        for i in range(some.shape[0]):
            large += some[i] * by[i] > BESIDE
        if large == 0:
            continue
        for i in range(first, first + some.shape[0]):
            if weight[i] * sizes[i] > BESIDE and pull[i] != 0.0:
                square = (ROUNDING * sizes[i] * pull[i]) ** 2
                for a in range(q.shape[0]):
                    for b in range(a + 1):
                        evaluated[a, b] += square * q[a, i] * q[b, i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def are_clear(q: FloatArray, left: FloatArray, errors: FloatArray, quantile: float) -> bool:
    """True if rounding is small beside each residual.

    At the median, it may be small beside the least that residuals are taken for: their sign does not count.
    """
    total = 0.0
    for j in range(q.shape[0]):
        total += errors[j, j]
    reach = SURE * math.sqrt(total)
    clear = 0
    for i in range(left.shape[0]):
        clear += abs(left[i]) > reach
    if clear == left.shape[0]:
        return True
    for i in range(left.shape[0]):
        distance = abs(left[i])
        if distance > reach:
            continue
        total = 0.0
        for a in range(q.shape[0]):
            for b in range(q.shape[0]):
                total += q[a, i] * errors[a, b] * q[b, i]
        if quantile == 0.5:
            distance = max(distance, LEAST)
        if not SURE * math.sqrt(total) < distance:
            return False
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def variance_of(inverse: FloatArray, errors: FloatArray, j: int) -> float:
    """Compute the variance of rounding in one coefficient of the columns."""
    total = 0.0
    for a in range(j, inverse.shape[0]):
        for b in range(j, inverse.shape[0]):
            total += inverse[a, j] * errors[a, b] * inverse[b, j]
    return total
