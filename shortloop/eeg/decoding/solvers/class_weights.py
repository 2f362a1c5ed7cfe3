"""Weights that make classes of few trials count as much as those of many."""

from __future__ import annotations

import numpy as np

from shortloop.types import FloatArray, IntArray

__all__ = ["class_weights"]


def class_weights(labels: IntArray, n_classes: int) -> FloatArray:
    """How much each trial of a class counts.

    Parameters
    ----------
    labels : array of int, shape (trials,)
        Class of each training trial.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of float, shape (classes,)
        Trials / (classes that there are × trials of the class), as scikit-learn's ``"balanced"``; 0 for a
        class without trials.

    References
    ----------
    King & Zeng 2001, Logistic regression in rare events data, Political Analysis 9(2):137.
    """
    counts = np.bincount(labels, minlength=n_classes)
    with np.errstate(divide="ignore"):
        weights = len(labels) / (np.count_nonzero(counts) * counts)
    return np.where(counts > 0, weights, 0.0)
