"""What rounding does to a quantile regression of statsmodels, carried along its iterations to first order."""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.panel.kernels.triangles import dot, inverse_of, outer_of
from shortloop.types import FloatArray

__all__ = ["LEAST", "SURE", "are_clear", "carry", "evaluate", "variance_of"]

LEAST = 1e-6
"""Smaller residuals are taken for as large as this by statsmodels."""
SURE = 10.0
"""Standard deviations of rounding."""
CUT = 1e12  # condition, on the way, of what statsmodels inverts but for parts 1e-15 as large
ROUNDING = 2e-16  # of what statsmodels inverts, and of outcomes
BESIDE = 1e4  # outcomes this many times the residual leave rounding in its weight


@numba.njit(cache=True, nogil=True, error_model="numpy")
def carry(
    gram: FloatArray,
    weighted: FloatArray,
    change: FloatArray,
    evaluated: FloatArray,
    spread: FloatArray,
    lower: FloatArray,
    beta: FloatArray,
    errors: FloatArray,
) -> bool:
    """Carry the covariance of rounding through an iteration, and add that of the iteration.

    Parameters
    ----------
    gram, weighted : array, shape (p, p)
        Weighted products of the basis, and their factor.
    change : array, shape (p, p)
        By how much the right side moves with the coefficients, by way of the weights.
    evaluated : array, shape (p, p)
        Covariance of what rounding of residuals does to the right side, by way of the weights.
    spread : array, shape (p, p)
        ``inverse @ inverse.T``: errors of the products of columns, in the basis.
    lower : array, shape (p, p)
        Triangle that leads from the basis to the columns.
    beta : array, shape (p,)
        Coefficients.
    errors : array, shape (p, p)
        The covariance.

    Returns
    -------
    bool
        False if statsmodels may cut off a part of what it inverts.
    """
    size = beta.shape[0]
    middle, root = np.empty((size, size)), np.empty((size, size))
    trace, smallest = 0.0, np.inf
    for j in range(size):
        for k in range(j):
            change[k, j] = change[j, k]
    for j in range(size):
        for a in range(j + 1):
            total = 0.5 * gram[a, a] * lower[j, a]
            for b in range(a):
                total += gram[a, b] * lower[j, b]
            trace += 2.0 * lower[j, a] * total
    for j in range(size):
        smallest = min(smallest, (lower[j, j] * weighted[j, j]) ** 2)
    size_of_errors = (ROUNDING * trace) ** 2 * dot(beta, beta)
    _product(change, errors, middle)
    _product(middle, change, errors)
    for i in range(size):
        for j in range(size):
            errors[i, j] += size_of_errors * spread[i, j] + (evaluated[i, j] if j <= i else evaluated[j, i])
    inverse_of(weighted, middle)
    outer_of(middle, root)
    _product(root, errors, middle)
    _product(middle, root, errors)
    return trace < CUT * smallest


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _product(a: FloatArray, b: FloatArray, product: FloatArray) -> None:
    """Multiply small square matrices."""
    for i in range(a.shape[0]):
        product[i] = 0.0
        for k in range(a.shape[0]):
            factor = a[i, k]
            for j in range(a.shape[0]):
                product[i, j] += factor * b[k, j]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def evaluate(
    q: FloatArray, y: FloatArray, weight: FloatArray, pull: FloatArray, evaluated: FloatArray
) -> None:
    """What rounding of residuals does: to small residuals of large outcomes, the others do not matter.

    Parameters
    ----------
    q : array, shape (p, rows)
        Orthonormal basis of the columns.
    y, weight : array, shape (rows,)
        Outcomes, and the weights of this iteration.
    pull : array, shape (rows,)
        How much the right side moves with each residual.
    evaluated : array, shape (p, p)
        Its lower triangle becomes the covariance of what that does to the right side.
    """
    evaluated[:] = 0.0
    for i in range(y.shape[0]):
        if weight[i] * abs(y[i]) > BESIDE and pull[i] != 0.0:
            square = (ROUNDING * y[i] * pull[i]) ** 2
            for a in range(q.shape[0]):
                for b in range(a + 1):
                    evaluated[a, b] += square * q[a, i] * q[b, i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def are_clear(q: FloatArray, left: FloatArray, errors: FloatArray, nearest: float, quantile: float) -> bool:
    """Whether rounding is small beside each residual, the nearest to zero of which is known, or 0.

    At the median, it may be small beside the least that residuals are taken for: their sign does not count.

    Parameters
    ----------
    q : array, shape (p, rows)
        Orthonormal basis of the columns.
    left : array, shape (rows,)
        Residuals.
    errors : array, shape (p, p)
        Covariance of rounding, in the basis.
    nearest : float
        Size of the smallest residual, or 0.
    quantile : float
        Which quantile is fitted.

    Returns
    -------
    bool
    """
    total = 0.0
    for j in range(q.shape[0]):
        total += errors[j, j]
    reach = SURE * math.sqrt(total)
    if nearest > reach:
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
    """Of rounding in one coefficient of the columns.

    Parameters
    ----------
    inverse : array, shape (p, p)
        Of the triangle that leads from the basis to the columns.
    errors : array, shape (p, p)
        Covariance of rounding, in the basis.
    j : int
        Which coefficient.

    Returns
    -------
    float
    """
    total = 0.0
    for a in range(j, inverse.shape[0]):
        for b in range(j, inverse.shape[0]):
            total += inverse[a, j] * errors[a, b] * inverse[b, j]
    return total
