"""Training one time bin: the classifiers of all folds, and their predictions of held-out trials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings, no_class_weights
from shortloop.eeg.decoding.models import BinModels, Fitted
from shortloop.eeg.decoding.selection.anova import select_features
from shortloop.eeg.decoding.selection.scaling import examples, moments, zscore
from shortloop.eeg.decoding.settings import DecodingSettings


@dataclass(frozen=True)
class FoldModel:
    """The classifier of one fold, with selection and scaling of features."""

    kept: np.ndarray  # bool, (features,)
    mean: FloatArray  # (kept features,), over the training trials
    std: FloatArray
    fitted: Fitted
    scaling: str  # see `DecodingSettings`

    def scale(self, x: FloatArray) -> FloatArray:
        """Select features of a set of trials (trials, features), and scale them together."""
        chosen = x[:, self.kept]
        return zscore(chosen) if self.scaling == "separate" else (chosen - self.mean) / self.std


def fold_models(
    x: FloatArray,
    labels: IntArray,
    folds: IntArray,
    *,
    n_classes: int,
    decoding: DecodingSettings,
    estimator: EstimatorSettings,
) -> Iterator[tuple[int, FoldModel]]:
    """Fit the classifier of each fold of one bin (trials, features) that keeps any feature."""
    x = np.ascontiguousarray(x)  # trials are picked again and again
    kept = select_features(x, labels, folds, n_classes, decoding.folds, decoding.select_alpha)
    how = {} if decoding.class_weight is None else {"balanced": True}
    if how and not estimator.weighs_classes:
        raise no_class_weights(str(getattr(estimator, estimator.tag)))
    for fold in np.flatnonzero(kept.any(axis=1)).tolist():
        train = folds != fold
        chosen = x[np.ix_(train, kept[fold])]
        mean, std = moments(chosen)
        fitted = estimator.fit((chosen - mean) / std, labels[train], **how)
        yield fold, FoldModel(kept[fold], mean, std, fitted, decoding.scaling)


def train_bin(
    x: FloatArray,
    labels: IntArray,
    folds: IntArray,
    *,
    n_classes: int,
    decoding: DecodingSettings,
    estimator: EstimatorSettings,
    decisions: bool = False,
) -> BinModels:
    """Train and cross-validate one bin.

    Parameters
    ----------
    x : array of float, shape (trials, features)
        Features of the bin.
    labels, folds : array of int, shape (trials,)
        Class of each trial, and the fold that holds it out.
    n_classes : int
        Number of classes.
    decoding : DecodingSettings
        Folds, selection and scaling of features.
    estimator : EstimatorSettings
        The classifier.
    decisions : bool, default False
        Whether decisions on held-out trials are wanted beside their predicted classes.

    Returns
    -------
    BinModels
    """
    together = estimator.train_folds(x, labels, folds, n_classes=n_classes, decoding=decoding)
    if together is not None:
        return together
    models = BinModels.empty(len(labels), x.shape[1], n_classes, decoding.folds)
    has_weights = True
    odds = decisions and estimator.gives_odds
    for fold, model in fold_models(
        x, labels, folds, n_classes=n_classes, decoding=decoding, estimator=estimator
    ):
        held_out = folds == fold
        scaled = model.scale(x[held_out])
        models.predicted[held_out] = model.fitted.predict(scaled)
        if decisions:
            models.decisions[held_out] = model.fitted.decisions(scaled, odds)
        models.kept[fold] = model.kept
        models.C[fold] = model.fitted.C
        if model.fitted.weights is None or model.fitted.intercepts is None:
            has_weights = False
            continue
        w, b = model.fitted.weights, model.fitted.intercepts
        if decoding.scaling == "training":  # fold the scaler into the weights
            w = w / model.std
            b = b - w @ model.mean
        models.weights[fold][:, model.kept] = w
        models.intercepts[fold] = b
    if has_weights:
        return models
    return replace(models, weights=np.zeros((decoding.folds, 0, 0)), intercepts=np.zeros((decoding.folds, 0)))


def warm_up(estimator: EstimatorSettings) -> None:
    """Import and compile `train_bin` before processes are forked."""
    estimator.warm_up()
    for x, labels, folds in examples():
        select_features(x, labels, folds, 3, 2, 0.5)
