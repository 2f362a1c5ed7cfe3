"""Compiled passes over one bin, a few features of all trials at a time, wherever they lie in memory.

A file may hold the trials of a feature side by side, or the features of a trial. Either way the same numbers
are added up in the same order, trial by trial, so that results have the same bits.
"""

from __future__ import annotations

from typing import Literal

import numba
import numpy as np

from shortloop.base.types import FloatArray

FEW = 8  # features; of some hundred trials, they stay in the first cache
FOUR = 4
EPSILON = float(np.finfo(np.float64).eps)
LAYOUTS: tuple[tuple[type, Literal["C", "F"]], ...] = (
    (np.float32, "C"),
    (np.float64, "C"),
    (np.float64, "F"),
)
"""Arrays of features computed here, read from a file, and mapped from one. Code is compiled for each."""


def read_only(x: FloatArray) -> FloatArray:
    """Read-only view of features (trials, features), the kind of array that code is compiled for.

    A copy by rows, if they are neither in C nor in Fortran order.
    """
    if not (x.flags.c_contiguous or x.flags.f_contiguous):
        x = np.ascontiguousarray(x)
    x = x.view()
    x.flags.writeable = False
    return x


@numba.njit(cache=True)
def add_up(x, labels, folds, offset, sums, squares):  # type: ignore[no-untyped-def]
    """Sum over the trials of each class and fold, about the mean of all trials.

    Fills `offset` (features,), the means, `sums` (classes, folds, features) and `squares` (folds, features).
    """
    if x.strides[0] < x.strides[1]:
        _add_up_columns(x, labels, folds, offset, sums, squares)
    else:
        _add_up_rows(x, labels, folds, offset, sums, squares)


@numba.njit(cache=True, fastmath={"contract"})
def _add_up_rows(x, labels, folds, offset, sums, squares):  # type: ignore[no-untyped-def]
    n, m = x.shape
    offset[:] = 0.0
    sums[:] = 0.0
    squares[:] = 0.0
    for i in range(n):
        for j in range(m):
            offset[j] += x[i, j]
    for j in range(m):
        offset[j] /= n
    for i in range(n):
        total, square = sums[labels[i], folds[i]], squares[folds[i]]
        for j in range(m):
            centred = x[i, j] - offset[j]
            total[j] += centred
            square[j] += centred * centred


@numba.njit(cache=True, fastmath={"contract"})
def _add_up_columns(x, labels, folds, offset, sums, squares):  # type: ignore[no-untyped-def]
    n, (n_classes, n_folds, _) = x.shape[0], sums.shape
    group = labels * n_folds + folds
    # Small arrays of its own, all of the same width, let the compiler add up eight features at once.
    some = np.zeros((n, FEW))
    centre = np.empty(FEW)
    of_group = np.empty((n_classes * n_folds, FEW))
    of_fold = np.empty((n_folds, FEW))
    for first in range(0, x.shape[1], FEW):
        width = min(FEW, x.shape[1] - first)
        for q in range(width):
            for i in range(n):
                some[i, q] = x[i, first + q]
        centre[:] = 0.0
        of_group[:] = 0.0
        of_fold[:] = 0.0
        for i in range(n):
            for q in range(FEW):
                centre[q] += some[i, q]
        for q in range(FEW):
            centre[q] /= n
        for i in range(n):
            total, square = of_group[group[i]], of_fold[folds[i]]
            for q in range(FEW):
                centred = some[i, q] - centre[q]
                total[q] += centred
                square[q] += centred * centred
        for q in range(width):
            offset[first + q] = centre[q]
            for fold in range(n_folds):
                squares[fold, first + q] = of_fold[fold, q]
                for k in range(n_classes):
                    sums[k, fold, first + q] = of_group[k * n_folds + fold, q]


@numba.njit(cache=True)
def standardize_features(x, scaled, mean, std):  # type: ignore[no-untyped-def]
    """Fill `scaled` (features, trials) with z-scores over trials, and `mean` and `std` (features,).

    The standard deviation of a constant feature is infinite.
    """
    n = x.shape[0]
    some = np.zeros((FEW, n))
    for first in range(0, x.shape[1], FEW):
        width = _columns(x, first, some)
        for q in range(0, width, FOUR):
            centre, square = _centre_four(some[q : q + FOUR])
            for r in range(min(FOUR, width - q)):
                by = np.sqrt(square[r] / n)
                if by <= n * EPSILON * abs(centre[r]):
                    by = np.inf
                mean[first + q + r] = centre[r]
                std[first + q + r] = by
                for i in range(n):
                    scaled[first + q + r, i] = some[q + r, i] / by


@numba.njit(cache=True)
def _columns(x, first, some):  # type: ignore[no-untyped-def]
    """Copy a few features of all trials into rows; returns their number."""
    n = x.shape[0]
    width = min(len(some), x.shape[1] - first)
    if x.strides[0] < x.strides[1]:
        for q in range(width):
            for i in range(n):
                some[q, i] = x[i, first + q]
    else:
        for i in range(n):
            for q in range(width):
                some[q, i] = x[i, first + q]
    return width


@numba.njit(cache=True)
def _centre_four(some):  # type: ignore[no-untyped-def]
    """Subtract their means from four rows; returns the means, and the sums of squares about them.

    Each row is added up in order. A sum waits for the one before, so four at a time take as long as one.
    """
    n = some.shape[1]
    a = b = c = d = 0.0
    for i in range(n):
        a += some[0, i]
        b += some[1, i]
        c += some[2, i]
        d += some[3, i]
    a, b, c, d = a / n, b / n, c / n, d / n
    aa = bb = cc = dd = 0.0
    for i in range(n):
        some[0, i] -= a
        some[1, i] -= b
        some[2, i] -= c
        some[3, i] -= d
        aa += some[0, i] * some[0, i]
        bb += some[1, i] * some[1, i]
        cc += some[2, i] * some[2, i]
        dd += some[3, i] * some[3, i]
    return (a, b, c, d), (aa, bb, cc, dd)
