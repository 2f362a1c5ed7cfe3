"""Exponential, logarithm and Student's t for loops over rows, vectorized by the processor.

Those of `math` are called row by row, which takes four times as long. These are sums and products of doubles
in a fixed order: the same to the bit on any processor.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray

# ln 2 in two parts, the first with so few digits that whole numbers below 2**20 times it are exact.
LN2, LN2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
PER_LN2 = 1.0 / math.log(2.0)
TO_WHOLE = 1.5 * 2.0**52  # added to a small number, it leaves a whole one in the last digits
BIAS, DIGITS = 1023, 52  # of doubles: what is added to the exponent, and how many bits are after it
HIGHEST, LOWEST = 710.0, -746.0  # beyond these, exponentials are infinite, or 0
ROOT = 0x3FE6A09E667F3BCD  # bits of the root of 1/2
FRACTION = (1 << DIGITS) - 1
NORMAL = 2.0**-1022  # smallest number with all its digits
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13 = (1.0 / math.factorial(k) for k in range(2, 14))
L1, L2, L3, L4, L5, L6, L7, L8, L9, L10 = (2.0 / (2 * k + 1) for k in range(1, 11))
TOGETHER = 64
PAIRS = 32  # of steps of the continued fraction: enough where it is used
CENTRE = 2.5  # up to about this half of t², the series is used
LAST = 2.0**-54  # share of the sum that a term must have, to change it
SMALL = 1e-300  # so that nothing is divided by 0 where t is 0
LARGE = 20.0  # half of the degrees of freedom, from which the ratio of gammas has 16 digits by its expansion


@numba.njit(cache=True, nogil=True, error_model="numpy")
def exp_of(value: float) -> float:
    """Exponential, to less than one unit in the last place."""
    shifted = value * PER_LN2 + TO_WHOLE
    whole = shifted - TO_WHOLE
    x = (value - whole * LN2) - whole * LN2_REST  # at most ln 2 / 2: Taylor's series lacks 4e-18 of it
    square = x * x
    fourth = square * square
    tail = (E10 + E11 * x) + (E12 + E13 * x) * square
    tail = ((E6 + E7 * x) + (E8 + E9 * x) * square) + tail * fourth
    tail = ((E2 + E3 * x) + (E4 + E5 * x) * square) + tail * fourth
    found = 1.0 + (x + tail * square)
    power = np.float64(shifted).view(np.int64) - np.float64(TO_WHOLE).view(np.int64)
    half = power >> 1  # a power of two in two parts: the whole may be too small, or too large, for a double
    first = np.int64((half + BIAS) << DIGITS).view(np.float64)
    second = np.int64((power - half + BIAS) << DIGITS).view(np.float64)
    found = found * first * second
    found = np.inf if value > HIGHEST else found
    return 0.0 if value < LOWEST else found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_of(value: float) -> float:
    """Natural logarithm, to less than one unit in the last place."""
    small = value < NORMAL
    bits = np.float64(value * 2.0**54 if small else value).view(np.int64) - ROOT
    power = float(bits >> DIGITS) - (54.0 if small else 0.0)
    x = np.int64((bits & FRACTION) + ROOT).view(np.float64) - 1.0  # between the roots of 1/2 and 2, less 1
    s = x / (2.0 + x)  # log(1 + x) = 2 artanh(s) = x - s (x - rest): the series lacks 3e-18 of it
    square = s * s
    fourth = square * square
    rest = (L5 + L6 * square) + ((L7 + L8 * square) + (L9 + L10 * square) * fourth) * fourth
    rest = ((L1 + L2 * square) + (L3 + L4 * square) * fourth + rest * (fourth * fourth)) * square
    found: float = power * LN2 - ((s * (x - rest) - power * LN2_REST) - x)
    found = value if not value < np.inf else found
    found = np.nan if value < 0.0 else found
    return -np.inf if value == 0.0 else found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def two_sided(tvalues: FloatArray, freedom: FloatArray) -> FloatArray:
    """Compute two-sided p of t, (groups, coefficients), with the degrees of freedom of each group."""
    # The incomplete beta function, by series near 0 and elsewhere by a continued fraction whose terms are all
    # positive: NIST Digital Library of Mathematical Functions, 8.17.8 and 15.7. Small p have as many digits
    # as large ones, and p does not depend on what else is computed with it.
    groups, size = tvalues.shape
    found = np.empty((groups, size))
    store = np.empty((7, TOGETHER))
    t, a, ratio = store[0], store[1], store[2]  # `_tails` makes p of them
    last, last_ratio = np.nan, np.nan
    filled = done = 0
    for g in range(groups):
        half = 0.5 * freedom[g]
        if half != last:
            last, last_ratio = half, _ratio_of_gammas(half)
        for j in range(size):
            t[filled], a[filled], ratio[filled] = tvalues[g, j], half, last_ratio
            filled += 1
            if filled == TOGETHER or (g == groups - 1 and j == size - 1):
                t[filled:], a[filled:], ratio[filled:] = 0.0, half, last_ratio
                _tails(store)
                for i in range(filled):
                    row, column = (done + i) // size, (done + i) % size
                    found[row, column] = 0.0 if np.isinf(tvalues[row, column]) else store[6, i]
                done += filled
                filled = 0
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _ratio_of_gammas(a: float) -> float:
    """Compute Γ(a + 1/2) / Γ(a), by its expansion for large ones (DLMF 5.11.13)."""
    below = 1.0
    while a < LARGE:
        below *= a / (a + 0.5)
        a += 1.0
    b = 1.0 / (a * a)
    rest = ((((-31.0 / 18432.0 * b + 17.0 / 14336.0) * b - 1.0 / 640.0) * b + 1.0 / 192.0) * b - 0.125) / a
    return below * math.sqrt(a) * math.exp(rest)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _tails(store: FloatArray) -> None:
    """Set the last row to p, of t, half of the degrees of freedom and the ratio of gammas, the first."""
    y, a, scale, w, term, total, tail = store[0], store[1], store[2], store[3], store[4], store[5], store[6]
    for i in range(TOGETHER):
        w[i] = 2.0 * a[i] / (y[i] * y[i])
        u = y[i] * y[i] / (2.0 * a[i])
        above = 1.0 + u
        logarithm = log_of(above) - ((above - 1.0) - u) / above
        y[i] = max(u / above, SMALL)
        scale[i] *= exp_of(-a[i] * logarithm) / math.sqrt(math.pi * y[i])
        term[i] = total[i] = 1.0
        tail[i] = a[i] + 2.0 * PAIRS
    for pair in range(PAIRS - 1, -1, -1):
        m = float(pair)
        for i in range(TOGETHER):
            later = (a[i] + (2.0 * m + 1.0)) + (m + 1.0) * (a[i] + (m + 0.5)) * w[i] / tail[i]
            tail[i] = (a[i] + 2.0 * m) + (m + 0.5) * (a[i] + m) * w[i] / later
    is_more = True
    j = 0.0
    while is_more:
        is_more = False
        factor = 1.0 / (1.5 + j)
        for i in range(TOGETHER):
            term[i] *= (a[i] + (0.5 + j)) * factor * y[i]
            total[i] += term[i]
        if int(j) % 8 == 7:
            for i in range(TOGETHER):
                is_more |= _is_central(y[i], a[i]) and term[i] > LAST * total[i]
        else:
            is_more = True
        j += 1.0
    for i in range(TOGETHER):
        near = 1.0 - 2.0 * y[i] * scale[i] * total[i]
        tail[i] = near if _is_central(y[i], a[i]) else scale[i] / tail[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _is_central(y: float, a: float) -> bool:
    return y * (a + (CENTRE + 3.0)) < CENTRE
