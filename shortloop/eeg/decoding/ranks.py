"""Ranks of decisions under temporal generalization, from which the AUC of any labelling can be computed, as
scores of predictions from votes."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.apply import StackedWeights, stack_weights
from shortloop.eeg.decoding.metrics.auc import log_odds, rank_rows, rank_type
from shortloop.eeg.decoding.selection.scaling import zscore


def ranked_classes(n_classes: int) -> int:
    """Number of classes whose decisions are ranked: one of two, because both give the same ranks."""
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
    """Ranks of all classifiers' decisions on the trials of one bin of another phase, summed over folds.

    In double precision throughout: no prediction depends on the order of two decisions that single
    precision cannot tell apart, but a rank does.

    returns: (training bins, trials, `ranked_classes`); see `decision_ranks`
    """
    scaled = zscore(x) if scaling == "separate" else np.ascontiguousarray(x, dtype=np.float64)
    n_bins, n_folds, n_classes = intercepts.shape
    columns = ranked_classes(n_classes)
    ranks = np.empty((n_bins, len(x), columns), dtype=rank_type(len(x), n_folds))
    for each in range(n_bins):
        features, weights = stacked.features[each], stacked.weights[each]
        some = scaled if len(features) == x.shape[1] else scaled[:, features]
        decisions: FloatArray = weights.astype(np.float64, copy=False) @ some.T
        decisions += intercepts[each].reshape(-1, 1)
        decisions = decisions.reshape(n_folds, n_classes, len(x))[has_model[each]]
        if odds:
            decisions = log_odds(decisions.swapaxes(0, 1)).swapaxes(0, 1)
        if columns == 1:
            decisions = decisions[:, 1:] - decisions[:, :1]
        rows = np.ascontiguousarray(decisions).reshape(-1, len(x))
        ranks[each] = rank_rows(rows).reshape(-1, columns, len(x)).sum(axis=0).T
    return ranks


def rank_weights_within(
    x: FloatArray,
    folds: IntArray,
    weights: FloatArray,
    intercepts: FloatArray,
    has_model: np.ndarray,
    *,
    scaling: str,
    odds: bool,
) -> IntArray:
    """Ranks on the trials of one bin of the training phase, each fold's held-out trials among themselves."""
    n_bins, n_folds, n_classes = intercepts.shape
    ranks = np.zeros((n_bins, len(x), ranked_classes(n_classes)), dtype=rank_type(len(x)))
    for fold in range(n_folds):
        held_out = folds == fold
        own = slice(fold, fold + 1)
        ranks[:, held_out] = rank_weights(
            x[held_out],
            stack_weights(weights[:, own]),
            intercepts[:, own],
            has_model[:, own],
            scaling=scaling,
            odds=odds,
        )
    return ranks
