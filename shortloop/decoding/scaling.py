"""z-scores of features over trials."""

from __future__ import annotations

import numpy as np

from shortloop.data import FloatArray

__all__ = ["moments", "zscore"]


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
    std = x.std(axis=0, dtype=np.float64)
    # A constant feature's deviation is rounding of its mean, at most.
    constant = std <= len(x) * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(constant, np.inf, std)


def zscore(x: FloatArray) -> FloatArray:
    """z-scores over trials with the population standard deviation; 0 for a constant feature.

    Parameters
    ----------
    x : array of float, shape (trials, features)
        Features.

    Returns
    -------
    array of float64, shape (trials, features)
    """
    mean, std = moments(x)
    centred = x - mean
    centred /= std
    return centred
