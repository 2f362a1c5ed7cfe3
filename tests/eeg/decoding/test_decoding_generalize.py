"""The harder null: with the true labels it is the analysis itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.generalize import retrained_scores
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import FoldModel, fold_models

BAYES = SklearnSettings(kind="sklearn", path="sklearn.naive_bayes.GaussianNB")
LDA = SklearnSettings(kind="sklearn", path="sklearn.discriminant_analysis.LinearDiscriminantAnalysis")


def recordings() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    labels = rng.permutation(np.repeat([0, 1, 2], 14))
    test_labels = rng.permutation(np.repeat([0, 1, 2], [10, 12, 8]))
    patterns = 0.9 * rng.standard_normal((3, 15))
    train, test = rng.standard_normal((3, 42, 15)), rng.standard_normal((2, 30, 15))
    train[1:] += patterns[labels]
    test[1] += patterns[test_labels]
    return train, labels, test, test_labels


def settings(estimator: Any, scaling: str = "separate", alpha: float = 0.3) -> dict[str, Any]:
    decoding = DecodingSettings(folds=3, select_alpha=alpha, scaling=scaling)
    return {"n_classes": 3, "decoding": decoding, "estimator": estimator}


def predict(model: FoldModel, x: np.ndarray) -> np.ndarray:
    return model.fitted.predict(model.scale(x))


def one_by_one(
    data: np.ndarray,
    labels: np.ndarray,
    folds: np.ndarray,
    test: np.ndarray,
    test_labels: np.ndarray,
    within: bool,
    kwargs: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of predictions that are made and collected one classifier at a time."""
    curve, plane = np.empty(len(data)), np.empty((len(test), len(data)))
    for b, x in enumerate(data):
        models = [*fold_models(x, labels, folds, **kwargs)]
        own = [(labels[folds == f], predict(model, x[folds == f])) for f, model in models]
        curve[b] = 100 * balanced_accuracy_score(*map(np.concatenate, zip(*own)))
        for t, y in enumerate(test):
            said = [
                (labels[folds == f], predict(model, y[folds == f]))
                if within
                else (test_labels, predict(model, y))
                for f, model in models
            ]
            plane[t, b] = 100 * balanced_accuracy_score(*map(np.concatenate, zip(*said)))
    return curve, plane


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("scaling", ["separate", "training"])
@pytest.mark.parametrize("estimator", [LinearSvmSettings(), LDA, BAYES])
@pytest.mark.parametrize("shuffled", [False, True])
def test_scores_as_of_train_and_apply(within: bool, scaling: str, estimator: Any, shuffled: bool) -> None:
    """In the training phase shuffled labels are the truth; in another phase the true ones are."""
    train, labels, test, test_labels = recordings()
    folds = stratified_folds(labels, 3, 0)
    if shuffled:
        labels = permuted_labels(labels, 1, seed=0, names=("S01", "study"), folds=folds)[0]
    if within:
        test, test_labels = train, labels
    kwargs = settings(estimator, scaling)
    curve, plane = retrained_scores(train, labels, folds, test, test_labels, within=within, **kwargs)
    expected_curve, expected_plane = one_by_one(train, labels, folds, test, test_labels, within, kwargs)
    np.testing.assert_allclose(curve, expected_curve, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(plane), expected_plane, rtol=1e-12)
    if within:
        np.testing.assert_allclose(np.diag(np.asarray(plane)), curve, rtol=1e-12)
    alone, none = retrained_scores(train, labels, folds, None, labels, within=False, **kwargs)
    assert none is None
    np.testing.assert_array_equal(alone, curve)


@pytest.mark.parametrize("score", ["balanced-accuracy", "auc"])
@pytest.mark.parametrize("empty", [[0], [2], [0, 1, 2]])
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("estimator", [LDA, BAYES])
def test_bins_without_features_are_chance(estimator: Any, within: bool, empty: list[int], score: Any) -> None:
    train, labels, test, test_labels = recordings()
    folds = stratified_folds(labels, 3, 0)
    how = {"within": within, "score": score, **settings(estimator)}
    given = (labels, folds, train if within else test, labels if within else test_labels)
    expected_curve, expected_plane = retrained_scores(train, *given, **how)
    train = train.copy()
    train[empty] = 1.0
    curve, plane = retrained_scores(train, *given, **how)
    chance, expected_map = 0.5 if score == "auc" else 100 / 3, np.array(expected_plane)
    expected_curve[empty] = expected_map[:, empty] = chance
    np.testing.assert_allclose(curve, expected_curve, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(plane), expected_map, rtol=1e-12)
