"""z-scores of features over trials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.decoding.selection.kernels import EPSILON, read_only, standardize_features

__all__ = ["moments", "standardize", "warm_up_scaling", "zscore"]


BLOCK = 2**17
"""Numbers worked on at a time, 1 MiB: temporaries that stay in cache cost less than fresh memory."""


def moments(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and population standard deviation over trials.

    x: float, (trials, features). Features, in any order in memory.
    mean, std: float, (features,). In float64.
    """
    mean, std = np.empty(x.shape[1]), np.empty(x.shape[1])
    for features in _blocks(x):
        _, mean[features], std[features] = _centre(x[:, features])
    return mean, std


def standardize(x: FloatArray, dtype: Any = np.float64) -> tuple[FloatArray, FloatArray, FloatArray]:
    """z-scores over trials with the population standard deviation, and the moments that they come from.

    x: float, (trials, features). Features, in any order in memory.
    scaled: of `dtype`, (trials, features). 0 for a constant feature.
    mean, std: float, (features,)
    """
    mean, std = np.empty(x.shape[1]), np.empty(x.shape[1])
    scaled = np.empty(x.shape[::-1], dtype)
    standardize_features(read_only(x), scaled, mean, std)
    return scaled.T, mean, std


def warm_up_scaling(x: FloatArray) -> None:
    """Compile what `standardize` needs, so that processes forked later share it.

    x: float. Features: only their type counts.
    """
    standardize(np.zeros((2, 2), x.dtype))
    standardize(np.zeros((2, 2), x.dtype, order="F"))


def zscore(x: FloatArray) -> FloatArray:
    """z-scores over trials with the population standard deviation; 0 for a constant feature.

    x: float, (trials, features). Features, in any order in memory.
    returns: float64, (trials, features)
    """
    return np.ascontiguousarray(standardize(x)[0])


def _centre(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    # A copy by rows, whatever the order of x: the order in memory is the order of adding up.
    centred = np.array(x, dtype=np.float64, order="C")
    mean = centred.mean(axis=0)
    centred -= mean
    std = np.sqrt(np.einsum("ij,ij->j", centred, centred) / len(x))
    # A constant feature's deviation is rounding of its mean, at most.
    constant = std <= len(x) * EPSILON * np.abs(mean)
    return centred, mean, np.where(constant, np.inf, std)


def _blocks(x: FloatArray) -> Iterator[slice]:
    step = max(1, BLOCK // max(1, len(x)))
    for first in range(0, x.shape[1], step):
        yield slice(first, first + step)
