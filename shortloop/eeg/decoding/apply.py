"""Applying trained classifiers to other bins, of the same phase or of another: temporal generalization.

What is kept of the predictions is votes: how many of a training bin's classifiers call a trial each class.
Confusions and permutations need no more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.metrics.auc import decision_ranks
from shortloop.eeg.decoding.selection.scaling import standardize
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import fold_models
from shortloop.eeg.decoding.votes import copy_features, count_votes


@dataclass(frozen=True)
class StackedWeights:
    """Weights of all classifiers, those of one training bin as the left-hand side of one product."""

    features: Sequence[IntArray]  # of each training bin, those that any of its classifiers keeps
    weights: Sequence[FloatArray]  # of each training bin, (folds · classes, its features)
    single: Sequence[FloatArray]  # the same in single precision
    lengths: FloatArray  # (bins, folds · classes), Euclidean lengths of the weights


def stack_weights(weights: FloatArray) -> StackedWeights:
    """Arrange weights (bins, folds, classes, features), 0 if a feature is not kept, for `apply_weights`."""
    flat = np.asarray(weights).reshape(len(weights), -1, weights.shape[-1])
    features = [np.flatnonzero((each != 0).any(axis=0)) for each in flat]
    kept = [np.ascontiguousarray(w[:, f], dtype=np.float64) for w, f in zip(flat, features)]
    lengths = np.array([np.linalg.norm(each, axis=1) for each in kept]).reshape(flat.shape[:2])
    return StackedWeights(features, kept, [each.astype(np.float32) for each in kept], lengths)


def apply_weights(
    x: FloatArray, stacked: StackedWeights, intercepts: FloatArray, has_model: np.ndarray, *, scaling: str
) -> IntArray:
    """Votes of all classifiers on the trials of one bin of another phase.

    Parameters
    ----------
    x : array of float, shape (trials, features)
        Features of the test bin.
    stacked : StackedWeights
        From `stack_weights`.
    intercepts : array of float, shape (bins, folds, classes)
        Intercepts.
    has_model : array of bool, shape (bins, folds)
        Folds that have a model; the others do not vote.
    scaling : str
        ``"separate"``: the trials are z-scored over themselves; ``"training"``: the weights already are
        those of unscaled features.

    Returns
    -------
    array of uint8, shape (training bins, trials, classes)
    """
    # z-scores are of a size that single precision holds; features as they are may be of any.
    single = scaling == "separate"
    mean: FloatArray = np.zeros(x.shape[1])
    std: FloatArray = np.ones(x.shape[1])
    # By features, so that those that a bin keeps are rows to copy.
    if single:
        scaled, mean, std = standardize(x, np.float32)
        rows = scaled.T
    else:
        rows = np.ascontiguousarray(x.T, dtype=np.float64)
    unit = float(np.finfo(rows.dtype).eps / 2)
    n_bins, n_folds, n_classes = intercepts.shape
    votes = np.zeros((n_bins, len(x), n_classes), dtype=np.uint8)
    # One buffer for all copies: fresh memory costs more than filling it.
    copied = np.empty((max(map(len, stacked.features)), len(x)), dtype=rows.dtype)
    squares = np.empty(len(x), dtype=rows.dtype)
    left = np.empty((n_folds * len(x), 2), dtype=np.int64)
    for each in range(n_bins):
        features, weights = stacked.features[each], stacked.weights[each]
        some = copied[: len(features)]
        copy_features(rows, features, some, squares)
        n_left = count_votes(
            (stacked.single[each] if single else weights) @ some,
            some,
            squares,
            weights,
            stacked.lengths[each],
            intercepts[each],
            has_model[each],
            unit,
            votes[each],
            left,
        )
        for fold, trial in left[:n_left]:
            own = slice(fold * n_classes, (fold + 1) * n_classes)
            exact = (x[trial, features] - mean[features]) / std[features]
            # Not a matrix product: equal weights shall have equal sums.
            decision = (weights[own] * exact).sum(axis=1) + intercepts[each, fold]
            votes[each, trial, decision.argmax()] += 1
    return votes


def apply_weights_within(
    x: FloatArray,
    folds: IntArray,
    weights: FloatArray,
    intercepts: FloatArray,
    has_model: np.ndarray,
    *,
    scaling: str,
) -> IntArray:
    """Votes (training bins, trials, classes) of each classifier on its held-out trials in one test bin."""
    n_bins, n_folds, n_classes = intercepts.shape
    votes = np.zeros((n_bins, len(x), n_classes), dtype=np.uint8)
    for fold in range(n_folds):
        held_out = folds == fold
        votes[:, held_out] = apply_weights(
            x[held_out],
            stack_weights(weights[:, fold : fold + 1]),
            intercepts[:, fold : fold + 1],
            has_model[:, fold : fold + 1],
            scaling=scaling,
        )
    return votes


def refit_and_apply(
    train_x: FloatArray,
    labels: IntArray,
    folds: IntArray,
    test: FloatArray,
    *,
    within: bool,
    n_classes: int,
    decoding: DecodingSettings,
    estimator: EstimatorSettings,
    ranks: IntArray | None = None,
) -> IntArray:
    """Votes of one training bin on all test bins (test bins, test trials, classes), without stored weights.

    The classifiers are trained again, because no pickle of them is kept. The ranks of their decisions
    (see `decision_ranks`) are added to `ranks`.
    """
    odds = ranks is not None and estimator.gives_odds
    votes = np.zeros((*test.shape[:2], n_classes), dtype=np.uint8)
    for fold, model in fold_models(
        train_x, labels, folds, n_classes=n_classes, decoding=decoding, estimator=estimator
    ):
        if model is None:
            continue
        trials = np.flatnonzero(folds == fold) if within else np.arange(test.shape[1])
        for test_bin, x in enumerate(test):
            scaled = model.scale(x[trials] if within else x)
            votes[test_bin, trials, model.fitted.predict(scaled)] += 1
            if ranks is not None:
                ranks[test_bin, trials] += decision_ranks(model.fitted.decisions(scaled, odds))
    return votes


def warm_up(like: FloatArray | None = None, scaling: str = "training") -> None:
    """Compile `apply_weights` for features of this type and memory order, before processes are forked."""
    stacked, intercepts = stack_weights(np.ones((1, 1, 2, 2))), np.zeros((1, 1, 2))
    dtype = np.dtype(np.float32) if like is None else like.dtype
    by_features = like is not None and like.flags.f_contiguous and not like.flags.c_contiguous
    x: FloatArray = np.zeros((2, 2), dtype, order="F" if by_features else "C")
    x.flags.writeable = intercepts.flags.writeable = False  # as maps of files are
    apply_weights(x, stacked, intercepts, np.ones((1, 1), dtype=bool), scaling=scaling)
