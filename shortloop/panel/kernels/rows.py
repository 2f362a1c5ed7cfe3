"""The rows of each group, one after the other."""

from __future__ import annotations

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray


@numba.njit(cache=True, nogil=True, error_model="numpy")
def places_of_rows(codes: IntArray, groups: int) -> tuple[IntArray, IntArray, IntArray]:
    """Find the new place of each row, so that groups are contiguous and rows keep their order."""
    # codes: int, (rows,). Group of each row; negative: none, the row is left out, and its place is -1.
    # Returns also the first place of each group, with the end of the last, and the first row of each group.
    starts = np.zeros(groups + 1, np.int64)
    for i in range(codes.shape[0]):
        if codes[i] >= 0:
            starts[codes[i] + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
    places, firsts = np.full(codes.shape[0], -1, np.int64), np.zeros(groups, np.int64)
    free = starts[:-1].copy()
    for i in range(codes.shape[0]):
        code = codes[i]
        if code >= 0:
            if free[code] == starts[code]:
                firsts[code] = i
            places[i] = free[code]
            free[code] += 1
    return places, starts, firsts


@numba.njit(cache=True, nogil=True, error_model="numpy")
def moved(values: FloatArray | IntArray, places: IntArray, moved_values: FloatArray | IntArray) -> None:
    """Write values to their places."""
    # They are read one after the other and written where groups have come to: there are far fewer such places
    # than rows, so that they stay in the cache, which the other way round they do not.
    for i in range(values.shape[0]):
        if places[i] >= 0:
            moved_values[places[i]] = values[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def put_column(values: FloatArray, starts: IntArray, j: int, size: int, store: FloatArray) -> None:
    """Write a column to `store`, where the columns of each group are one after the other."""
    for g in range(starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        place = size * begin + j * (end - begin)
        store[place : place + end - begin] = values[begin:end]


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
    return int(np.max(np.diff(starts)))
