"""Labels as solvers take them: dummy codes, and weights that balance classes of different sizes."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray

__all__ = ["class_weights", "dummy_codes"]


def class_weights(labels: IntArray, n_classes: int) -> FloatArray:
    """How much each trial of a class counts.

    King & Zeng 2001, Logistic regression in rare events data, Political Analysis 9(2):137.

    labels: int, (trials,). Class of each training trial.
    returns: float, (classes,). Trials / (classes that there are × trials of the class), as scikit-learn's
        ``"balanced"``; 0 for a class without trials.
    """
    counts = np.bincount(labels, minlength=n_classes)
    with np.errstate(divide="ignore"):
        weights = len(labels) / (np.count_nonzero(counts) * counts)
    return np.where(counts > 0, weights, 0.0)


def dummy_codes(labels: IntArray, n_classes: int) -> FloatArray:
    """Members of each class but the first as ones.

    labels: int, (labellings, trials). Class of each trial under each labelling.
    returns: float64, (trials, classes − 1, labellings)
    """
    classes = np.arange(1, n_classes, dtype=labels.dtype)
    dummies: FloatArray = (labels.T[:, np.newaxis, :] == classes[:, np.newaxis]).astype(np.float64)
    return dummies
