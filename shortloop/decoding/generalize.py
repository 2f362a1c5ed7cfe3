"""Training over all bins and applying to all bins, for one labelling of the training trials."""

from __future__ import annotations

import numpy as np

from shortloop.data import FloatArray, IntArray
from shortloop.decoding.apply import (
    apply_weights,
    apply_weights_within,
    cross_validated_votes,
    refit_and_apply,
    stack_weights,
)
from shortloop.decoding.scores import recall_scores
from shortloop.decoding.train import train_bin
from shortloop.study.decoding import DecodingSettings, EstimatorSettings

__all__ = ["retrained_scores"]


def retrained_scores(
    train: FloatArray,
    labels: IntArray,
    folds: IntArray,
    test: FloatArray | None,
    test_labels: IntArray | None,
    *,
    within: bool,
    n_classes: int,
    decoding: DecodingSettings,
    estimator: EstimatorSettings,
) -> tuple[FloatArray, FloatArray | None]:
    """Scores of everything trained on one labelling, as the hard null asks for each permutation.

    Parameters
    ----------
    train : array of float, shape (bins, trials, features)
        Features of the training phase.
    labels : array of int, shape (trials,)
        Labels of the training trials, shuffled or not.
    folds : array of int, shape (trials,)
        Fold that holds out each trial.
    test : array of float, shape (test bins, test trials, features), or None
        Features of the decoded phase; None: cross-validation only.
    test_labels : array of int, shape (test trials,), or None
        True labels of the decoded trials; `labels` themselves are used when `within`.
    within : bool
        Whether the decoded trials are the training trials.
    n_classes, decoding, estimator
        As of `fold_models`.

    Returns
    -------
    curve : array of float, shape (bins,)
        Cross-validated scores, percent.
    plane : array of float, shape (test bins, bins), or None
        Generalization scores, percent.
    """
    models = [
        train_bin(x, labels, folds, n_classes=n_classes, decoding=decoding, estimator=estimator)
        for x in train
    ]
    held_out = cross_validated_votes(np.stack([m.predicted for m in models]), n_classes)
    curve = recall_scores(held_out, labels[np.newaxis])[0]
    if test is None:
        return curve, None
    weights = np.stack([m.weights for m in models])
    intercepts = np.stack([m.intercepts for m in models])
    has_model = np.stack([m.kept.any(axis=1) for m in models])
    if weights.shape[2] == 0:
        votes = np.stack(
            [
                refit_and_apply(
                    x,
                    labels,
                    folds,
                    test,
                    within=within,
                    n_classes=n_classes,
                    decoding=decoding,
                    estimator=estimator,
                )
                for x in train
            ],
            axis=1,
        )
    elif within:
        votes = np.stack(
            [
                apply_weights_within(x, folds, weights, intercepts, has_model, scaling=decoding.scaling)
                for x in test
            ]
        )
    else:
        stacked = stack_weights(weights)
        votes = np.stack(
            [apply_weights(x, stacked, intercepts, has_model, scaling=decoding.scaling) for x in test]
        )
    truth = labels if within or test_labels is None else test_labels
    return curve, recall_scores(votes, truth[np.newaxis])[0]
