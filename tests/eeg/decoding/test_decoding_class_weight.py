"""Class weights are those of scikit-learn, for every estimator that knows them, on every path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.class_weight import compute_class_weight

from shortloop.eeg.decoding.batched.scores import can_be_batched
from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.ridge import RidgeSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.generalize import retrained_scores
from shortloop.eeg.decoding.metrics.scores import cross_validated_votes, scores_of
from shortloop.eeg.decoding.models import Fitted
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.solvers.common import class_weights
from shortloop.eeg.decoding.train import train_bin

BALANCED = DecodingSettings(folds=4, class_weight="balanced")
LOGISTIC = SklearnSettings(kind="sklearn", path="sklearn.linear_model.LogisticRegression")
ALL = [LinearSvmSettings(), MatlabSvmSettings(), RidgeSettings(), LOGISTIC]


def uneven(seed: int, classes: int, features: int, most: int = 50) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = [most, *rng.integers(12, 20, classes - 1)]
    labels = rng.permutation(np.repeat(np.arange(classes), sizes))
    x = rng.standard_normal((len(labels), features))
    x[:, : classes * 2] += 0.7 * (labels[:, np.newaxis] == np.arange(classes * 2) % classes)
    return x, labels


def decisions(fitted: Fitted, x: np.ndarray) -> np.ndarray:
    assert fitted.weights is not None
    assert fitted.intercepts is not None
    found = np.asarray(x @ fitted.weights.T + fitted.intercepts)
    return found[:, 1] if found.shape[1] == 2 else found


@settings(max_examples=40, deadline=None)
@given(labels=st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_weights_are_those_of_scikit_learn(labels: list[int]) -> None:
    present = np.unique(labels)
    found = class_weights(np.array(labels), 4)
    np.testing.assert_allclose(found[present], compute_class_weight("balanced", classes=present, y=labels))
    assert (np.delete(found, present) == 0).all()


def hinge(C: float = 1.0) -> LinearSVC:
    return LinearSVC(C=C, loss="hinge", class_weight="balanced", tol=1e-9, max_iter=10**6)


PEERS: list[tuple[EstimatorSettings, Any, float]] = [
    *((LinearSvmSettings(C=(C,), tol=1e-9), hinge(C), 2e-5) for C in (1e-3, 0.1)),
    *((RidgeSettings(alpha=a), RidgeClassifier(a, class_weight="balanced"), 1e-8) for a in (1.0, 300.0)),
    (LOGISTIC, LogisticRegression(class_weight="balanced", random_state=0), 1e-9),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("estimator", "peer", "atol"), PEERS)
def test_decisions_are_those_of_scikit_learn(
    estimator: EstimatorSettings, peer: Any, atol: float, seed: int
) -> None:
    for classes in (2, 3):
        for features in (12, 130):
            x, labels = uneven(seed, classes, features)
            new = uneven(seed + 100, classes, features)[0]
            found = decisions(estimator.fit(x, labels, balanced=True), new)
            np.testing.assert_allclose(found, peer.fit(x, labels).decision_function(new), atol=atol)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_grid_of_the_linear_svm(classes: int) -> None:
    grid = (1e-4, 1e-3, 1e-2, 1e-1)
    chosen = set()
    for seed in range(4):
        x, labels = uneven(seed, classes, 60)
        search = GridSearchCV(hinge(), {"C": grid}, cv=StratifiedKFold(5)).fit(x, labels)
        found = LinearSvmSettings(C=grid, tol=1e-9).fit(x, labels, balanced=True)
        assert search.best_params_["C"] == found.C
        chosen.add(found.C)
    assert len(chosen) > 1


@pytest.mark.parametrize("seed", range(2))
def test_matlab_svm(seed: int) -> None:
    estimator = MatlabSvmSettings(kernel_scale=10.0, tol=1e-8)
    machine = SVC(C=1.0, kernel="linear", class_weight="balanced", tol=1e-8)
    for classes in (2, 3):
        x, labels = uneven(seed, classes, 40)
        new = uneven(seed + 100, classes, 40)[0]
        fitted = estimator.fit(x, labels, balanced=True)
        reference = OneVsRestClassifier(machine).fit(x / 10, labels).decision_function(new / 10)
        np.testing.assert_allclose(decisions(fitted, new), reference, atol=1e-5)


@pytest.mark.parametrize("estimator", ALL, ids=lambda each: each.kind)
def test_classes_of_one_size_are_not_changed(estimator: EstimatorSettings) -> None:
    classes = 2 if estimator.kind == "matlab-svm" else 3  # type: ignore[attr-defined]  # one against two others
    labels = np.arange(60) % classes
    x = np.random.default_rng(0).standard_normal((60, 25)) + labels[:, np.newaxis] * 0.3
    plain, balanced = estimator.fit(x, labels), estimator.fit(x, labels, balanced=True)
    np.testing.assert_allclose(balanced.weights, plain.weights, atol=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scaling", ["separate", "training"])
def test_all_folds_at_once_are_one_by_one(classes: int, scaling: Any) -> None:
    x, labels = uneven(3, classes, 80)
    folds = stratified_folds(labels, 4, 0)
    decoding = BALANCED.model_copy(update={"scaling": scaling})
    estimator = LinearSvmSettings(tol=1e-9)

    class OneByOne(LinearSvmSettings):
        def train_folds(self, *arguments: Any, **given_: Any) -> None:
            return None

    together = train_bin(x, labels, folds, n_classes=classes, decoding=decoding, estimator=estimator)
    single = train_bin(x, labels, folds, n_classes=classes, decoding=decoding, estimator=OneByOne(tol=1e-9))
    np.testing.assert_array_equal(together.C, single.C)
    np.testing.assert_array_equal(together.predicted, single.predicted)
    np.testing.assert_allclose(together.weights, single.weights, atol=1e-6)
    plain = DecodingSettings(folds=4, scaling=scaling)
    unlike = train_bin(x, labels, folds, n_classes=classes, decoding=plain, estimator=estimator)
    assert (unlike.predicted != together.predicted).any()


@pytest.mark.parametrize("estimator", [LinearSvmSettings(), RidgeSettings()], ids=["svm", "ridge"])
def test_many_labellings_are_trained_one_by_one(estimator: EstimatorSettings) -> None:
    every = DecodingSettings(folds=4, select_alpha=1.0)
    assert can_be_batched(estimator, every)
    decoding = every.model_copy(update={"class_weight": "balanced"})
    assert not can_be_batched(estimator, decoding)
    x, labels = uneven(5, 2, 15)
    folds = stratified_folds(labels, 4, 0)
    how: dict[str, Any] = {"n_classes": 2, "decoding": decoding, "estimator": estimator}
    curve, _ = retrained_scores(x[np.newaxis], labels, folds, None, None, within=True, **how)
    models = train_bin(x, labels, folds, **how)
    votes = cross_validated_votes(models.predicted[np.newaxis], 2)
    np.testing.assert_array_equal(curve, scores_of("balanced-accuracy", votes, labels[np.newaxis], folds)[0])


def test_an_effect_that_five_to_one_hides() -> None:
    """With the default score, selection and estimator, most trials are called the larger class."""
    found: dict[str, list[float]] = {"plain": [], "balanced": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        labels = np.repeat([0, 1], [100, 20])
        x = rng.standard_normal((120, 100))
        x[labels == 1, :10] += 0.56
        folds = stratified_folds(labels, 10, seed)
        for name, weight in (("plain", None), ("balanced", "balanced")):
            decoding = DecodingSettings.model_validate({"class_weight": weight})
            models = train_bin(
                x, labels, folds, n_classes=2, decoding=decoding, estimator=LinearSvmSettings()
            )
            votes = cross_validated_votes(models.predicted[np.newaxis], 2)
            found[name].append(float(scores_of("balanced-accuracy", votes, labels[np.newaxis], folds)[0, 0]))
    assert np.mean(found["plain"]) < 62
    assert np.mean(found["balanced"]) > 65
