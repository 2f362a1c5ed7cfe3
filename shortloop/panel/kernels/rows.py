"""Putting the rows of each group one after the other."""

from __future__ import annotations

import numba
import numpy as np

from shortloop.types import IntArray

__all__ = ["numbered_in_groups", "order_of_groups"]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def order_of_groups(codes: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    """The order that puts rows of one group together, each group's in the order that they had.

    Parameters
    ----------
    codes : array of int, shape (rows,)
        Group of each row; negative: none, the row is left out.
    groups : int
        How many groups there are.

    Returns
    -------
    order : array of int64
        Rows, group by group.
    starts : array of int64, shape (groups + 1,)
        Where each group begins in that order, and the end of the last.
    """
    starts = np.zeros(groups + 1, np.int64)
    for i in range(codes.shape[0]):
        if codes[i] >= 0:
            starts[codes[i] + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
    order = np.empty(starts[groups], np.int64)
    free = starts[:-1].copy()
    for i in range(codes.shape[0]):
        if codes[i] >= 0:
            order[free[codes[i]]] = i
            free[codes[i]] += 1
    return order, starts


@numba.njit(cache=True, nogil=True, error_model="numpy")
def numbered_in_groups(codes: IntArray, starts: IntArray) -> IntArray:
    """Number what is in a group from 0, in the order in which it is first seen there.

    Parameters
    ----------
    codes : array of int64, shape (rows,)
        Not negative; equal for what is the same.
    starts : array of int, shape (groups + 1,)
        First row of each group, and the end of the last.

    Returns
    -------
    array of int64, shape (rows,)
    """
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
