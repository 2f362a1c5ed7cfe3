"""The rows of one group, as columns that a fit may overwrite; their constant, as statsmodels finds it."""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.products import gram_of
from shortloop.panel.kernels.singular import singular_values
from shortloop.panel.kernels.triangles import cholesky, dot, product_of

__all__ = [
    "IMPLICIT",
    "NO_CONSTANT",
    "ONCE",
    "UNCLEAR",
    "basis_of",
    "constant_of",
    "implicit_constant",
]

NO_CONSTANT, IMPLICIT, UNCLEAR = -1, -2, -3
"""Where a constant is, if it is no column: nowhere; in a sum of columns; rounding decides."""
SURELY_THERE, SURELY_NOT = 1e-12, 1e-6
ONCE = 30.0
"""Condition up to which one pass is enough: it leaves rounding times its square, a few in 1e13."""


@numba.njit(cache=True, nogil=True, error_model="numpy")
def constant_of(columns: FloatArray) -> int:
    """Which column is the constant, by the rule of statsmodels (``ModelData._handle_constant``).

    columns: (p, n)
    """
    found = NO_CONSTANT
    number = 0
    for j in range(columns.shape[0]):
        first = columns[j, 0]
        i = 1
        while i < columns.shape[1] and columns[j, i] == first:
            i += 1
        if i == columns.shape[1]:
            number += 1
            if first == 1.0:
                return j
            if first != 0.0 and found == NO_CONSTANT:
                found = j
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def implicit_constant(q: FloatArray, ones: FloatArray, smallest: float, frobenius: float) -> int:
    """Whether a sum of columns is constant.

    statsmodels compares the ranks of the columns with and without a column of ones. That is the same where
    the distance of the ones from all sums is far from rounding; else it is `UNCLEAR`.

    q: (p, n). Orthonormal basis of the (weighted) columns.
    ones: (n,). Ones, weighted as the columns are.
    """
    rows = ones.shape[0]
    length = math.sqrt(dot(ones, ones))
    for _ in range(2):
        for j in range(q.shape[0]):
            factor = dot(q[j], ones)
            for i in range(rows):
                ones[i] -= factor * q[j, i]
    distance = math.sqrt(dot(ones, ones)) / length
    if distance < SURELY_THERE:
        return IMPLICIT
    tolerance = rows * np.finfo(np.float64).eps * max(frobenius, length) / smallest
    return NO_CONSTANT if distance > max(SURELY_NOT, 100.0 * tolerance) else UNCLEAR


@numba.njit(cache=True, nogil=True, error_model="numpy")
def basis_of(
    q: FloatArray,
    largest: float,
    smallest: float,
    gram: FloatArray,
    first: FloatArray,
    second: FloatArray,
    lower: FloatArray,
) -> tuple[float, float]:
    """Make columns orthonormal, to a few times 1e-13, up to a condition of about 1e7, by CholeskyQR2.

    Yamamoto et al. 2015 (Roundoff error analysis of the CholeskyQR2 algorithm), section 2.

    q: (p, n). Columns; become ``L⁻¹ q``.
    gram, second: (p, p). Are written to.
    first: (p, p). Factor of the products of the columns.
    lower: (p, p). Its lower triangle becomes L.
    """
    _divide(q, first)
    if largest < ONCE * smallest:
        for i in range(lower.shape[0]):
            for j in range(i + 1):
                lower[i, j] = first[i, j]
        return largest, smallest
    gram_of(q, None, gram)
    if not cholesky(gram, second):
        return np.inf, 0.0
    _divide(q, second)
    product_of(first, second, lower)
    return singular_values(lower, gram)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _divide(q: FloatArray, lower: FloatArray) -> None:
    """Columns become ``L⁻¹ q``."""
    for j in range(q.shape[0]):
        for k in range(j):
            factor = lower[j, k]
            for i in range(q.shape[1]):
                q[j, i] -= factor * q[k, i]
        scale = 1.0 / lower[j, j]
        for i in range(q.shape[1]):
            q[j, i] *= scale
