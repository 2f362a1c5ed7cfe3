"""z-scores of features over trials, wherever these lie in memory.

A file may hold the trials of a feature side by side, or the features of a trial. Either way the same numbers
are added up in the same order, trial by trial, so that results have the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray

FEW, FOUR = 8, 4  # features; eight of some hundred trials stay in the first cache
EPSILON = float(np.finfo(np.float64).eps)
BLOCK = 2**17  # numbers worked on at a time, 1 MiB: what stays in cache costs less than fresh memory


def moments(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and population standard deviation (features,) over trials, in any memory order."""
    # The standard deviation of a constant feature is infinite.
    mean, std = np.empty(x.shape[1]), np.empty(x.shape[1])
    step = max(1, BLOCK // max(1, len(x)))
    for first in range(0, x.shape[1], step):
        features = slice(first, first + step)
        # A copy by rows, whatever the order of x: the order in memory is the order of adding up.
        centred = np.array(x[:, features], dtype=np.float64, order="C")
        mean[features] = centred.mean(axis=0)
        centred -= mean[features]
        std[features] = np.sqrt(np.einsum("ij,ij->j", centred, centred) / len(x))
    std[std <= len(x) * EPSILON * np.abs(mean)] = np.inf  # rounding of the mean, at most
    return mean, std


def standardize(x: FloatArray, dtype: Any = np.float64) -> tuple[FloatArray, FloatArray, FloatArray]:
    """z-scores (trials, features) over trials, 0 for a constant feature, and mean and std (features,)."""
    mean, std = np.empty(x.shape[1]), np.empty(x.shape[1])
    scaled = np.empty(x.shape[::-1], dtype)
    _standardize(read_only(x), scaled, mean, std)
    return scaled.T, mean, std


def warm_up_scaling(x: FloatArray) -> None:
    """Compile `standardize` for features of this type, before processes are forked."""
    standardize(np.zeros((2, 2), x.dtype))
    standardize(np.zeros((2, 2), x.dtype, order="F"))


def zscore(x: FloatArray) -> FloatArray:
    """z-scores over trials with the population standard deviation, float64; 0 for a constant feature."""
    return np.ascontiguousarray(standardize(x)[0])


def read_only(x: FloatArray) -> FloatArray:
    """Read-only view of features (trials, features), the kind of array that code is compiled for."""
    # A copy by rows, if they are neither in C nor in Fortran order.
    if not (x.flags.c_contiguous or x.flags.f_contiguous):
        x = np.ascontiguousarray(x)
    x = x.view()
    x.flags.writeable = False
    return x


def examples() -> Iterator[tuple[FloatArray, IntArray, IntArray]]:
    """Features, labels and folds of three classes, to compile code for each kind of array."""
    # Features computed here are float32; those read from a file float64, and mapped from one by columns.
    labels, folds = np.tile([0, 1, 2], 8), np.arange(24) % 2
    found: FloatArray = np.random.default_rng(0).standard_normal((24, 4)) + labels[:, np.newaxis]
    labels.flags.writeable = False  # as maps of files are
    for x in (found.astype(np.float32), found, np.asfortranarray(found)):
        yield read_only(x), labels, folds


@numba.njit(cache=True)
def _standardize(x, scaled, mean, std):  # type: ignore[no-untyped-def]
    """Fill `scaled` (features, trials) with z-scores over trials, and `mean` and `std` (features,)."""
    # The standard deviation of a constant feature is infinite.
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
    """Subtract their means from four rows; returns the means, and the sums of squares about them."""
    # Each row is added up in order. A sum waits for the one before, so four at a time take as long as one.
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
