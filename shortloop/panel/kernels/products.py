"""Products of columns with values of rows, three columns at a time: numbers are read a third as often."""

from __future__ import annotations

import numba

from shortloop.panel.kernels.triangles import dot
from shortloop.types import FloatArray

__all__ = ["move", "products_of", "sum_of", "weighted_gram"]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def weighted_gram(q: FloatArray, weight: FloatArray, gram: FloatArray) -> None:
    """Products of columns, with a weight for each row.

    Parameters
    ----------
    q : array, shape (p, n)
    weight : array, shape (n,)
    gram : array, shape (p, p)
        Its lower triangle becomes ``q diag(weight) q'``.
    """
    last = q.shape[0] - 1
    for j in range(0, last + 1, 3):
        j1, j2 = min(j + 1, last), min(j + 2, last)
        for k in range(0, j, 3):
            (
                (gram[j, k], gram[j, k + 1], gram[j, k + 2]),
                (gram[j1, k], gram[j1, k + 1], gram[j1, k + 2]),
                (gram[j2, k], gram[j2, k + 1], gram[j2, k + 2]),
            ) = _between(weight, q[j], q[j1], q[j2], q[k], q[k + 1], q[k + 2])
        gram[j, j], (gram[j1, j], gram[j1, j1]), (gram[j2, j], gram[j2, j1], gram[j2, j2]) = _among(
            weight, q[j], q[j1], q[j2]
        )


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _among(
    weight: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray
) -> tuple[float, tuple[float, float], tuple[float, float, float]]:
    """Weighted products of three columns."""
    aa = ba = bb = ca = cb = cc = 0.0
    for i in range(weight.shape[0]):
        wa, wb, wc = weight[i] * a[i], weight[i] * b[i], weight[i] * c[i]
        aa += wa * a[i]
        ba += wb * a[i]
        bb += wb * b[i]
        ca += wc * a[i]
        cb += wc * b[i]
        cc += wc * c[i]
    return aa, (ba, bb), (ca, cb, cc)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _between(
    weight: FloatArray,
    a: FloatArray,
    b: FloatArray,
    c: FloatArray,
    x: FloatArray,
    y: FloatArray,
    z: FloatArray,
) -> tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]:
    """Weighted products of each of three columns with each of three others."""
    ax = ay = az = bx = by = bz = cx = cy = cz = 0.0
    for i in range(weight.shape[0]):
        wa, wb, wc = weight[i] * a[i], weight[i] * b[i], weight[i] * c[i]
        ax += wa * x[i]
        ay += wa * y[i]
        az += wa * z[i]
        bx += wb * x[i]
        by += wb * y[i]
        bz += wb * z[i]
        cx += wc * x[i]
        cy += wc * y[i]
        cz += wc * z[i]
    return (ax, ay, az), (bx, by, bz), (cx, cy, cz)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def products_of(q: FloatArray, values: FloatArray, products: FloatArray) -> None:
    """Product of each column with the same values.

    Parameters
    ----------
    q : array, shape (p, n)
        Columns.
    values : array, shape (n,)
    products : array, shape (p,)
        Becomes ``q @ values``.
    """
    size = q.shape[0]
    whole = size - size % 3
    for j in range(0, whole, 3):
        products[j], products[j + 1], products[j + 2] = _three(q[j], q[j + 1], q[j + 2], values)
    for j in range(whole, size):
        products[j] = dot(q[j], values)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _three(a: FloatArray, b: FloatArray, c: FloatArray, values: FloatArray) -> tuple[float, float, float]:
    of_a = of_b = of_c = 0.0
    for i in range(values.shape[0]):
        of_a += a[i] * values[i]
        of_b += b[i] * values[i]
        of_c += c[i] * values[i]
    return of_a, of_b, of_c


@numba.njit(cache=True, nogil=True, error_model="numpy")
def sum_of(q: FloatArray, factors: FloatArray, sign: float, sums: FloatArray) -> None:
    """Add multiples of columns.

    Parameters
    ----------
    q : array, shape (p, n)
        Columns.
    factors : array, shape (p,)
        How much of each.
    sign : float
        1, or -1 to take them away.
    sums : array, shape (n,)
        Become larger by ``sign * factors @ q``.
    """
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
    """Add to coefficients, and take that from the residuals.

    Parameters
    ----------
    q : array, shape (p, n)
        Columns.
    step : array, shape (p,)
        What is added.
    gamma : array, shape (p,)
        Coefficients; become larger by it.
    left : array, shape (n,)
        Residuals; become smaller by what it explains.
    """
    for j in range(q.shape[0]):
        gamma[j] += step[j]
    sum_of(q, step, -1.0, left)
