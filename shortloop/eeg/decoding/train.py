"""Training one time bin: the classifiers of all folds, and their predictions of held-out trials."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.models import BinModels, Fitted
from shortloop.eeg.decoding.selection.anova import select_features
from shortloop.eeg.decoding.selection.kernels import LAYOUTS
from shortloop.eeg.decoding.selection.scaling import moments, zscore
from shortloop.eeg.decoding.settings import DecodingSettings


@dataclass(frozen=True)
class FoldModel:
    """The classifier of one fold, with selection and scaling of features."""

    kept: np.ndarray  # bool, (features,)
    mean: FloatArray  # (kept features,), over the training trials
    std: FloatArray
    fitted: Fitted
    scaling: str  # see `DecodingSettings`

    def predict(self, x: FloatArray) -> IntArray:
        """Classes of trials (trials, features), which are scaled together."""
        return self.fitted.predict(self.scale(x))

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
) -> Iterator[tuple[int, FoldModel | None]]:
    """Fit the classifier of each fold of one bin (trials, features); None if it keeps no feature."""
    x = np.ascontiguousarray(x)  # trials are picked again and again
    kept = select_features(
        x, labels, folds, n_classes=n_classes, n_folds=decoding.folds, alpha=decoding.select_alpha
    )
    fit = estimator.fit if decoding.class_weight is None else estimator.fit_balanced
    for fold in range(decoding.folds):
        if not kept[fold].any():
            yield fold, None
            continue
        train = folds != fold
        chosen = x[np.ix_(train, kept[fold])]
        mean, std = moments(chosen)
        scaled = (chosen - mean) / std
        yield (
            fold,
            FoldModel(kept[fold], mean, std, fit(scaled, labels[train]), decoding.scaling),
        )


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
        if model is None:
            continue
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


def warm_up(estimator: EstimatorSettings | None = None) -> None:
    """Import and compile `train_bin` before processes are forked."""
    if estimator is not None:
        estimator.warm_up()
    _warm_up_ends()


@functools.cache
def _warm_up_ends() -> None:
    """Compile the code that runs before and after any classifier."""
    labels = np.tile([0, 1, 2], 8)
    settings = DecodingSettings(folds=2, select_alpha=0.5)
    for dtype, order in LAYOUTS:
        x = np.random.default_rng(0).standard_normal((len(labels), 4)) + labels[:, np.newaxis]
        x = np.array(x, dtype=dtype, order=order)
        x.flags.writeable = False  # as maps of files are
        train_bin(x, labels, np.arange(len(labels)) % 2, n_classes=3, decoding=settings, estimator=_Guess())


class _Guess(EstimatorSettings):
    """Calls every trial the first class."""

    kind: Literal["guess"] = "guess"

    def described(self, n_classes: int) -> str:
        return "a guess"

    def fit(self, x: FloatArray, labels: IntArray) -> Fitted:
        n_classes = int(labels.max()) + 1
        return Fitted(np.zeros((n_classes, x.shape[1])), np.zeros(n_classes))
