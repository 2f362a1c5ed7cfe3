"""Small matrices of one fit, as compiled functions: factors, inverses, products."""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray

__all__ = [
    "ahead_of",
    "cholesky",
    "coefficients_of",
    "dot",
    "inverse_of",
    "outer_of",
    "product_of",
    "sandwich_of",
    "solve",
    "total_of",
]


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def dot(a: FloatArray, b: FloatArray) -> float:
    """Multiply two vectors; sums are in the order that suits the processor."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def total_of(values: FloatArray) -> float:
    """Sum values, in the order that suits the processor."""
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def cholesky(matrix: FloatArray, lower: FloatArray) -> bool:
    """Factor a symmetric matrix, ``L L' = matrix``; False if it is not positive definite."""
    for j in range(matrix.shape[0]):
        rest = matrix[j, j]
        for k in range(j):
            rest -= lower[j, k] * lower[j, k]
        if not rest > 0.0 or rest == np.inf:
            return False
        diagonal = math.sqrt(rest)
        lower[j, j] = diagonal
        for i in range(j + 1, matrix.shape[0]):
            rest = matrix[i, j]
            for k in range(j):
                rest -= lower[i, k] * lower[j, k]
            lower[i, j] = rest / diagonal
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def coefficients_of(inverse: FloatArray, gamma: FloatArray, beta: FloatArray) -> None:
    """Set coefficients of columns from those of their basis, ``inverse.T @ gamma``."""
    for i in range(gamma.shape[0]):
        total = 0.0
        for k in range(i, gamma.shape[0]):
            total += inverse[k, i] * gamma[k]
        beta[i] = total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def ahead_of(inverse: FloatArray, right: FloatArray, gamma: FloatArray) -> None:
    """Set products of the basis from those of the columns, ``inverse @ right``."""
    for i in range(gamma.shape[0]):
        total = 0.0
        for k in range(i + 1):
            total += inverse[i, k] * right[k]
        gamma[i] = total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def product_of(first: FloatArray, second: FloatArray, product: FloatArray) -> None:
    """Multiply lower triangles."""
    for i in range(first.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(j, i + 1):
                total += first[i, k] * second[k, j]
            product[i, j] = total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def inverse_of(lower: FloatArray, inverse: FloatArray) -> None:
    """Invert a lower triangle."""
    for j in range(lower.shape[0]):
        inverse[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, lower.shape[0]):
            total = 0.0
            for k in range(j, i):
                total -= lower[i, k] * inverse[k, j]
            inverse[i, j] = total / lower[i, i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def outer_of(lower: FloatArray, product: FloatArray) -> None:
    """Set ``lower.T @ lower``: of an inverse, the inverse of what was factored."""
    for i in range(lower.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, lower.shape[0]):
                total += lower[k, i] * lower[k, j]
            product[i, j] = product[j, i] = total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def sandwich_of(lower: FloatArray, middle: FloatArray, work: FloatArray, product: FloatArray) -> None:
    """Set ``lower.T @ middle @ lower``, for a symmetric matrix."""
    size = lower.shape[0]
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(j, size):
                total += (middle[i, k] if k <= i else middle[k, i]) * lower[k, j]
            work[i, j] = total
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, size):
                total += lower[k, i] * work[k, j]
            product[i, j] = product[j, i] = total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def solve(lower: FloatArray, right: FloatArray, solution: FloatArray) -> None:
    """Solve ``L L' x = right``, with the factor of `cholesky`."""
    size = right.shape[0]
    for i in range(size):
        rest = right[i]
        for k in range(i):
            rest -= lower[i, k] * solution[k]
        solution[i] = rest / lower[i, i]
    for i in range(size - 1, -1, -1):
        rest = solution[i]
        for k in range(i + 1, size):
            rest -= lower[k, i] * solution[k]
        solution[i] = rest / lower[i, i]
