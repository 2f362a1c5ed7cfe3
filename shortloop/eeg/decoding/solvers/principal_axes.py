"""Coordinates of trials in which their total covariance is diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortloop.base.types import FloatArray

__all__ = ["Basis", "decompose"]


@dataclass(frozen=True)
class Basis:
    """Eigendecomposition of the total covariance of some trials.

    With fewer features than trials the coordinates of a trial are those along the covariance's
    eigenvectors; with more, products with combinations of the trials, whose inner products have the
    same eigenvalues, so that cost follows the smaller of the two.

    centred: float, (trials, features). The trials less their mean.
    values: float, (rank,). Eigenvalues; rank is the smaller of trials and features.
    metric: float, (rank,). Squared length of a sum of trials is that of its coordinates, weighted by this.
    sums: float, (trials, rank). Coordinates of a sum of trials are its label vector times this.
    vectors: float, (trials or features, rank). Eigenvectors of the trials' products (where `of_trials`) or of
        the covariance.
    of_trials: whether there are more features than trials.
    """

    centred: FloatArray
    values: FloatArray
    metric: FloatArray
    sums: FloatArray
    vectors: FloatArray
    of_trials: bool

    def directions(self) -> FloatArray:
        """Features × rank: (centred) trials times this are their coordinates."""
        return self.centred.T @ self.vectors if self.of_trials else self.vectors

    def project(self, x: FloatArray) -> FloatArray:
        """Coordinates (trials × rank) of other trials, less the mean of these."""
        if self.of_trials:
            return np.asarray((x @ self.centred.T) @ self.vectors)
        return np.asarray(x @ self.vectors)


def decompose(centred: FloatArray) -> Basis:
    """Diagonalise the total covariance of trials.

    centred: float64, (trials, features). Trials less their mean.
    """
    n, p = centred.shape
    if p <= n:
        values, vectors = np.linalg.eigh(centred.T @ centred)
        values = np.maximum(values, 0.0) / n
        return Basis(centred, values, np.ones(p), centred @ vectors, vectors, False)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    values = np.maximum(values, 0.0)
    # Where trials repeat, the eigenvectors of 0 mix with the mean of all, which no sum may contain.
    return Basis(centred, values / n, values, vectors - vectors.mean(axis=0), vectors, True)
