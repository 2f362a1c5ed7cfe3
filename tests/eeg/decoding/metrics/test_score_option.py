"""Every score of every estimator equals scikit-learn's, cross-validated and applied."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import first_cases
from refusal import refusal
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from shortloop.eeg.decoding.apply import apply_held_out, rank_weights, refit_and_apply, stack_weights
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.estimators.lda import LdaSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.ridge import RidgeSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.generalize import retrained_scores
from shortloop.eeg.decoding.metrics.scores import chance_level, scores_of
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin
from shortloop.eeg.score_names import Score

FOLDS = 4
DECODING = DecodingSettings(folds=FOLDS, select_alpha=1.0, scaling="training")


def sklearn(path: str, **params: Any) -> SklearnSettings:
    return SklearnSettings(kind="sklearn", path=f"sklearn.{path}", params=params)


def of_sklearn(settings: SklearnSettings) -> Callable[[], BaseEstimator]:
    module, name = settings.path.rsplit(".", 1)
    made = getattr(importlib.import_module(module), name)
    seeded = {"random_state": 0} if "random_state" in made().get_params() else {}
    return lambda: made(**settings.params, **seeded)


class EachAgainstTheRest(BaseEstimator):
    """The MATLAB-like machines as separate classifiers of scikit-learn."""

    def fit(self, x: np.ndarray, labels: np.ndarray) -> EachAgainstTheRest:
        self.classes_ = np.unique(labels)
        self.machines = [SVC(kernel="linear", tol=1e-6).fit(x, labels == k) for k in self.classes_]
        return self

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        each = np.stack([machine.decision_function(x) for machine in self.machines], axis=1)
        return np.asarray(each[:, 1] if len(self.classes_) == 2 else each)

    def predict(self, x: np.ndarray) -> np.ndarray:
        decided = self.decision_function(x)
        return np.asarray(decided > 0 if decided.ndim == 1 else decided.argmax(axis=1)).astype(int)


OTHERS = [
    sklearn("naive_bayes.GaussianNB"),
    sklearn("tree.DecisionTreeClassifier", max_depth=2),  # decisions that tie
    sklearn("svm.SVC", C=2.0),
    sklearn("linear_model.LogisticRegression", C=0.1),
    sklearn("linear_model.LogisticRegression", C=0.1, solver="newton-cg"),
    sklearn("discriminant_analysis.LinearDiscriminantAnalysis"),
]
ESTIMATORS: list[tuple[EstimatorSettings, Callable[[], BaseEstimator]]] = [
    (
        LinearSvmSettings(C=(0.01,), tol=1e-9),
        lambda: LinearSVC(C=0.01, loss="hinge", tol=1e-9, max_iter=100_000, random_state=0),
    ),
    (MatlabSvmSettings(kernel_scale=1.0, tol=1e-6), EachAgainstTheRest),
    (RidgeSettings(alpha=3.0), lambda: RidgeClassifier(alpha=3.0)),
    (LdaSettings(shrinkage=0.2), lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2)),
    *((settings, of_sklearn(settings)) for settings in OTHERS),
]
NAMES = [getattr(settings, "path", type(settings).__name__).rpartition(".")[2] for settings, _ in ESTIMATORS]


def of_scikit_learn(model: Any, x: np.ndarray, labels: np.ndarray, score: Score) -> float:
    """What its scorers say: "balanced_accuracy", "accuracy", "roc_auc" or "roc_auc_ovr"."""
    if score != "auc":
        scorer = balanced_accuracy_score if score == "balanced-accuracy" else accuracy_score
        return float(100 * scorer(labels, model.predict(x)))
    two = len(model.classes_) == 2
    if hasattr(model, "predict_proba") and not (two and hasattr(model, "decision_function")):
        found = model.predict_proba(x)
        return float(roc_auc_score(labels, found[:, 1] if two else found, multi_class="ovr"))
    found = model.decision_function(x)
    if two:
        return float(roc_auc_score(labels, found))
    return float(np.mean([roc_auc_score(labels == k, found[:, k]) for k in range(found.shape[1])]))


def phases(n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features of two training bins and three test bins, classes of different size."""
    rng = np.random.default_rng([seed, n_classes])
    labels = rng.permutation(np.repeat(np.arange(n_classes), 8 + 4 * np.arange(n_classes)))
    test_labels = rng.permutation(np.repeat(np.arange(n_classes), 9 - np.arange(n_classes)))
    patterns = 0.7 * rng.standard_normal((n_classes, 12))
    train = rng.standard_normal((2, len(labels), 12)) + patterns[labels]
    test = rng.standard_normal((3, len(test_labels), 12)) + 0.7 * patterns[test_labels]
    return train, labels, test, test_labels


def the_long_way(
    make: Callable[[], BaseEstimator], train: np.ndarray, labels: np.ndarray, folds: np.ndarray
) -> list[list[tuple[np.ndarray, StandardScaler, Any]]]:
    """Models of every bin and fold, with their held-out trials and scalers."""
    models: list[list[tuple[np.ndarray, StandardScaler, Any]]] = []
    for x in train:
        models.append([])
        for fold in range(FOLDS):
            scaler = StandardScaler().fit(x[folds != fold])
            fitted = make().fit(scaler.transform(x[folds != fold]), labels[folds != fold])
            models[-1].append((folds == fold, scaler, fitted))
    return models


@first_cases(1, "n_classes", [3, 2])
@pytest.mark.parametrize(("settings", "make"), ESTIMATORS, ids=NAMES)
def test_all_areas(settings: EstimatorSettings, make: Callable[[], BaseEstimator], n_classes: int) -> None:
    """The mean over folds, as cross_val_score and then mean have it."""
    train, labels, test, test_labels = phases(n_classes)
    folds = stratified_folds(labels, FOLDS, 0)
    models = the_long_way(make, train, labels, folds)

    def mean_of(bin_models: list[Any], x: np.ndarray, truth: np.ndarray, held_out: bool) -> float:
        each = []
        for rows, scaler, model in bin_models:
            some = rows if held_out else np.ones(len(truth), dtype=bool)
            each.append(of_scikit_learn(model, scaler.transform(x[some]), truth[some], "auc"))
        return float(np.mean(each))

    known: dict[str, Any] = {"n_classes": n_classes, "decoding": DECODING, "estimator": settings}
    for within, decoded, truth in ((False, test, test_labels), (True, train, labels)):
        curve, plane = retrained_scores(
            train, labels, folds, decoded, truth, within=within, score="auc", **known
        )
        assert plane is not None
        wanted = [mean_of(models[b], train[b], labels, True) for b in range(2)]
        np.testing.assert_allclose(curve, wanted, atol=1e-9)
        for t, b in np.ndindex(plane.shape):
            assert plane[t, b] == pytest.approx(mean_of(models[b], decoded[t], truth, within), abs=1e-9)


@pytest.mark.parametrize("scaling", ["separate", "training"])
@pytest.mark.parametrize(
    "settings",
    [LinearSvmSettings(), MatlabSvmSettings(C=0.01), LdaSettings(), RidgeSettings(), OTHERS[0]],
    ids=lambda settings: settings.kind,
)
def test_kept_ranks_give_what_training_again_gives(settings: EstimatorSettings, scaling: Any) -> None:
    """As the stages keep them, one test bin after the other, where selection leaves some folds nothing."""
    rng = np.random.default_rng(4)
    labels = np.tile([0, 1, 2], 12)
    train = rng.standard_normal((2, 36, 5))
    train[1] += np.eye(3, 5)[labels]
    test = rng.standard_normal((2, 21, 5))
    folds = stratified_folds(labels, FOLDS, 0)
    decoding = DecodingSettings(folds=FOLDS, select_alpha=0.1, scaling=scaling)
    known: dict[str, Any] = {"n_classes": 3, "decoding": decoding, "estimator": settings}
    models = [train_bin(x, labels, folds, decisions=True, **known) for x in train]
    assert 0 < models[0].kept.any(axis=1).sum() < FOLDS  # a fold has no model
    how: dict[str, Any] = {"scaling": scaling, "odds": settings.gives_odds}
    has_model = np.stack([m.kept.any(axis=1) for m in models])
    weights, intercepts = np.stack([m.weights for m in models]), np.stack([m.intercepts for m in models])
    truth = np.tile([0, 1, 2], 7)
    for within in (False, True):
        decoded, known_labels = (train, labels) if within else (test, truth)
        if weights.shape[2] == 0:
            refit = [
                refit_and_apply(x, labels, folds, decoded, within=within, ranked=True, **known) for x in train
            ]
            ranks = np.stack([each["ranks"] for each in refit], axis=1)
        elif within:
            ranks = np.stack(
                [apply_held_out(rank_weights, x, folds, weights, intercepts, has_model, **how) for x in train]
            )
        else:
            stacked = stack_weights(weights)
            ranks = np.stack([rank_weights(x, stacked, intercepts, has_model, **how) for x in test])
        found = scores_of("auc", ranks, known_labels[np.newaxis], folds if within else None)[0]
        again = retrained_scores(train, labels, folds, decoded, truth, within=within, score="auc", **known)
        np.testing.assert_array_equal(found, again[1])


def test_votes_do_not_depend_on_whether_decisions_are_kept() -> None:
    train, labels, _, _ = phases(3)
    folds = stratified_folds(labels, FOLDS, 0)
    known: dict[str, Any] = {"n_classes": 3, "decoding": DECODING}
    for settings, _ in ESTIMATORS[:6]:
        with_them = train_bin(train[0], labels, folds, decisions=True, estimator=settings, **known)
        without = train_bin(train[0], labels, folds, estimator=settings, **known)
        np.testing.assert_array_equal(with_them.predicted, without.predicted)
        np.testing.assert_array_equal(with_them.weights, without.weights)
        if not isinstance(settings, SklearnSettings):
            np.testing.assert_array_equal(with_them.decisions.argmax(axis=1), with_them.predicted)


def test_chance_levels_and_odds_of_a_softmax() -> None:
    equal, different = np.tile([0, 1, 2], 5), np.array([0, 0, 0, 1, 2])
    assert chance_level("balanced-accuracy", different, 3) == pytest.approx(100 / 3)
    assert chance_level("auc", different, 3) == 0.5
    assert chance_level("accuracy", equal, 3) == pytest.approx(100 / 3)
    assert chance_level("accuracy", different, 3) is None
    one_versus_rest = sklearn("linear_model.LogisticRegression", solver="liblinear")
    softmax = sklearn("linear_model.LogisticRegression")
    found = [each.gives_odds for each in (one_versus_rest, softmax, LdaSettings(), LinearSvmSettings())]
    assert found == [False, True, True, False]


def test_estimators_without_decisions_are_named_at_the_door() -> None:
    for settings, _ in ESTIMATORS:
        settings.check_decisions(3)
    pairs = sklearn("svm.SVC", decision_function_shape="ovo")
    pairs.check_decisions(2)
    with refusal("each pair of classes", field="estimator.params.decision_function_shape"):
        pairs.check_decisions(3)
    with refusal(
        "decision_function or predict_proba", "balanced-accuracy", found="sklearn.neighbors.NearestCentroid"
    ):
        sklearn("neighbors.NearestCentroid", metric="manhattan").check_decisions(3)
