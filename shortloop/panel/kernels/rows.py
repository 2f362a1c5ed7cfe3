"""The rows of each group, one after the other."""

from __future__ import annotations

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray


@numba.njit(cache=True, nogil=True, error_model="numpy")
def put_column(values: FloatArray, starts: IntArray, j: int, size: int, store: FloatArray) -> None:
    """Write a column to `store`, where the columns of each group are one after the other."""
    for g in range(starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        place = size * begin + j * (end - begin)
        for i in range(begin, end):
            store[place + i - begin] = values[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def put(values: FloatArray, out: FloatArray) -> None:
    """Copy values, shape (n,): ``out[:] = values`` compiles for two seconds, for the words of an error."""
    for i in range(values.shape[0]):
        out[i] = values[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def numbered_in_groups(codes: IntArray, starts: IntArray) -> IntArray:
    """Number distinct codes in each group from 0, in order of appearance."""
    largest = 0
    for i in range(codes.shape[0]):
        largest = max(largest, codes[i])
    number, seen = np.zeros(largest + 1, np.int64), np.full(largest + 1, -1, np.int64)
    numbers = np.empty(codes.shape[0], np.int64)
    for g in range(starts.shape[0] - 1):
        count = 0
        for i in range(starts[g], starts[g + 1]):
            if seen[codes[i]] != g:
                seen[codes[i]] = g
                number[codes[i]] = count
                count += 1
            numbers[i] = number[codes[i]]
    return numbers


@numba.njit(cache=True, nogil=True, error_model="numpy")
def longest_of(starts: IntArray) -> int:
    longest = 0  # a loop compiles in a tenth of the time that NumPy's functions take
    for g in range(starts.shape[0] - 1):
        longest = max(longest, starts[g + 1] - starts[g])
    return longest
