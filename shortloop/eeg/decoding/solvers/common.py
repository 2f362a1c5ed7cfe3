"""Common parts of solvers: class labels as numbers, and coordinates with a diagonal covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortloop.base.types import FloatArray, IntArray


def class_weights(labels: IntArray, n_classes: int) -> FloatArray:
    """Weight of each trial of a class, as scikit-learn's ``"balanced"``; 0 for a class without trials."""
    # King & Zeng 2001, Logistic regression in rare events data, Political Analysis 9(2):137.
    counts = np.bincount(labels, minlength=n_classes)
    with np.errstate(divide="ignore"):
        weights = len(labels) / (np.count_nonzero(counts) * counts)
    return np.where(counts > 0, weights, 0.0)


def dummy_codes(labels: IntArray, n_classes: int) -> FloatArray:
    """Indicators (trials, classes − 1, labellings) of all classes but the first."""
    # labels: int, (labellings, trials)
    classes = np.arange(1, n_classes, dtype=labels.dtype)
    return np.asarray((labels.T[:, np.newaxis, :] == classes[:, np.newaxis]).astype(np.float64))


@dataclass(frozen=True)
class Basis:
    """Eigendecomposition of the total covariance of some trials.

    With fewer features than trials the coordinates of a trial are those along the covariance's
    eigenvectors; with more, products with combinations of the trials, whose inner products have the same
    eigenvalues: cost follows the rank.
    """

    centred: FloatArray  # (trials, features), less their mean
    values: FloatArray  # (rank,), eigenvalues
    metric: FloatArray  # (rank,), weighs coordinates so that the squared length of a sum of trials is theirs
    sums: FloatArray  # (trials, rank): a label vector times this is the coordinates of a sum of trials
    vectors: FloatArray  # (trials or features, rank), eigenvectors of the trials' products or the covariance
    of_trials: bool  # more features than trials

    def directions(self) -> FloatArray:
        """Matrix (features, rank) that takes centred trials to their coordinates."""
        return self.centred.T @ self.vectors if self.of_trials else self.vectors

    def project(self, x: FloatArray) -> FloatArray:
        """Coordinates (trials, rank) of other trials, from which the mean of these is subtracted."""
        if self.of_trials:
            return np.asarray((x @ self.centred.T) @ self.vectors)
        return np.asarray(x @ self.vectors)


def decompose(centred: FloatArray) -> Basis:
    """Diagonalise the total covariance of centred trials (trials, features)."""
    n, p = centred.shape
    if p <= n:
        values, vectors = np.linalg.eigh(centred.T @ centred)
        values = np.maximum(values, 0.0) / n
        return Basis(centred, values, np.ones(p), centred @ vectors, vectors, False)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    values = np.maximum(values, 0.0)
    # Where trials repeat, the eigenvectors of 0 mix with the mean of all, which no sum may contain.
    return Basis(centred, values / n, values, vectors - vectors.mean(axis=0), vectors, True)
