"""Linear discriminant analysis with fixed shrinkage, in closed form, for many label vectors at once.

What costs is done once for all labels, in coordinates in which the trials' total covariance, which needs no
label, is diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.solvers.common import Basis, decompose, dummy_codes

# A difference that leaves less than this share of a sum is computed again, without the difference.
DOUBTFUL = 1e-4
# Within-class scatter below this share of the total is rounding: the classes do not vary.
NOTHING = 1e-28


def lda_weights(
    x: FloatArray, labels: IntArray, n_classes: int, shrinkage: float
) -> tuple[FloatArray, FloatArray]:
    """Weights (labellings, classes, features) and intercepts (labellings, classes) for many label vectors."""
    # The same as scikit-learn's ``LinearDiscriminantAnalysis(solver="lsqr", shrinkage=λ)``; where nothing
    # varies within the classes, weights are 0. See Blankertz et al. 2011, Single-trial analysis and
    # classification of ERP components.
    # labels: int, (labellings, trials), every class present in each
    codes = dummy_codes(np.asarray(labels), n_classes)
    counts = np.stack([(labels == k).sum(axis=1) for k in range(n_classes)]).astype(np.float64)
    if (counts == 0).any() or (counts.sum(axis=0) != len(x)).any():
        found = f"classes of {int(counts.min())} trials"
        expected = f"each of 0 … {n_classes - 1} at least once, and no others"
        raise InputError("LDA needs trials of every class", field="labels", found=found, expected=expected)
    x = np.asarray(x, dtype=np.float64)
    mean = x.mean(axis=0)
    basis = decompose(x - mean)
    contrasts = solve(basis, codes, counts, shrinkage, np.tensordot(basis.sums.T, codes, axes=1))
    directions = basis.directions()
    common = _mean_solved(basis, contrasts, shrinkage, mean, directions)
    linear = np.tensordot(directions, contrasts.weights, axes=1)  # (features, classes − 1, labellings)
    first = -(linear * (counts[1:] / counts.sum(axis=0))).sum(axis=1, keepdims=True)
    linear = np.concatenate([first, first + linear], axis=1)
    constants = np.concatenate([contrasts.first[np.newaxis], contrasts.first + contrasts.constants])
    weights = linear.transpose(2, 1, 0) + common.T[:, np.newaxis]
    # Discriminants were of trials less their mean.
    intercepts = constants.T - linear.transpose(2, 1, 0) @ mean - 0.5 * (common.T @ mean)[:, np.newaxis]
    return np.ascontiguousarray(weights), intercepts


def _mean_solved(
    basis: Basis, contrasts: Contrasts, shrinkage: float, mean: FloatArray, directions: FloatArray
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


@dataclass(frozen=True)
class Contrasts:
    """Discriminants of each class but the first against the first, for each label vector.

    Where nothing varies within classes, `diagonal` and `shift` are infinite.
    """

    weights: FloatArray  # (rank, classes − 1, labellings), of a trial's coordinates
    constants: FloatArray  # (classes − 1, labellings)
    first: FloatArray  # (labellings,), constant of the first class's own discriminant
    scaled: FloatArray  # (rank, classes − 1, labellings), the classes' sums divided by `diagonal`
    diagonal: FloatArray  # (rank, labellings), eigenvalues of the shrunk total covariance
    shift: FloatArray  # (labellings,), added to the diagonal by shrinkage


def solve(
    basis: Basis,
    codes: FloatArray,
    counts: FloatArray,
    shrinkage: float,
    sums: FloatArray,
    rows: IntArray | slice = slice(None),
) -> Contrasts:
    """Discriminants for many label vectors of the same trials."""
    # The within-class covariance is the total one, T, less that of the class means, Z C Z'. Shrunk, it is A −
    # (1 − λ) Z C Z' where A = (1 − λ) T + s I, s = λ tr(T − Z C Z') / features, is diagonal here. Its inverse
    # takes the classes' sums Z (of all classes but one) to A⁻¹ Z R⁻¹ Σ, where Σ is the covariance of the
    # class labels, times trials, and R that of what regression of the labels on the trials leaves: R = Σ − (1
    # − λ) Z' A⁻¹ Z / trials. This is Woodbury's identity, for two classes Sherman and Morrison's.
    # The relative error is about that of a solver that goes through the labellings one by one: machine
    # precision times the shrunk covariance's condition. Only where classes lie hundreds of standard
    # deviations apart, and there are more than two of them or more features than trials, it is larger, by the
    # ratio of between- to within-class variance.
    # Treder 2019, Cross-validation in high-dimensional spaces: a lifeline for least-squares models and
    # multi-class LDA, arXiv:1803.10016.
    # codes: (trials, classes − 1, labellings), from `dummy_codes`; `rows` are the trials of `basis`
    # counts: (classes, labellings), none 0
    # sums: (rank, classes − 1, labellings), ``basis.sums`` times `codes`; callers often have it more cheaply
    n, p = basis.centred.shape
    rest = 1.0 - shrinkage
    shift = shrinkage * _within_trace(basis, codes, counts, sums, rows) / p
    nothing = shift == 0.0
    if nothing.any():
        shift = np.where(nothing, np.inf, shift)
    diagonal = (rest * basis.values)[:, np.newaxis] + shift
    scaled = sums / diagonal[:, np.newaxis]
    own = counts[1:] / n
    spread = -own[:, np.newaxis] * counts[1:]
    spread[np.diag_indices(len(own))] += counts[1:]
    if basis.of_trials:
        explained, left = _products(sums, scaled, np.stack([basis.metric, np.ones(len(basis.metric))]))
        residual = np.where(nothing, spread, left * np.where(nothing, 0.0, shift))
    else:
        explained = _products(sums, scaled, np.ones((1, len(basis.metric))))[0]
        residual = spread - (rest / n) * explained
        doubtful = _determinant(residual) < DOUBTFUL * _determinant(spread)
        if doubtful.any():
            residual[:, :, doubtful] = _residual(
                basis, codes[rows][:, :, doubtful], scaled[:, :, doubtful], shift[doubtful], rest
            )
    inverse = _inverse(residual)
    weights = scaled[:, :1] * inverse[0]
    for i in range(1, len(inverse)):
        weights += scaled[:, i : i + 1] * inverse[i]
    # Squared lengths of the class means in the metric of the within-class covariance.
    product = np.einsum("ijl,jkl->ikl", explained, inverse)
    towards = np.einsum("ijl,jl->il", product, own)
    lengths = (np.einsum("iil->il", product) - towards) / counts[1:]
    first = towards.sum(axis=0) / counts[0]
    constants = np.log(counts[1:] / counts[0]) - 0.5 * (lengths - first)
    return Contrasts(weights, constants, np.log(counts[0] / n) - 0.5 * first, scaled, diagonal, shift)


def _within_trace(
    basis: Basis, codes: FloatArray, counts: FloatArray, sums: FloatArray, rows: IntArray | slice
) -> FloatArray:
    """Trace of the within-class covariance under each label vector."""

    def weighted(products: FloatArray) -> FloatArray:
        return (basis.metric @ products.reshape(len(products), -1)).reshape(products.shape[1:])

    n, total = len(basis.centred), float(basis.values.sum())
    squares = weighted(sums * sums)
    zeroth = squares if len(squares) == 1 else weighted(sums.sum(axis=1, keepdims=True) ** 2)
    within = total - (zeroth[0] / counts[0] + (squares / counts[1:]).sum(axis=0)) / n
    for i in np.flatnonzero(within < DOUBTFUL * total):
        of_class = codes[rows, :, i] @ np.arange(1, len(counts))
        within[i] = 0.0
        for k in range(len(counts)):
            x = basis.centred[of_class == k]
            within[i] += ((x - x.mean(axis=0)) ** 2).sum() / n
    within[within <= NOTHING * total] = 0.0
    return np.asarray(within)


def _residual(
    basis: Basis, codes: FloatArray, scaled: FloatArray, shift: FloatArray, rest: float
) -> FloatArray:
    """Residual of the regression of labels, as a sum of squares, where a difference would cancel."""
    n = len(codes)
    left = codes - codes.mean(axis=0)
    left -= (rest / n) * np.tensordot(basis.sums, scaled, axes=1)
    penalty = np.where(np.isinf(shift), 0.0, rest / n * shift)
    return np.asarray(
        np.einsum("njl,nkl->jkl", left, left) + penalty * np.einsum("rjl,rkl->jkl", scaled, scaled)
    )


def _products(a: FloatArray, b: FloatArray, weights: FloatArray) -> FloatArray:
    """Symmetric matrices a' b (classes − 1, classes − 1, labellings) for each row of weights of the rank."""
    k, n_labels = a.shape[1:]
    found = np.empty((len(weights), k, k, n_labels))
    for i in range(k):
        for j in range(i + 1):
            found[:, i, j] = found[:, j, i] = weights @ (a[:, i] * b[:, j])
    return found


def _determinant(matrices: FloatArray) -> FloatArray:
    if len(matrices) == 1:
        return np.asarray(matrices[0, 0])
    return np.asarray(np.linalg.det(matrices.transpose(2, 0, 1)))


def _inverse(matrices: FloatArray) -> FloatArray:
    """Inverses of symmetric positive matrices (k, k, labellings), by Gauss and Jordan without pivots."""
    if len(matrices) == 1:
        return np.asarray(1.0 / matrices)
    a = matrices.copy()
    for i in range(len(a)):
        pivot = 1.0 / a[i, i]
        column = a[:, i].copy()
        row = a[i] * pivot
        row[i] = pivot
        column[i] = 0.0
        a[:, i] = 0.0
        a -= column[:, np.newaxis] * row
        a[i] = row
    return a
