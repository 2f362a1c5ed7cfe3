"""Exponentials and logarithms for loops over rows: a processor does several rows at once.

Those of `math` are called row by row, which takes four times as long. These are sums and products of doubles
in a fixed order, so that they are the same to the bit on any processor.
"""

from __future__ import annotations

import math

import numba
import numpy as np

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
