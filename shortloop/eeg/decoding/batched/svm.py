"""Linear SVMs of one bin and fold, trained on many label vectors, which share scaling, products of trials and
inner folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.batched.scores import Labellings, Machines, winners
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.selection.scaling import moments
from shortloop.eeg.decoding.solvers.svm import solve
from shortloop.eeg.decoding.solvers.svm_interior import solve_interior


def train_machines(x: FloatArray, labellings: Labellings, estimator: LinearSvmSettings) -> Iterator[Machines]:
    """Train every fold of one bin (trials, features) on each of many label vectors."""
    for fold, train in enumerate(labellings.train):
        chosen = x[train]
        mean, std = moments(chosen)
        scaled = (chosen - mean) / std
        if _few_features(len(train), x.shape[1] + 1, estimator.C):
            yield Machines(mean, std, _by_features(scaled, labellings, fold, estimator), np.asarray)
            continue
        dual = _by_trials(scaled, labellings, fold, estimator)
        if x.shape[1] > len(train):
            yield Machines(mean, std, dual, partial(_products, scaled))
            continue
        weights = np.empty((x.shape[1] + 1, *dual.shape[1:]))
        weights[:-1] = np.tensordot(scaled.T, dual[:-1], axes=1)
        weights[-1] = dual[-1]
        yield Machines(mean, std, weights, np.asarray)


def _products(trials: FloatArray, scaled: FloatArray) -> FloatArray:
    """Inner products of scaled trials with the scaled training trials."""
    return np.asarray(scaled @ trials.T)


def warm_up() -> None:
    """Compile what `train_machines` needs, so that processes forked later share it."""
    x = np.random.default_rng(0).standard_normal((16, 9))
    labellings = Labellings(np.tile([[0, 1]], 8), np.repeat([0, 1], 8), 2, 2)
    for features in (1, 9):  # few, and many
        list(train_machines(x[:, :features], labellings, LinearSvmSettings(C=(1e-3, 1e-2), inner_folds=2)))


def _few_features(n: int, r: int, grid: Sequence[float]) -> bool:
    """True if the interior point, which takes about as many steps for any C, needs less time than coordinate
    descent, whose passes over all trials get more with C as long as the classes overlap."""
    if 2 * r > n:  # as many features tell any trials apart (Cover 1965)
        return False
    passes = sum(5 + 40 * C * r for C in grid)
    # Numbers of multiplications, those that are large products counted half, and what a call costs.
    return len(grid) * 6 * r**2 * (n / 2 + r / 6) < passes * n**2 + 400_000


def _by_features(
    scaled: FloatArray, labellings: Labellings, fold: int, estimator: LinearSvmSettings
) -> FloatArray:
    """Weights (features + 1, machines, labellings)."""
    rows = np.concatenate([scaled, np.ones((len(scaled), 1))], axis=1)
    signs = labellings.signs[labellings.train[fold]]
    if len(estimator.C) == 1:
        return _solved(rows, signs, estimator.C[0], estimator.tol)
    best = _best_of_grid(rows, signs, labellings, fold, estimator)
    weights = np.empty((rows.shape[1], *signs.shape[1:]))
    for i, C in enumerate(estimator.C):
        if (best == i).any():
            weights[:, :, best == i] = _solved(rows, signs[:, :, best == i], C, estimator.tol)
    return weights


def _solved(rows: FloatArray, signs: FloatArray, C: float, tol: float) -> FloatArray:
    return solve_interior(rows, signs.reshape(len(rows), -1), C, tol).reshape(-1, *signs.shape[1:])


def _best_of_grid(
    rows: FloatArray, signs: FloatArray, labellings: Labellings, fold: int, estimator: LinearSvmSettings
) -> IntArray:
    """Index of the C of best mean accuracy over the inner folds of each labelling, the first among equals."""
    inner = labellings.inner_folds(fold, estimator.inner_folds)
    labels = labellings.labels[:, labellings.train[fold]].T
    accuracy = np.empty((len(labellings), len(estimator.C), estimator.inner_folds))
    for f in range(estimator.inner_folds):
        held_out = inner == f
        without = np.where(held_out[:, np.newaxis], 0.0, signs)
        for i, C in enumerate(estimator.C):
            weights = _solved(rows, without, C, estimator.tol)
            decided = (rows @ weights.reshape(len(weights), -1)).reshape(signs.shape)
            right = (winners(decided, labellings.n_classes) == labels) & held_out
            accuracy[:, i, f] = right.sum(axis=0) / held_out.sum(axis=0)
    return np.asarray(accuracy.mean(axis=-1).argmax(axis=1))


def _by_trials(
    scaled: FloatArray, labellings: Labellings, fold: int, estimator: LinearSvmSettings
) -> FloatArray:
    """Dual coefficients (trials + 1, machines, labellings), their sums last."""
    gram = scaled @ scaled.T
    gram += 1.0  # the intercept's feature
    labels = labellings.labels[:, labellings.train[fold]]
    found = np.empty((len(scaled) + 1, labellings.signs.shape[1], len(labellings)))
    for i, each in enumerate(labels):
        dual = solve(
            gram, each, estimator.C, estimator.inner_folds, estimator.tol, n_classes=labellings.n_classes
        ).dual
        found[:-1, :, i] = dual[-found.shape[1] :].T
        found[-1, :, i] = dual[-found.shape[1] :].sum(axis=1)
    return found
