"""Arguments, results and memory of all kernels; bases and constants of the columns of one group."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.kernels.matrices import cholesky, dot, gram_of, product_of
from shortloop.panel.kernels.rows import longest_of, put
from shortloop.panel.kernels.singular import singular_values, singular_values_of
from shortloop.panel.statistics import Reason

CONDITION = 1e6  # up to this condition number of its columns, a basis is orthonormal to rounding
NEARLY_SINGULAR = 1e9  # condition at unit length from which regressors may count as singular, with room
VECTORS = 6  # as many as the model needs that needs the most: so this is compiled once for all
NO_CONSTANT, IMPLICIT, UNCLEAR = -1, -2, -3
"""Constants that are no column: there is none; a sum of columns is constant; rounding decides."""
SURELY_THERE, SURELY_NOT = 1e-12, 1e-6
ONCE = 30.0  # condition up to which one pass is enough: it leaves rounding times its square, a few in 1e13


class Rows(NamedTuple):
    """Rows of some groups, those of a group one after the other.

    Columns are of each group one after the other, in shape (p * rows,). Weights, trials (of outcomes that are
    shares), offset (of linear predictors) and clusters, (ways, rows), may have the length 0. Starts are the
    first row of each group, and the end of the last; lags are of each group.
    """

    size: int
    columns: FloatArray
    outcome: FloatArray
    weights: FloatArray
    trials: FloatArray
    offset: FloatArray
    clusters: IntArray
    starts: IntArray
    lags: IntArray


class Found(NamedTuple):
    """Results of each group. Of one that is not vouched for, all but the reason mean nothing.

    Numbers, (groups, numbers), are named by ``NUMBERS`` of the kernel; constants are of `constant_of` and
    `implicit_constant`; reasons are `Reason`.
    """

    beta: FloatArray
    covariance: FloatArray
    numbers: FloatArray
    constants: IntArray
    reasons: IntArray


class Room(NamedTuple):
    """Memory for the fit of one group; the longest fits in.

    Six triangles: `basis_of_group` makes `lower` the one that leads from the basis to the columns, and
    writes to the first three. Store holds the basis, vectors values of rows.
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
    size, longest = rows.size, longest_of(rows.starts)
    store, vectors = np.empty(size * longest), np.empty((VECTORS, longest))
    gram, first, second, lower, inverse, weighted = np.zeros((6, size, size))
    right, step, gamma = np.empty((3, size))
    return Room(store, vectors, gram, first, second, lower, inverse, weighted, right, step, gamma)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def columns_of_group(rows: Rows, g: int) -> FloatArray:
    """Return the regressors of a group, a view of shape (p, n)."""
    begin, end = rows.starts[g], rows.starts[g + 1]
    return rows.columns[rows.size * begin : rows.size * end].reshape(rows.size, end - begin)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def factor_of_group(rows: Rows, g: int, room: Room) -> tuple[int, FloatArray, float, float, float]:
    """Factor the products of the (weighted) columns of a group; return these: with weights, a copy."""
    begin, end = rows.starts[g], rows.starts[g + 1]
    size, number = rows.size, end - begin
    q = columns_of_group(rows, g)
    if number <= size:
        return Reason.TOO_FEW_ROWS, q, np.inf, 0.0, 0.0
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
            return Reason.BAD_WEIGHTS, q, np.inf, 0.0, 0.0
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
        return Reason.NOT_FINITE, q, np.inf, 0.0, squares
    if not cholesky(room.gram, room.first):
        return Reason.SINGULAR, q, np.inf, 0.0, squares
    largest, smallest = singular_values_of(room.gram, room.first, room.second)
    return Reason.VOUCHED, q, largest, smallest, squares


@numba.njit(cache=True, nogil=True, error_model="numpy")
def basis_by_factor(
    columns: FloatArray, largest: float, smallest: float, room: Room
) -> tuple[int, FloatArray, float, float]:
    """Make an orthonormal basis of the columns of a group, those of `factor_of_group`."""
    size, number = columns.shape
    q = room.store[: size * number].reshape(size, number)
    for j in range(size):
        put(columns[j], q[j])  # which does nothing, where these are in this place already
    largest, smallest = _basis_of(q, largest, smallest, room)
    if largest < CONDITION * smallest:
        return Reason.VOUCHED, q, largest, smallest
    return (Reason.ILL_CONDITIONED if smallest > 0.0 else Reason.SINGULAR), q, largest, smallest


@numba.njit(cache=True, nogil=True, error_model="numpy")
def basis_of_group(rows: Rows, g: int, room: Room) -> tuple[int, FloatArray, float, float, float]:
    """Make an orthonormal basis of the (weighted) columns of a group."""
    reason, q, largest, smallest, squares = factor_of_group(rows, g, room)
    if reason == Reason.VOUCHED:
        reason, q, largest, smallest = basis_by_factor(q, largest, smallest, room)
    return reason, q, largest, smallest, squares


@numba.njit(cache=True, nogil=True, error_model="numpy")
def scaled_basis_of_group(rows: Rows, g: int, room: Room) -> tuple[bool, FloatArray, float]:
    """Make an orthonormal basis of a group's columns at unit length, and of deviations from their means."""
    # Years are nearly the constant, and their deviations are not. Deviations are taken if the first column is
    # the constant. Returns False if these are nearly sums of each other; and their condition. `lower` of the
    # room leads from the basis to the columns, as of `basis_of_group`.
    begin, end = rows.starts[g], rows.starts[g + 1]
    x = columns_of_group(rows, g)
    size, number = rows.size, end - begin
    q, root = room.store[: size * number].reshape(size, number), room.vectors[0, :number]
    means, lengths, lower = room.right, room.step, room.lower
    first = 1 if constant_of(x) == 0 else size  # of those that have a mean taken off
    weighted, total = rows.weights.shape[0] > 0, 0.0
    for i in range(number):
        weight = rows.weights[begin + i] if weighted else 1.0
        root[i] = math.sqrt(weight)
        total += weight
    farthest = 0.0
    for j in range(size):
        means[j] = 0.0
        for i in range(number if j >= first else 0):
            means[j] += root[i] ** 2 * x[j, i] / total
        for i in range(number):
            q[j, i] = root[i] * (x[j, i] - means[j])
        lengths[j] = math.sqrt(dot(q[j], q[j]))
        farthest = max(farthest, abs(means[j]) * math.sqrt(total) / lengths[j])
        for i in range(number):
            q[j, i] /= lengths[j]
    gram_of(q, None, room.gram)
    if not (np.isfinite(farthest) and cholesky(room.gram, room.first)):
        return False, q, np.inf
    largest, smallest = singular_values_of(room.gram, room.first, room.second)
    largest, smallest = _basis_of(q, largest, smallest, room)
    condition = largest / smallest
    for j in range(size):  # the first column, of which the others have their means, has but one number there
        for k in range(j + 1):
            lower[j, k] *= lengths[j]
        lower[j, 0] += means[j] / x[0, 0] * lower[0, 0] if j >= first else 0.0
    return condition < CONDITION and farthest * condition < NEARLY_SINGULAR, q, condition


@numba.njit(cache=True, nogil=True, error_model="numpy")
def constant_of(columns: FloatArray) -> int:
    """Find the column that is the constant, by the rule of statsmodels (``ModelData._handle_constant``)."""
    found = NO_CONSTANT
    number = 0
    for j in range(columns.shape[0]):
        first = columns[j, 0]
        i = 1
        while i < columns.shape[1] and columns[j, i] == first:
            i += 1
        if i == columns.shape[1]:
            number += 1
            if first == 1.0:
                return j
            if first != 0.0 and found == NO_CONSTANT:
                found = j
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def implicit_constant(q: FloatArray, ones: FloatArray, smallest: float, frobenius: float) -> int:
    """Tell whether a sum of columns is constant; `ones` are weighted as the columns are, and written to."""
    # statsmodels compares the ranks of the columns with and without a column of ones. That is the same where
    # the distance of the ones from all sums is far from rounding; else it is `UNCLEAR`.
    rows = ones.shape[0]
    length = math.sqrt(dot(ones, ones))
    for _ in range(2):
        for j in range(q.shape[0]):
            factor = dot(q[j], ones)
            for i in range(rows):
                ones[i] -= factor * q[j, i]
    distance = math.sqrt(dot(ones, ones)) / length
    if distance < SURELY_THERE:
        return IMPLICIT
    tolerance = rows * np.finfo(np.float64).eps * max(frobenius, length) / smallest
    return NO_CONSTANT if distance > max(SURELY_NOT, 100.0 * tolerance) else UNCLEAR


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _basis_of(q: FloatArray, largest: float, smallest: float, room: Room) -> tuple[float, float]:
    """Make columns orthonormal, to a few times 1e-13, up to a condition of about 1e7, by CholeskyQR2."""
    # Yamamoto et al. 2015 (Roundoff error analysis of the CholeskyQR2 algorithm), section 2. `q` becomes
    # ``L⁻¹ q``, `room.lower` becomes L; `room.first` is the factor of the products of the columns.
    _divide(q, room.first)
    if largest < ONCE * smallest:
        for j in range(q.shape[0]):
            put(room.first[j], room.lower[j])
        return largest, smallest
    gram_of(q, None, room.gram)
    if not cholesky(room.gram, room.second):
        return np.inf, 0.0
    _divide(q, room.second)
    product_of(room.first, room.second, room.lower)
    return singular_values(room.lower, room.gram)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _divide(q: FloatArray, lower: FloatArray) -> None:
    """Replace columns by ``L⁻¹ q``."""
    for j in range(q.shape[0]):
        for k in range(j):
            factor = lower[j, k]
            for i in range(q.shape[1]):
                q[j, i] -= factor * q[k, i]
        scale = 1.0 / lower[j, j]
        for i in range(q.shape[1]):
            q[j, i] *= scale
