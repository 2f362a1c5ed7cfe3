"""The largest and the smallest singular value of the columns of one fit."""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray

SWEEPS = 30  # of Jacobi's method: about six are needed
ROUNDING = 1e-15
STEPS = 100  # of Laguerre's method: about five are needed, thirty where eigenvalues are alike
CLOSE = 1e-15  # of what was reached: if what the next step will be is less, no more is gained
SLACK = 1e-13  # more than rounding, which would lead beyond the eigenvalue where all are nearly equal
ALIKE = 1e3  # so often may the largest eigenvalue hold the smallest: that has 12 digits then


@numba.njit(cache=True, nogil=True, error_model="numpy")
def singular_values_of(gram: FloatArray, lower: FloatArray, work: FloatArray) -> tuple[float, float]:
    """Compute the extreme singular values of columns from their products and the factor of these."""
    # `work` may be `gram`.
    largest, smallest = extreme_eigenvalues(gram, work)
    if largest < ALIKE * smallest:
        return math.sqrt(largest), math.sqrt(smallest)
    return singular_values(lower, work)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def singular_values(lower: FloatArray, work: FloatArray) -> tuple[float, float]:
    """Compute the extreme singular values of a lower triangle, to full relative accuracy."""
    # One-sided Jacobi (Demmel and Veselić 1992, Jacobi's method is more accurate than QR, section 4).
    size, unit = lower.shape[0], 0.0
    for i in range(size):
        for j in range(i + 1):
            unit = max(unit, abs(lower[i, j]))
    for i in range(size):
        for j in range(size):
            work[i, j] = lower[i, j] / unit if j <= i else 0.0  # so that no square is too small or too large
    squares = np.empty(size)
    for _ in range(SWEEPS):
        is_there = True
        for i in range(size):
            squares[i] = _product(work, i, i)
        for i in range(size - 1):
            for j in range(i + 1, size):
                aa, bb, ab = squares[i], squares[j], _product(work, i, j)
                if not ab * ab > ROUNDING * ROUNDING * aa * bb:
                    continue
                is_there = is_there and ab * ab < 100.0 * ROUNDING * ROUNDING * aa * bb
                apart = bb - aa
                tangent = 2.0 * ab / (apart + math.copysign(math.sqrt(apart * apart + 4.0 * ab * ab), apart))
                c = 1.0 / math.sqrt(1.0 + tangent * tangent)
                s = c * tangent
                for k in range(size):
                    u, v = work[i, k], work[j, k]
                    work[i, k] = c * u - s * v
                    work[j, k] = s * u + c * v
                squares[i], squares[j] = aa - tangent * ab, bb + tangent * ab
        if is_there:
            break
    largest, smallest = 0.0, np.inf
    for i in range(size):
        square = _product(work, i, i)
        largest, smallest = max(largest, square), min(smallest, square)
    return unit * math.sqrt(largest), unit * math.sqrt(smallest)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _product(rows: FloatArray, i: int, j: int) -> float:
    """Multiply two rows of a small matrix."""
    total = 0.0
    for k in range(rows.shape[1]):
        total += rows[i, k] * rows[j, k]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def extreme_eigenvalues(matrix: FloatArray, work: FloatArray) -> tuple[float, float]:
    """Compute the extreme eigenvalues of a positive definite matrix, to rounding of the largest."""
    # Laguerre's method comes from outside and never goes beyond the first eigenvalue (Parlett 1964, The
    # Laguerre method applied to the matrix eigenvalue problem), here of a tridiagonal matrix.
    size, unit = matrix.shape[0], 0.0
    for i in range(size):
        unit += matrix[i, i]
    for i in range(size):
        for j in range(i + 1):
            work[i, j] = matrix[i, j] / unit  # so that no square is too small or too large
    vectors = np.empty((5, size))
    diagonal, mirrored, squares = vectors[0], vectors[1], vectors[2]
    _tridiagonal(work, diagonal, squares, vectors[3], vectors[4])
    bound = 0.0
    for i in range(size):
        radius = math.sqrt(squares[i]) + (math.sqrt(squares[i + 1]) if i + 1 < size else 0.0)
        bound = max(bound, diagonal[i] + radius)  # Gershgorin
    np.subtract(bound, diagonal, mirrored)
    smallest, from_bound = _smallest(diagonal, mirrored, squares)
    return unit * (bound - from_bound), unit * smallest


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _tridiagonal(
    work: FloatArray, diagonal: FloatArray, squares: FloatArray, v: FloatArray, w: FloatArray
) -> None:
    """Reflect a matrix to a tridiagonal one; `squares` are those of its off-diagonal."""
    size = work.shape[0]
    squares[0] = 0.0
    for k in range(size - 2):
        length = 0.0
        for i in range(k + 1, size):
            v[i] = work[i, k]
            length += v[i] * v[i]
        squares[k + 1] = length
        beside = length - v[k + 1] * v[k + 1]
        if not beside > 0.0:
            continue
        v[k + 1] += math.copysign(math.sqrt(length), v[k + 1])
        twice = 2.0 / (beside + v[k + 1] * v[k + 1])
        along = 0.0
        w[k + 1 :] = 0.0
        for i in range(k + 1, size):
            for j in range(k + 1, i):
                w[i] += work[i, j] * v[j]
                w[j] += work[i, j] * v[i]
            w[i] += work[i, i] * v[i]
        for i in range(k + 1, size):
            w[i] *= twice
            along += w[i] * v[i]
        along *= 0.5 * twice
        for i in range(k + 1, size):
            w[i] -= along * v[i]
        for i in range(k + 1, size):
            for j in range(k + 1, i + 1):
                work[i, j] -= v[i] * w[j] + w[i] * v[j]
    if size > 1:
        squares[size - 1] = work[size - 1, size - 2] * work[size - 1, size - 2]
    for i in range(size):
        diagonal[i] = work[i, i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _smallest(a: FloatArray, b: FloatArray, squares: FloatArray) -> tuple[float, float]:
    """Compute the smallest eigenvalues of two positive semidefinite tridiagonal matrices."""
    # Both at a time: a processor begins with the one while it waits for the other.
    of_a = of_b = before_a = before_b = 0.0
    is_a = is_b = True
    size = a.shape[0]
    for _ in range(STEPS):
        first_a, second_a, first_b, second_b = _inverses(a, b, squares, of_a, of_b)
        if is_a:
            step = _step(size, first_a, second_a)
            of_a += step
            is_a = step * step > CLOSE * of_a * before_a
            before_a = step
        if is_b:
            step = _step(size, first_b, second_b)
            of_b += step
            is_b = step * step > CLOSE * of_b * before_b
            before_b = step
        if not (is_a or is_b):
            break
    return of_a, of_b


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _step(size: int, first: float, second: float) -> float:
    """Compute the next step; 0 at the eigenvalue, or beyond it by rounding."""
    if not 0.0 < first < np.inf:
        return 0.0
    apart = max(size * second - first * first, 0.0) + SLACK * first * first
    return size / (first + math.sqrt((size - 1.0) * apart))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _inverses(
    a: FloatArray, b: FloatArray, squares: FloatArray, shift_a: float, shift_b: float
) -> tuple[float, float, float, float]:
    """Sum 1 / (eigenvalue - shift) and its square, by pivots and how they change with the shift."""
    inverse_a = slope_a = bend_a = first_a = second_a = 0.0
    inverse_b = slope_b = bend_b = first_b = second_b = 0.0
    for i in range(a.shape[0]):
        # Of a pivot, which is 1 / inverse: slope and bend are its derivatives over it.
        beside_a, beside_b = squares[i] * inverse_a, squares[i] * inverse_b
        inverse_a, inverse_b = 1.0 / (a[i] - shift_a - beside_a), 1.0 / (b[i] - shift_b - beside_b)
        bend_a = beside_a * (bend_a - 2.0 * slope_a * slope_a) * inverse_a
        bend_b = beside_b * (bend_b - 2.0 * slope_b * slope_b) * inverse_b
        slope_a = (beside_a * slope_a - 1.0) * inverse_a
        slope_b = (beside_b * slope_b - 1.0) * inverse_b
        first_a, first_b = first_a - slope_a, first_b - slope_b
        second_a, second_b = second_a + (slope_a * slope_a - bend_a), second_b + (slope_b * slope_b - bend_b)
    return first_a, second_a, first_b, second_b
