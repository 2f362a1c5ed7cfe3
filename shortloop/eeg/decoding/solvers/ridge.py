"""Ridge regression on class labels as a classifier, in closed form, for many label vectors at once.

Labels enter linearly, and the trials' total covariance, which costs most, is the same for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.solvers.common import Basis, class_weights, decompose, dummy_codes


class Solved(NamedTuple):
    """Regression on each class, for two classes on the second only, for each label vector."""

    weights: FloatArray  # (rank, machines, labellings), of a trial's coordinates
    constants: FloatArray  # (machines, labellings)


def ridge_weights(
    x: FloatArray, labels: IntArray, n_classes: int, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Weights (labellings, classes, features) and intercepts (labellings, classes) for many label vectors."""
    # The same decisions as scikit-learn's ``RidgeClassifier(alpha)``: least squares on targets of 1 for a
    # class and −1 for the others, weights penalised by α times their square, the intercept not.
    x = np.asarray(x, dtype=np.float64)
    mean = x.mean(axis=0)
    basis = decompose(x - mean)
    codes = dummy_codes(np.asarray(labels), n_classes)
    counts = np.stack([(labels == k).sum(axis=1) for k in range(n_classes)]).astype(np.float64)
    solved = solve(basis, codes, counts, alpha, np.tensordot(basis.sums.T, codes, axes=1))
    weights = np.tensordot(basis.directions(), solved.weights, axes=1).transpose(2, 1, 0)
    intercepts = solved.constants.T - weights @ mean
    if n_classes == 2:
        weights = np.concatenate([-weights, weights], axis=1)
        intercepts = np.concatenate([-intercepts, intercepts], axis=1)
    return np.ascontiguousarray(weights), intercepts


def balanced_ridge_weights(
    x: FloatArray, labels: IntArray, n_classes: int, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Weights (classes, features) and intercepts for one label vector, trials of rare classes weighted up."""
    # The same decisions as scikit-learn's ``RidgeClassifier(alpha, class_weight="balanced")``. Trial weights
    # depend on the labels, so label vectors have nothing to share.
    counts = class_weights(labels, n_classes)[labels]
    targets = np.where(
        labels[:, np.newaxis] == np.arange(n_classes)[-1 if n_classes == 2 else 0 :], 1.0, -1.0
    )
    x = np.asarray(x, dtype=np.float64)
    mean, middle = np.average(x, axis=0, weights=counts), np.average(targets, axis=0, weights=counts)
    root = np.sqrt(counts)[:, np.newaxis]
    rows, aims = root * (x - mean), root * (targets - middle)
    few = x.shape[1] <= len(x)
    product = rows.T @ rows if few else rows @ rows.T
    product[np.diag_indices(len(product))] += alpha
    solved = np.linalg.solve(product, rows.T @ aims if few else aims)
    weights = (solved if few else rows.T @ solved).T
    intercepts = middle - weights @ mean
    if n_classes == 2:
        weights, intercepts = np.concatenate([-weights, weights]), np.concatenate([-intercepts, intercepts])
    return np.ascontiguousarray(weights), intercepts


def solve(
    basis: Basis,
    codes: FloatArray,
    counts: FloatArray,
    alpha: float,
    sums: FloatArray,
    rows: IntArray | slice = slice(None),
) -> Solved:
    """Regression for many label vectors of the same trials."""
    # Hoerl & Kennard 1970, Ridge regression: biased estimation for nonorthogonal problems.
    n = len(basis.centred)
    if len(counts) > 2:
        # Members of all classes add up to all trials, and coordinates of these to nothing.
        sums = np.concatenate([-sums.sum(axis=1, keepdims=True), sums], axis=1)
    else:
        counts = counts[1:]
    scale = 2.0 / (n * basis.values + alpha)
    return Solved(scale[:, np.newaxis, np.newaxis] * sums, 2.0 * counts / n - 1.0)
