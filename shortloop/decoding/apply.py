"""Applying trained classifiers to other bins, of the same phase or of another: temporal generalization.

What is kept of the predictions is votes: how many of a training bin's classifiers call a trial each class.
Confusions and permutations need no more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shortloop.data import FloatArray, IntArray
from shortloop.decoding.auc import decision_ranks
from shortloop.decoding.decisions import decide, gives_odds
from shortloop.decoding.passes import KINDS
from shortloop.decoding.scaling import standardize
from shortloop.decoding.train import fold_models
from shortloop.study.decoding import DecodingSettings, EstimatorSettings

__all__ = [
    "StackedWeights",
    "apply_weights",
    "apply_weights_within",
    "cross_validated_votes",
    "refit_and_apply",
    "stack_weights",
    "warm_up",
]


def cross_validated_votes(predicted: IntArray, n_classes: int) -> IntArray:
    """Votes on held-out trials: one for each trial whose fold has a model.

    Parameters
    ----------
    predicted : array of int, shape (bins, trials)
        Predicted class of each trial, −1 for none.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of uint8, shape (bins, trials, classes)
    """
    votes: IntArray = (predicted[..., np.newaxis] == np.arange(n_classes)).astype(np.uint8)
    return votes


@dataclass(frozen=True)
class StackedWeights:
    """The weights of all classifiers, those of one training bin as the left-hand side of one product.

    Parameters
    ----------
    features : sequence of array of int
        For each training bin, the features that any of its classifiers keeps.
    weights : sequence of array of float64, each of shape (folds · classes, features of the bin)
        Their weights.
    single : sequence of array of float32
        The same in single precision.
    lengths : array of float, shape (bins, folds · classes)
        Euclidean lengths of the weights.
    """

    features: Sequence[IntArray]
    weights: Sequence[FloatArray]
    single: Sequence[FloatArray]
    lengths: FloatArray


def stack_weights(weights: FloatArray) -> StackedWeights:
    """Arrange weights for `apply_weights`.

    Parameters
    ----------
    weights : array of float, shape (bins, folds, classes, features)
        Weights of every classifier; 0 where a feature is not kept.

    Returns
    -------
    StackedWeights
    """
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
    mean: FloatArray = np.zeros(0)
    std: FloatArray = np.zeros(0)
    # By features, so that those that a bin keeps are rows to copy.
    if single:
        scaled, mean, std = standardize(x, np.float32)
        rows = scaled.T
    else:
        rows = np.ascontiguousarray(x.T, dtype=np.float64)
    n_bins, n_folds, n_classes = intercepts.shape
    votes = np.zeros((n_bins, len(x), n_classes), dtype=np.uint8)
    # One buffer for all copies: fresh memory costs more than filling it.
    copied = np.empty((max(map(len, stacked.features)), len(x)), dtype=rows.dtype)
    for each in range(n_bins):
        features = stacked.features[each]
        some = rows
        if len(features) < len(rows):  # copying what a bin keeps costs less than multiplying by zeros
            some = copied[: len(features)]
            np.take(rows, features, axis=0, out=some, mode="clip")
        decisions = (stacked.single if single else stacked.weights)[each] @ some
        decisions = decisions.reshape(n_folds, n_classes, len(x)) + intercepts[each][:, :, np.newaxis]
        predicted, margin = _winners(decisions)
        if single:
            lengths = stacked.lengths[each].reshape(n_folds, n_classes)
            doubtful = margin <= _rounding(some, lengths)
            for fold, trial in np.argwhere(doubtful & has_model[each][:, np.newaxis]):
                own = slice(fold * n_classes, (fold + 1) * n_classes)
                exact = (x[trial, features] - mean[features]) / std[features]
                decision = stacked.weights[each][own] @ exact + intercepts[each, fold]
                predicted[fold, trial] = decision.argmax()
        predicted[~has_model[each]] = n_classes
        for k in range(n_classes):
            votes[each, :, k] = (predicted == k).sum(axis=0, dtype=np.uint8)
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
    """Votes on the trials of one bin of the training phase: each classifier sees its held-out trials only.

    Parameters
    ----------
    x : array of float, shape (trials, features)
        Features of the test bin.
    folds : array of int, shape (trials,)
        Fold that holds out each trial.
    weights : array of float, shape (bins, folds, classes, features)
        Weights.
    intercepts, has_model, scaling
        As of `apply_weights`.

    Returns
    -------
    array of uint8, shape (training bins, trials, classes)
    """
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
    """Votes of one training bin on all test bins, for estimators whose fits are no weights.

    The classifiers are trained again, as no pickle of them is kept.

    Parameters
    ----------
    train_x : array of float, shape (trials, features)
        Features of the training bin.
    labels, folds : array of int, shape (trials,)
        Class and fold of each training trial.
    test : array of float, shape (test bins, test trials, features)
        Features of the decoded phase.
    within : bool
        Whether the decoded trials are the training trials; each classifier then sees its held-out ones.
    n_classes, decoding, estimator
        As of `fold_models`.
    ranks : array of int, shape (test bins, test trials, classes), of two classes (…, 1), optional
        Ranks of the decisions are added to it; see `decision_ranks`.

    Returns
    -------
    array of uint8, shape (test bins, test trials, classes)
    """
    odds = ranks is not None and gives_odds(estimator)
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
                ranks[test_bin, trials] += decision_ranks(decide(model.fitted, scaled, odds))
    return votes


def warm_up() -> None:
    """Compile what `apply_weights` needs, so that processes forked later share it."""
    for dtype, order in KINDS:
        standardize(np.zeros((2, 2), dtype=dtype, order=order), np.float32)


def _winners(decisions: FloatArray) -> tuple[IntArray, FloatArray]:
    """Of (folds, classes, trials), index of the first largest class, and how far the second lies below it."""
    winner = np.zeros((len(decisions), decisions.shape[2]), dtype=np.uint8)
    largest = decisions[:, 0]
    second = np.full_like(largest, -np.inf)
    for k in range(1, decisions.shape[1]):  # faster than sorting along an axis this short
        decision = decisions[:, k]
        winner[decision > largest] = k
        second = np.maximum(second, np.minimum(decision, largest))
        largest = np.maximum(decision, largest)
    return winner, largest - second


def _rounding(x: FloatArray, lengths: FloatArray) -> FloatArray:
    """How far single precision can move the difference of two decisions, at most (folds, trials).

    A dot product of n terms is off by at most n roundings of the product of its vectors' lengths (Higham
    2002, Accuracy and stability of numerical algorithms, section 3.1, and Cauchy-Schwarz); rounding the
    vectors themselves adds two more.
    """
    unit = np.finfo(np.float32).eps / 2
    own = np.sqrt(np.einsum("ji,ji->i", x, x))
    bound: FloatArray = 1.01 * (len(x) + 4) * unit * own * 2 * lengths.max(axis=1)[:, np.newaxis]
    return bound
