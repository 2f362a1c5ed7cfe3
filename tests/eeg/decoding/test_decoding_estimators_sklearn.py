"""Any scikit-learn classifier by its import path gives what scikit-learn gives."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from shortloop.base.errors import InputError
from shortloop.eeg.decoding.apply import refit_and_apply
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin, warm_up

LINEAR: list[tuple[str, dict[str, Any]]] = [
    ("sklearn.discriminant_analysis.LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": "auto"}),
    ("sklearn.discriminant_analysis.LinearDiscriminantAnalysis", {}),
    ("sklearn.linear_model.LogisticRegression", {"C": 0.1}),
    ("sklearn.linear_model.RidgeClassifier", {"alpha": 3.0}),
    ("sklearn.svm.LinearSVC", {"C": 0.01}),
    ("sklearn.linear_model.SGDClassifier", {}),
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("sklearn.naive_bayes.GaussianNB", {}),
    ("sklearn.svm.SVC", {"kernel": "rbf", "C": 2.0}),
    ("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 15}),
]


def settings(path: str, params: dict[str, Any]) -> SklearnSettings:
    return SklearnSettings(kind="sklearn", path=path, params=params)


def own(path: str, params: dict[str, Any]) -> BaseEstimator:
    """The estimator, made without the package under test."""
    module, name = path.rsplit(".", 1)
    estimator = getattr(importlib.import_module(module), name)(**params)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator


def problem(seed: int, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(12, 18, n_classes)))
    patterns = 0.6 * rng.standard_normal((n_classes, 20))
    return rng.standard_normal((len(labels), 20)) + patterns[labels], labels, rng.standard_normal((50, 20))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("path", "params"), LINEAR + OTHERS)
def test_predictions(path: str, params: dict[str, Any], n_classes: int) -> None:
    x, labels, fresh = problem(n_classes, n_classes)
    fitted = settings(path, params).fit(x, labels)
    expected = own(path, params).fit(x, labels)
    np.testing.assert_array_equal(fitted.predict(fresh), expected.predict(fresh))
    linear = (path, params) in LINEAR
    assert settings(path, params).is_linear is linear
    assert (fitted.weights is not None) is linear
    if linear:
        assert fitted.weights is not None
        assert fitted.intercepts is not None
        assert fitted.weights.shape == (n_classes, 20)
        found = fresh @ fitted.weights.T + fitted.intercepts
        decisions = expected.decision_function(fresh)
        np.testing.assert_allclose(found[:, 1] if n_classes == 2 else found, decisions, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize(("path", "params"), OTHERS)
def test_refit_and_apply(path: str, params: dict[str, Any], within: bool) -> None:
    x, labels, _ = problem(4, 3)
    folds = stratified_folds(labels, 3, 0)
    rng = np.random.default_rng(5)
    test = np.stack([x, x + rng.standard_normal(x.shape)]) if within else rng.standard_normal((2, 17, 20))
    decoding = DecodingSettings(folds=3, select_alpha=1.0, scaling="training")
    kwargs = {"n_classes": 3, "decoding": decoding, "estimator": settings(path, params)}
    votes = refit_and_apply(x, labels, folds, test, within=within, **kwargs)["votes"]  # type: ignore[arg-type]
    expected = np.zeros((2, test.shape[1], 3), dtype=int)
    for fold in range(3):
        scaler = StandardScaler().fit(x[folds != fold])
        machine = own(path, params).fit(scaler.transform(x[folds != fold]), labels[folds != fold])
        for test_bin in range(2):
            predicted = machine.predict(scaler.transform(test[test_bin]))
            for trial, k in enumerate(predicted):
                if not within or folds[trial] == fold:
                    expected[test_bin, trial, k] += 1
    np.testing.assert_array_equal(votes, expected)
    models = train_bin(x, labels, folds, **kwargs)  # type: ignore[arg-type]
    assert models.weights.shape == (3, 0, 0)
    if within:
        np.testing.assert_array_equal(votes[0].argmax(axis=1), models.predicted)


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 5}),
        ("sklearn.linear_model.SGDClassifier", {}),
        ("sklearn.neural_network.MLPClassifier", {"max_iter": 500}),
        ("sklearn.dummy.DummyClassifier", {"strategy": "uniform"}),
    ],
)
def test_random_estimators_repeat_themselves(path: str, params: dict[str, Any]) -> None:
    x, labels, fresh = problem(6, 3)
    first = settings(path, params).fit(x, labels).predict(fresh)
    np.random.default_rng().random()
    np.testing.assert_array_equal(settings(path, params).fit(x, labels).predict(fresh), first)
    other = settings(path, {**params, "random_state": 5}).fit(x, labels).predict(fresh)
    np.testing.assert_array_equal(
        other, settings(path, {**params, "random_state": 5}).fit(x, labels).predict(fresh)
    )
    assert (other != first).any()


WRONG = [
    ("sklearn.svm.NoSuchClassifier", {}, "estimator.path", "NoSuchClassifier"),
    ("sklearn.no_such_module.SVC", {}, "estimator.path", "no_such_module"),
    ("nosuchpackage.SVC", {}, "estimator.path", "nosuchpackage"),
    ("math.pi", {}, "estimator.path", "math.pi"),
    ("sklearn.svm.SVR", {}, "estimator.path", "sklearn.svm.SVR"),
    ("sklearn.linear_model.Ridge", {}, "estimator.path", "Ridge"),
    ("sklearn.cluster.KMeans", {}, "estimator.path", "KMeans"),
    ("sklearn.preprocessing.StandardScaler", {}, "estimator.path", "StandardScaler"),
    ("builtins.dict", {}, "estimator.path", "dict"),
    ("sklearn.pipeline.Pipeline", {}, "estimator.path", "Pipeline"),
    ("sklearn.svm.SVC", {"Cc": 1.0}, "estimator.params.Cc", "Cc"),
    ("sklearn.svm.SVC", {"C": -1.0}, "estimator.params", "C"),
    ("sklearn.svm.SVC", {"C": "large"}, "estimator.params", "large"),
    ("sklearn.svm.SVC", {"kernel": "circular"}, "estimator.params", "circular"),
    ("sklearn.linear_model.LogisticRegression", {"solver": "none"}, "estimator.params", "solver"),
]


@pytest.mark.parametrize(("path", "params", "field", "named"), WRONG)
def test_wrong_estimators_are_refused(path: str, params: dict[str, Any], field: str, named: str) -> None:
    for refuse in (SklearnSettings.make, warm_up, lambda settings: settings.is_linear):
        with pytest.raises(InputError) as caught:
            refuse(settings(path, params))
        assert caught.value.field == field
        assert named in str(caught.value)
        assert caught.value.hint


def test_parameters_that_exclude_each_other_are_explained() -> None:
    x, labels, _ = problem(7, 3)
    wrong = settings(
        "sklearn.discriminant_analysis.LinearDiscriminantAnalysis", {"solver": "svd", "shrinkage": "auto"}
    )
    with pytest.raises(InputError, match="shrinkage not supported") as caught:
        wrong.fit(x, labels)
    assert caught.value.field == "estimator"


@pytest.mark.parametrize("estimator", [LinearSvmSettings(), MatlabSvmSettings(), settings(*LINEAR[0])])
def test_right_estimators_pass(estimator: Any) -> None:
    warm_up(estimator)
    assert estimator.is_linear
