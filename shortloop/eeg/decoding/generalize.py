"""Temporal generalization for one labelling of the training trials: train all bins, apply to all bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding import apply
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.metrics.scores import held_out_evidence, scores_of
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin
from shortloop.eeg.score_names import Score


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
    score: Score = "balanced-accuracy",
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
        As of `train_bin`.
    score : {"balanced-accuracy", "accuracy", "auc"}, default "balanced-accuracy"
        The score.

    Returns
    -------
    curve : array of float, shape (bins,)
        Cross-validated scores, as `scores_of` has them.
    plane : array of float, shape (test bins, bins), or None
        Generalization scores.
    """
    ranked = score == "auc"
    how: dict[str, Any] = {"n_classes": n_classes, "decoding": decoding, "estimator": estimator}
    models = [train_bin(x, labels, folds, decisions=ranked, **how) for x in train]
    fitted = {name: np.stack([getattr(m, name) for m in models]) for name in ("predicted", "decisions")}
    held_out = held_out_evidence(score, {**fitted, "folds": folds}, n_classes)
    curve = scores_of(score, held_out, labels[np.newaxis], folds)[0]
    if test is None:
        return curve, None
    if not all(m.weights.shape[1] for m in models):  # bins that keep no feature do not tell
        how |= {"within": within, "ranked": ranked}
        refit = [apply.refit_and_apply(x, labels, folds, test, **how) for x in train]
        found = np.stack([each["ranks" if ranked else "votes"] for each in refit], axis=1)
    else:
        weights, intercepts = (np.stack([getattr(m, of) for m in models]) for of in ("weights", "intercepts"))
        given = intercepts, np.stack([m.kept.any(axis=1) for m in models])
        of_bin: Callable[..., IntArray] = apply.rank_weights if ranked else apply.apply_weights
        more: dict[str, Any] = {"odds": estimator.gives_odds} if ranked else {}
        more["scaling"] = decoding.scaling
        if within:
            applied = [apply.apply_held_out(of_bin, x, folds, weights, *given, **more) for x in test]
        else:
            stacked = apply.stack_weights(weights)
            applied = [of_bin(x, stacked, *given, **more) for x in test]
        found = np.stack(applied)
    truth = labels if within or test_labels is None else test_labels
    return curve, scores_of(score, found, truth[np.newaxis], folds if within else None)[0]
