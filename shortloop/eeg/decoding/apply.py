"""Applying trained classifiers to other bins, of the same phase or of another: temporal generalization.

What is kept of the predictions is votes: how many of a training bin's classifiers call a trial each class;
and, for the AUC, ranks of their decisions. Confusions and permutations need no more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.metrics.auc import decision_ranks, log_odds, rank_rows, rank_type
from shortloop.eeg.decoding.selection.scaling import standardize, zscore
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import fold_models


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
    intercepts, has_model = intercepts.view(), has_model.view()
    intercepts.flags.writeable = has_model.flags.writeable = False  # the kind that code is compiled for
    n_bins, n_folds, n_classes = intercepts.shape
    votes = np.zeros((n_bins, len(x), n_classes), dtype=np.uint8)
    # One buffer for all copies: fresh memory costs more than filling it.
    copied = np.empty((max(map(len, stacked.features)), len(x)), dtype=rows.dtype)
    squares = np.empty(len(x), dtype=rows.dtype)
    left = np.empty((n_folds * len(x), 2), dtype=np.int64)
    for each in range(n_bins):
        features, weights = stacked.features[each], stacked.weights[each]
        some = copied[: len(features)]
        _copy_features(rows, features, some, squares)
        n_left = _count_votes(
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


def ranked_classes(n_classes: int) -> int:
    """Return the number of classes whose decisions are ranked: one of two, as both give the same ranks."""
    return 1 if n_classes == 2 else n_classes


def rank_weights(
    x: FloatArray,
    stacked: StackedWeights,
    intercepts: FloatArray,
    has_model: np.ndarray,
    *,
    scaling: str,
    odds: bool,
) -> IntArray:
    """Ranks of all classifiers' decisions on the trials of one bin of another phase, summed over folds."""
    # In double precision throughout: no prediction depends on the order of two decisions that single
    # precision cannot tell apart, but a rank does.
    # returns: (training bins, trials, `ranked_classes`); see `decision_ranks`
    scaled = zscore(x) if scaling == "separate" else np.ascontiguousarray(x, dtype=np.float64)
    n_bins, n_folds, n_classes = intercepts.shape
    columns = ranked_classes(n_classes)
    ranks = np.empty((n_bins, len(x), columns), dtype=rank_type(len(x), n_folds))
    for each in range(n_bins):
        features, weights = stacked.features[each], stacked.weights[each]
        some = scaled if len(features) == x.shape[1] else scaled[:, features]
        decisions: FloatArray = weights @ some.T
        decisions += intercepts[each].reshape(-1, 1)
        decisions = decisions.reshape(n_folds, n_classes, len(x))[has_model[each]]
        if odds:
            decisions = log_odds(decisions.swapaxes(0, 1)).swapaxes(0, 1)
        if columns == 1:
            decisions = decisions[:, 1:] - decisions[:, :1]
        rows = np.ascontiguousarray(decisions).reshape(-1, len(x))
        ranks[each] = rank_rows(rows).reshape(-1, columns, len(x)).sum(axis=0).T
    return ranks


def apply_held_out(
    apply: Callable[..., IntArray],
    x: FloatArray,
    folds: IntArray,
    weights: FloatArray,
    intercepts: FloatArray,
    has_model: np.ndarray,
    **how: Any,
) -> IntArray:
    """Votes (`apply_weights`) or ranks (`rank_weights`) of each classifier on its own held-out trials."""
    # x: (trials, features), a bin of the training phase; returns: (training bins, trials, classes)
    n_bins, n_folds, n_classes = intercepts.shape
    ranked = apply is rank_weights
    columns, kind = (ranked_classes(n_classes), rank_type(len(x))) if ranked else (n_classes, np.uint8)
    found: IntArray = np.zeros((n_bins, len(x), columns), dtype=kind)
    for fold in range(n_folds):
        trials, own = folds == fold, slice(fold, fold + 1)
        stacked = stack_weights(weights[:, own])
        found[:, trials] = apply(x[trials], stacked, intercepts[:, own], has_model[:, own], **how)
    return found


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
    ranked: bool = False,
) -> dict[str, IntArray]:
    """``"votes"`` of one training bin on all test bins (test bins, test trials, classes), without weights."""
    # The classifiers are trained again, because no pickle of them is kept. With `ranked`, also ``"ranks"`` of
    # their decisions; see `decision_ranks`.
    shape = test.shape[:2]
    votes: IntArray = np.zeros((*shape, n_classes), dtype=np.uint8)
    found = {"votes": votes}
    if ranked:
        kind = rank_type(shape[1], 1 if within else decoding.folds)
        found["ranks"] = np.zeros((*shape, ranked_classes(n_classes)), kind)
        odds = estimator.gives_odds
    for fold, model in fold_models(
        train_x, labels, folds, n_classes=n_classes, decoding=decoding, estimator=estimator
    ):
        trials = np.flatnonzero(folds == fold) if within else np.arange(test.shape[1])
        for test_bin, x in enumerate(test):
            scaled = model.scale(x[trials] if within else x)
            votes[test_bin, trials, model.fitted.predict(scaled)] += 1
            if ranked:
                found["ranks"][test_bin, trials] += decision_ranks(model.fitted.decisions(scaled, odds))
    return found


def warm_up(like: FloatArray, scaling: str) -> None:
    """Compile `apply_weights` for features of this type and memory order, before processes are forked."""
    stacked, intercepts = stack_weights(np.ones((1, 1, 2, 2))), np.zeros((1, 1, 2))
    by_features = like.flags.f_contiguous and not like.flags.c_contiguous
    x: FloatArray = np.zeros((2, 2), like.dtype, order="F" if by_features else "C")
    x.flags.writeable = False  # as maps of files are
    apply_weights(x, stacked, intercepts, np.ones((1, 1), dtype=bool), scaling=scaling)


@numba.njit(cache=True)
def _copy_features(rows, features, some, squares):  # type: ignore[no-untyped-def]
    """Copy the rows `features` of all trials to `some`, and each trial's sum of squares to `squares`."""
    squares[:] = 0.0
    for j in range(len(features)):
        feature = features[j]
        for i in range(rows.shape[1]):
            value = rows[feature, i]
            some[j, i] = value
            squares[i] += value * value


@numba.njit(cache=True)
def _count_votes(  # type: ignore[no-untyped-def]
    decisions, some, squares, weights, lengths, intercepts, has_model, unit, votes, left
):
    """Add each fold's vote on every trial (trials, classes), for the first class of largest decision."""
    # Rounding can move the difference of two decisions. A dot product of n terms is off by at most n
    # roundings of the product of its vectors' lengths (Higham 2002, Accuracy and stability of numerical
    # algorithms, section 3.1, and Cauchy-Schwarz); rounding the vectors themselves adds two more. Where that
    # may change the winner, the product is taken again in double precision. What is left then is the rounding
    # of the features; where that may change it, the vote is left open.
    # decisions: (folds · classes, trials), products of weights (folds · classes, features) and features
    # some, squares: (features, trials), and their sums of squares
    # left: int, (folds · trials, 2), filled with fold and trial of open votes; their number is returned
    n_folds, n_classes = intercepts.shape
    decision = np.empty(n_classes)
    n_left = 0
    for fold in range(n_folds):
        if not has_model[fold]:
            continue
        first = fold * n_classes
        longest = 0.0
        for k in range(n_classes):
            longest = max(longest, lengths[first + k])
        rounding = 1.01 * 2 * unit * longest
        for trial in range(decisions.shape[1]):
            for k in range(n_classes):
                decision[k] = decisions[first + k, trial] + intercepts[fold, k]
            winner, margin = _winner(decision)
            moved = rounding * np.sqrt(squares[trial])
            if margin <= (len(some) + 4) * moved:
                for k in range(n_classes):
                    decision[k] = intercepts[fold, k]
                for j in range(len(some)):
                    for k in range(n_classes):
                        decision[k] += weights[first + k, j] * some[j, trial]
                winner, margin = _winner(decision)
            if margin <= moved:
                left[n_left, 0], left[n_left, 1] = fold, trial
                n_left += 1
            else:
                votes[trial, winner] += 1
    return n_left


@numba.njit(cache=True)
def _winner(decision):  # type: ignore[no-untyped-def]
    """Index of the first largest, and how far the second lies below it."""
    winner, largest, second = 0, -np.inf, -np.inf
    for k in range(len(decision)):
        if decision[k] > largest:
            winner, largest, second = k, decision[k], largest
        elif decision[k] > second:
            second = decision[k]
    return winner, largest - second
