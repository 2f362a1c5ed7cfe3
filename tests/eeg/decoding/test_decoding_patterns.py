"""Activation patterns are those of MNE, with the same estimators on the same trials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mne.decoding import LinearModel, get_coef
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.ridge import RidgeSettings
from shortloop.eeg.decoding.models import BinModels
from shortloop.eeg.decoding.patterns import activation_patterns
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin


def trials(n_classes: int = 2, seed: int = 0, features: int = 7) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), 20)
    mixing = rng.standard_normal((features, features))
    x = rng.standard_normal((len(labels), features)) @ mixing * 1e-5
    x += 1e-5 * rng.standard_normal((n_classes, features))[labels] + 3e-4
    return x, labels, stratified_folds(labels, 4, 1)


def trained(x: Any, labels: Any, folds: Any) -> BinModels:
    decoding = DecodingSettings(folds=4, select_alpha=1.0)
    return train_bin(x, labels, folds, n_classes=2, decoding=decoding, estimator=RidgeSettings())


@pytest.mark.parametrize("scaling", ["separate", "training"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_they_are_those_of_mne(n_classes: int, scaling: Any) -> None:
    x, labels, folds = trials(n_classes)
    decoding = DecodingSettings(folds=4, select_alpha=1.0, scaling=scaling)
    models = train_bin(x, labels, folds, n_classes=n_classes, decoding=decoding, estimator=RidgeSettings())
    found = activation_patterns(x, folds, models.weights, models.kept, standardized=scaling == "separate")
    expected = np.zeros_like(found)
    for fold in range(4):
        train = folds != fold
        for k in range(n_classes):
            model = make_pipeline(StandardScaler(), LinearModel(RidgeClassifier(alpha=1.0)))
            model.fit(x[train], labels[train] == k)
            scale = model.named_steps["standardscaler"].scale_
            pattern = get_coef(model, "patterns_").ravel() * scale
            expected[k] += pattern / model.decision_function(x[train]).std(ddof=1) / 4
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    if n_classes == 2:
        np.testing.assert_allclose(found[0], -found[1], rtol=1e-9)


def test_features_that_are_not_kept_have_patterns_and_no_part_in_others() -> None:
    x, labels, folds = trials(3, seed=3, features=30)
    decoding = DecodingSettings(folds=4, select_alpha=0.01)
    models = train_bin(x, labels, folds, n_classes=3, decoding=decoding, estimator=LinearSvmSettings())
    assert 0 < models.kept.sum() < models.kept.size
    found = activation_patterns(x, folds, models.weights, models.kept, standardized=True)
    by_hand = np.zeros_like(found)
    for fold in range(4):
        train, kept = folds != fold, models.kept[fold]
        chosen = x[train]
        scaled = (chosen[:, kept] - chosen[:, kept].mean(axis=0)) / chosen[:, kept].std(axis=0)
        said = scaled @ models.weights[fold][:, kept].T
        covariance = np.cov(chosen.T, said.T)[:30, 30:]
        by_hand += (covariance / said.std(axis=0, ddof=1)).T / 4
    np.testing.assert_allclose(found, by_hand, rtol=1e-7, atol=1e-12 * np.abs(by_hand).max())


def test_folds_without_features_do_not_count_and_constant_features_have_no_pattern() -> None:
    x, labels, folds = trials()
    models = trained(x, labels, folds)
    kept, weights = models.kept.copy(), models.weights.copy()
    kept[1:], weights[1:] = False, 0.0
    one = activation_patterns(x, folds, weights, kept, standardized=True)
    alone = activation_patterns(x, np.where(folds == 0, 0, 1), weights[:1], kept[:1], standardized=True)
    np.testing.assert_allclose(one, alone)
    nothing = activation_patterns(x, folds, weights, np.zeros_like(kept), standardized=True)
    assert np.isnan(nothing).all()
    x, labels, folds = trials()
    x[:, 2] = 0.5
    models = trained(x, labels, folds)
    found = activation_patterns(x, folds, models.weights, models.kept, standardized=True)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, 2], 0.0, atol=1e-15)
