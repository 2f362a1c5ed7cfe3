"""Linear discriminant analysis with fixed shrinkage, in closed form, for many label vectors of the same
trials at once.

All that costs is done once for all labels: the total covariance does not depend on them. Regression on
class labels has the same structure (see `ridge`). Logistic regression has not, as labels enter its solution
through the probabilities of every step of its solver, not linearly; nor has the SVM, whose steps can be
taken for many labels together all the same (see `svm_interior`).
"""

from __future__ import annotations

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.solvers.class_weights import dummy_codes
from shortloop.eeg.decoding.solvers.lda_contrasts import Contrasts, solve
from shortloop.eeg.decoding.solvers.principal_axes import Basis, decompose

__all__ = ["check_shrinkage", "lda_weights"]


def lda_weights(
    x: FloatArray, labels: IntArray, n_classes: int, shrinkage: float
) -> tuple[FloatArray, FloatArray]:
    """Train on each of many label vectors.

    The same weights as scikit-learn's ``LinearDiscriminantAnalysis(solver="lsqr", shrinkage=λ)``:
    covariances within classes are shrunk towards their mean variance and averaged by class frequencies,
    which are also the priors. Where nothing varies within the classes, weights are 0.

    Treder 2019, arXiv:1803.10016; see `shortloop.eeg.decoding.solvers.lda_contrasts.solve`. Blankertz et al.
    2011, Single-trial analysis and classification of ERP components, on shrinkage.

    x: float, (trials, features). Features of the training trials.
    labels: int, (labellings, trials). Class of each trial under each labelling, every class present in each.
    weights: float64, (labellings, classes, features). The class of largest ``x @ weights.T + intercepts`` is
        predicted.
    intercepts: float64, (labellings, classes). See `weights`.
    """
    mean, basis, counts, contrasts = _train(x, labels, n_classes, shrinkage)
    directions = basis.directions()
    common = _mean_solved(basis, counts, contrasts, shrinkage, mean, directions)
    linear = np.tensordot(directions, contrasts.weights, axes=1)  # (features, classes − 1, labellings)
    linear, constants = _of_all_classes(linear, contrasts, counts)
    weights = linear.transpose(2, 1, 0) + common.T[:, np.newaxis]
    # Discriminants were of trials less their mean.
    intercepts = constants.T - linear.transpose(2, 1, 0) @ mean - 0.5 * (common.T @ mean)[:, np.newaxis]
    return np.ascontiguousarray(weights), intercepts


def check_shrinkage(shrinkage: float) -> None:
    """Raise InputError unless λ is above 0 and at most 1."""
    if not 0 < shrinkage <= 1:
        raise InputError(
            "LDA is not defined for this shrinkage",
            field="estimator.shrinkage",
            found=shrinkage,
            expected="a number above 0, up to 1",
            hint="without shrinkage the covariance may be singular; 1e-6 is as good as none",
        )


def _train(
    x: FloatArray, labels: IntArray, n_classes: int, shrinkage: float
) -> tuple[FloatArray, Basis, FloatArray, Contrasts]:
    check_shrinkage(shrinkage)
    codes = dummy_codes(np.asarray(labels), n_classes)
    counts = np.empty((n_classes, len(labels)))
    counts[1:] = codes.sum(axis=0)
    counts[0] = (labels == 0).sum(axis=1)
    if (counts == 0).any() or (counts.sum(axis=0) != len(x)).any():
        raise InputError(
            "LDA needs trials of every class",
            field="labels",
            found=f"classes of {int(counts.min())} trials",
            expected=f"each of 0 … {n_classes - 1} at least once, and no others",
        )
    x = np.asarray(x, dtype=np.float64)
    mean = x.mean(axis=0)
    basis = decompose(x - mean)
    sums = np.tensordot(basis.sums.T, codes, axes=1)
    return mean, basis, counts, solve(basis, codes, counts, shrinkage, sums)


def _of_all_classes(
    linear: FloatArray, contrasts: Contrasts, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Discriminants of every class (on the second axis) and their constants, from contrasts."""
    first = -(linear * (counts[1:] / counts.sum(axis=0))).sum(axis=1, keepdims=True)
    constants = np.concatenate([contrasts.first[np.newaxis], contrasts.first + contrasts.constants])
    return np.concatenate([first, first + linear], axis=1), constants


def _mean_solved(
    basis: Basis,
    counts: FloatArray,
    contrasts: Contrasts,
    shrinkage: float,
    mean: FloatArray,
    directions: FloatArray,
) -> FloatArray:
    """Within-class covariance's inverse times the mean of all trials (features × labellings): what all
    classes' weights have in common."""
    rest = (1.0 - shrinkage) / len(basis.centred)
    along = mean @ directions
    solved = along[:, np.newaxis] / contrasts.diagonal
    if basis.of_trials:
        found = (mean[:, np.newaxis] - rest * (directions @ solved)) / contrasts.shift
    else:
        found = directions @ solved
    shared = np.einsum("rkl,r->kl", contrasts.scaled, along)
    return np.asarray(found + rest * (directions @ (contrasts.weights * shared).sum(axis=1)))
