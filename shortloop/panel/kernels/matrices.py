"""Linear algebra of one fit: products of columns, and factors, inverses and products of small matrices.

Columns are multiplied three at a time: numbers are read a third as often.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def dot(a: FloatArray, b: FloatArray) -> float:
    """Multiply two vectors; sums are in the order that suits the processor."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def total_of(values: FloatArray) -> float:
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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def gram_of(q: FloatArray, weight: FloatArray | None, gram: FloatArray) -> None:
    """Set the (weighted) products of columns with each other, ``q diag(weight) q'``."""
    last = q.shape[0] - 1
    for j in range(0, last + 1, 3):
        j1, j2 = min(j + 1, last), min(j + 2, last)
        for k in range(0, j, 3):
            (
                (gram[j, k], gram[j, k + 1], gram[j, k + 2]),
                (gram[j1, k], gram[j1, k + 1], gram[j1, k + 2]),
                (gram[j2, k], gram[j2, k + 1], gram[j2, k + 2]),
            ) = _between(q, weight, j, j1, j2, k)
        gram[j, j], (gram[j1, j], gram[j1, j1]), (gram[j2, j], gram[j2, j1], gram[j2, j2]) = _among(
            q, weight, j, j1, j2
        )


# Columns are named by their numbers: to slice them costs as much as 50 rows.
@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _among(
    q: FloatArray, weight: FloatArray | None, a: int, b: int, c: int
) -> tuple[float, tuple[float, float], tuple[float, float, float]]:
    """Multiply three columns with each other."""
    aa = ba = bb = ca = cb = cc = 0.0
    for i in range(q.shape[1]):
        wa, wb, wc = q[a, i], q[b, i], q[c, i]
        if weight is not None:
            wa, wb, wc = weight[i] * wa, weight[i] * wb, weight[i] * wc
        aa += wa * q[a, i]
        ba += wb * q[a, i]
        bb += wb * q[b, i]
        ca += wc * q[a, i]
        cb += wc * q[b, i]
        cc += wc * q[c, i]
    return aa, (ba, bb), (ca, cb, cc)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _between(
    q: FloatArray, weight: FloatArray | None, a: int, b: int, c: int, x: int
) -> tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]:
    """Multiply each of three columns with each of three that follow one another, `x` the first."""
    ax = ay = az = bx = by = bz = cx = cy = cz = 0.0
    for i in range(q.shape[1]):
        wa, wb, wc = q[a, i], q[b, i], q[c, i]
        if weight is not None:
            wa, wb, wc = weight[i] * wa, weight[i] * wb, weight[i] * wc
        ax += wa * q[x, i]
        ay += wa * q[x + 1, i]
        az += wa * q[x + 2, i]
        bx += wb * q[x, i]
        by += wb * q[x + 1, i]
        bz += wb * q[x + 2, i]
        cx += wc * q[x, i]
        cy += wc * q[x + 1, i]
        cz += wc * q[x + 2, i]
    return (ax, ay, az), (bx, by, bz), (cx, cy, cz)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def products_of(q: FloatArray, values: FloatArray, products: FloatArray) -> None:
    """Set the products of each column with the same values, ``q @ values``."""
    last = q.shape[0] - 1
    for j in range(0, last + 1, 3):
        j1, j2 = min(j + 1, last), min(j + 2, last)
        products[j], products[j1], products[j2] = _three(q, j, j1, j2, values)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _three(q: FloatArray, a: int, b: int, c: int, values: FloatArray) -> tuple[float, float, float]:
    of_a = of_b = of_c = 0.0
    for i in range(values.shape[0]):
        of_a += q[a, i] * values[i]
        of_b += q[b, i] * values[i]
        of_c += q[c, i] * values[i]
    return of_a, of_b, of_c


@numba.njit(cache=True, nogil=True, error_model="numpy")
def sum_of(q: FloatArray, factors: FloatArray, sign: float, sums: FloatArray) -> None:
    """Add ``sign * factors @ q`` to `sums`."""
    size, rows = q.shape
    whole = size - size % 3
    for j in range(0, whole, 3):
        a, b, c = q[j], q[j + 1], q[j + 2]
        of_a, of_b, of_c = sign * factors[j], sign * factors[j + 1], sign * factors[j + 2]
        for i in range(rows):
            sums[i] = ((sums[i] + of_a * a[i]) + of_b * b[i]) + of_c * c[i]
    for j in range(whole, size):
        factor = sign * factors[j]
        for i in range(rows):
            sums[i] += factor * q[j, i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def move(q: FloatArray, step: FloatArray, gamma: FloatArray, left: FloatArray) -> None:
    """Add a step to coefficients, and subtract what it explains from the residuals."""
    gamma += step
    sum_of(q, step, -1.0, left)
