"""z-scores of features over trials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.decoding.selection.kernels import EPSILON, read_only, standardize_features

BLOCK = 2**17
"""Numbers worked on at a time, 1 MiB: temporaries that stay in cache cost less than fresh memory."""


def moments(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and population standard deviation (features,) over trials, in any memory order."""
    mean, std = np.empty(x.shape[1]), np.empty(x.shape[1])
    for features in _blocks(x):
        _, mean[features], std[features] = _centre(x[:, features])
    return mean, std


def standardize(x: FloatArray, dtype: Any = np.float64) -> tuple[FloatArray, FloatArray, FloatArray]:
    """z-scores (trials, features) over trials, 0 for a constant feature, and mean and std (features,)."""
    mean, std = np.empty(x.shape[1]), np.empty(x.shape[1])
    scaled = np.empty(x.shape[::-1], dtype)
    standardize_features(read_only(x), scaled, mean, std)
    return scaled.T, mean, std


def warm_up_scaling(x: FloatArray) -> None:
    """Compile `standardize` for features of this type, before processes are forked."""
    standardize(np.zeros((2, 2), x.dtype))
    standardize(np.zeros((2, 2), x.dtype, order="F"))


def zscore(x: FloatArray) -> FloatArray:
    """z-scores over trials with the population standard deviation, float64; 0 for a constant feature."""
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
