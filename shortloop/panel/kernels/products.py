"""Products of columns with values of rows, three columns at a time: numbers are read a third as often."""

from __future__ import annotations

import numba

from shortloop.base.types import FloatArray

__all__ = ["gram_of", "move", "products_of", "sum_of"]


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
    for j in range(q.shape[0]):
        gamma[j] += step[j]
    sum_of(q, step, -1.0, left)
