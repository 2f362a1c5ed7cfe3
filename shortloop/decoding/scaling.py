"""z-scores of features over trials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shortloop.data import FloatArray

__all__ = ["moments", "zscore"]


BLOCK = 2**17
"""Numbers worked on at a time, 1 MiB: temporaries that stay in cache cost less than fresh memory."""


def moments(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and population standard deviation over trials.

    Parameters
    ----------
    x : array of float, shape (trials, features)
        Features.

    Returns
    -------
    mean, std : array of float, shape (features,)
        In float64. The standard deviation of a constant feature is infinite, so that its z-scores are 0.
    """
    mean = x.mean(axis=0, dtype=np.float64)
    squares = np.zeros(x.shape[1])
    for rows in _blocks(x):
        centred = x[rows] - mean
        squares += np.einsum("ij,ij->j", centred, centred)
    std = np.sqrt(squares / len(x))
    # A constant feature's deviation is rounding of its mean, at most.
    constant = std <= len(x) * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(constant, np.inf, std)


def zscore(
    x: FloatArray, dtype: Any = np.float64, known: tuple[FloatArray, FloatArray] | None = None
) -> FloatArray:
    """z-scores over trials with the population standard deviation; 0 for a constant feature.

    Parameters
    ----------
    x : array of float, shape (trials, features)
        Features.
    dtype : dtype-like, default float64
        Of the result; all is computed in float64.
    known : tuple of array, optional
        Moments of `x`, if they are known already.

    Returns
    -------
    array of `dtype`, shape (trials, features)
    """
    mean, std = moments(x) if known is None else known
    scaled = np.empty(x.shape, dtype)
    for rows in _blocks(x):
        np.divide(x[rows] - mean, std, out=scaled[rows], casting="same_kind")
    return scaled


def _blocks(x: FloatArray) -> Iterator[slice]:
    step = max(1, BLOCK // max(1, x.shape[1]))
    for first in range(0, len(x), step):
        yield slice(first, first + step)
