"""What every kernel is given, and what it writes; memory for the fit of one group after the other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.kernels.columns import basis_of
from shortloop.panel.kernels.products import gram_of
from shortloop.panel.kernels.reasons import (
    BAD_WEIGHTS,
    ILL_CONDITIONED,
    NOT_FINITE,
    SINGULAR,
    TOO_FEW_ROWS,
    VOUCHED,
)
from shortloop.panel.kernels.rows import longest_of
from shortloop.panel.kernels.singular import singular_values_of
from shortloop.panel.kernels.triangles import cholesky, dot

__all__ = [
    "CONDITION",
    "Found",
    "Room",
    "Rows",
    "basis_by_factor",
    "basis_of_group",
    "columns_of_group",
    "factor_of_group",
    "room_for",
]

CONDITION = 1e6
"""Up to this condition number of its columns, a basis is orthonormal to rounding."""

VECTORS = 6  # as many as the model needs that needs the most: so this is compiled once for all


class Rows(NamedTuple):
    """Rows of some groups, those of a group one after the other.

    size: how many regressors there are: p.
    columns: (p * rows,). Regressors: of each group one column after the other, as `columns_of_group` has
        them.
    outcome: (rows,)
    weights: (rows,) or (0,). None: all alike.
    trials: (rows,) or (0,). How many trials outcomes are shares of, of the binomial family. None: outcomes
        are 0 or 1.
    clusters: int, (rows,) or (0,)
    starts: int, (groups + 1,). First row of each group, and the end of the last.
    """

    size: int
    columns: FloatArray
    outcome: FloatArray
    weights: FloatArray
    trials: FloatArray
    clusters: IntArray
    starts: IntArray


class Found(NamedTuple):
    """What kernels write of each group.

    beta: (groups, p). Coefficients.
    covariance: (groups, p, p). Their covariances.
    numbers: (groups, numbers). What else is said, by the ``NUMBERS`` of the kernel.
    constants: int, (groups,). What `shortloop.panel.kernels.columns.constant_of` and `implicit_constant` say.
    reasons: int, (groups,). Of `shortloop.panel.kernels.reasons`. Of a group that is not vouched for, the
        others say nothing.
    """

    beta: FloatArray
    covariance: FloatArray
    numbers: FloatArray
    constants: IntArray
    reasons: IntArray


class Room(NamedTuple):
    """Memory for the fit of one group; the longest has a place in it.

    store: (p * longest,). For a basis of the columns.
    vectors: (6, longest). Values for each row.
    gram, first, second, lower, inverse, weighted: (p, p). Triangles. `basis_of_group` makes ``lower`` the one
        that leads from the basis to the columns, and writes to the first three.
    right, step, gamma: (p,). A value for each coefficient.
    """

    store: FloatArray
    vectors: FloatArray
    gram: FloatArray
    first: FloatArray
    second: FloatArray
    lower: FloatArray
    inverse: FloatArray
    weighted: FloatArray
    right: FloatArray
    step: FloatArray
    gamma: FloatArray


@numba.njit(cache=True, nogil=True, error_model="numpy")
def room_for(rows: Rows) -> Room:
    """Memory for the fits of all groups."""
    size, longest = rows.size, longest_of(rows.starts)
    triangles = np.zeros((6, size, size))
    small = np.empty((3, size))
    return Room(
        np.empty(size * longest),
        np.empty((VECTORS, longest)),
        triangles[0],
        triangles[1],
        triangles[2],
        triangles[3],
        triangles[4],
        triangles[5],
        small[0],
        small[1],
        small[2],
    )


@numba.njit(cache=True, nogil=True, error_model="numpy")
def columns_of_group(rows: Rows, g: int) -> FloatArray:
    """Regressors of a group.

    returns: (p, n). A view.
    """
    begin, end = rows.starts[g], rows.starts[g + 1]
    return rows.columns[rows.size * begin : rows.size * end].reshape(rows.size, end - begin)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def factor_of_group(rows: Rows, g: int, room: Room) -> tuple[int, FloatArray, float, float, float]:
    """Factor the products of the (weighted) columns of a group.

    q: (p, n). The columns; with weights, a copy that has them.
    """
    begin, end = rows.starts[g], rows.starts[g + 1]
    size, number = rows.size, end - begin
    q = columns_of_group(rows, g)
    if number <= size:
        return TOO_FEW_ROWS, q, np.inf, 0.0, 0.0
    y = rows.outcome[begin:end]
    length = dot(y, y)
    if rows.weights.shape[0] > 0:
        root = room.vectors[0, :number]
        least, most = np.inf, 0.0
        for i in range(number):
            weight = rows.weights[begin + i]
            least, most = min(least, weight), max(most, weight)
            root[i] = math.sqrt(weight)
        if not (least > 0.0 and most < np.inf):
            return BAD_WEIGHTS, q, np.inf, 0.0, 0.0
        length = 0.0
        for i in range(number):
            length += y[i] * y[i] * rows.weights[begin + i]
        x, q = q, room.store[: size * number].reshape(size, number)
        for j in range(size):
            for i in range(number):
                q[j, i] = x[j, i] * root[i]
    gram_of(q, None, room.gram)
    squares = 0.0
    for j in range(size):
        squares += room.gram[j, j]
    if not np.isfinite(squares + length):
        return NOT_FINITE, q, np.inf, 0.0, squares
    if not cholesky(room.gram, room.first):
        return SINGULAR, q, np.inf, 0.0, squares
    largest, smallest = singular_values_of(room.gram, room.first, room.second)
    return VOUCHED, q, largest, smallest, squares


@numba.njit(cache=True, nogil=True, error_model="numpy")
def basis_by_factor(
    columns: FloatArray, largest: float, smallest: float, room: Room
) -> tuple[int, FloatArray, float, float]:
    """Make an orthonormal basis of the columns of a group.

    columns: (p, n). Of `factor_of_group`.
    q: (p, n). The basis.
    """
    size, number = columns.shape
    q = room.store[: size * number].reshape(size, number)
    for j in range(size):  # which do nothing, where these are in this place already
        q[j] = columns[j]
    largest, smallest = basis_of(q, largest, smallest, room.gram, room.first, room.second, room.lower)
    if largest < CONDITION * smallest:
        return VOUCHED, q, largest, smallest
    return (ILL_CONDITIONED if smallest > 0.0 else SINGULAR), q, largest, smallest


@numba.njit(cache=True, nogil=True, error_model="numpy")
def basis_of_group(rows: Rows, g: int, room: Room) -> tuple[int, FloatArray, float, float, float]:
    """Make an orthonormal basis of the (weighted) columns of a group.

    q: (p, n). The basis.
    """
    reason, q, largest, smallest, squares = factor_of_group(rows, g, room)
    if reason == VOUCHED:
        reason, q, largest, smallest = basis_by_factor(q, largest, smallest, room)
    return reason, q, largest, smallest, squares
