"""Ridge regression on class labels is scikit-learn's RidgeClassifier, for one labelling and for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier

from shortloop.eeg.decoding.batched.closed_form import train_machines
from shortloop.eeg.decoding.batched.scores import Labellings
from shortloop.eeg.decoding.estimators.lda import LdaSettings
from shortloop.eeg.decoding.estimators.ridge import RidgeSettings
from shortloop.eeg.decoding.solvers.ridge import ridge_weights


def problem(seed: int, n_classes: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Unbalanced classes in random order; three labellings of them."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), rng.integers(2, 20, n_classes))
    labellings = np.stack([rng.permutation(labels) for _ in range(3)])
    return 3.0 + rng.standard_normal((len(labels), n_features)) * rng.uniform(0.1, 5, n_features), labellings


def expected(x: np.ndarray, labels: np.ndarray, alpha: float, fresh: np.ndarray) -> np.ndarray:
    decided = RidgeClassifier(alpha=alpha, solver="svd").fit(x, labels).decision_function(fresh)
    return np.stack([-decided, decided], axis=1) if decided.ndim == 1 else decided


def check(x: np.ndarray, labellings: np.ndarray, alpha: float) -> None:
    n_classes = int(labellings.max()) + 1
    fresh = np.concatenate([x, 3.0 + np.random.default_rng(0).standard_normal((9, x.shape[1]))])
    weights, intercepts = ridge_weights(x, labellings, n_classes, alpha)
    for w, b, labels in zip(weights, intercepts, labellings):
        theirs = expected(x, labels, alpha, fresh)
        np.testing.assert_allclose(fresh @ w.T + b, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    n_features=st.integers(1, 90),
    alpha=st.sampled_from([1e-2, 1.0, 1e4]),
)
def test_decisions(seed: int, n_classes: int, n_features: int, alpha: float) -> None:
    check(*problem(seed, n_classes, n_features), alpha)


@pytest.mark.parametrize("n_features", [6, 80])
def test_constant_and_repeated_features_and_trials(n_features: int) -> None:
    x, labellings = problem(1, 3, n_features)
    x[:, 0] = 7.0
    x[:, 1] = x[:, 2]
    check(np.concatenate([x, x]), np.concatenate([labellings, labellings], axis=1), 0.5)


def test_one_trial_in_a_class() -> None:
    rng = np.random.default_rng(5)
    check(rng.standard_normal((31, 8)), np.repeat([0, 1], [30, 1])[np.newaxis], 1.0)


def test_estimator_of_a_study() -> None:
    x, labellings = problem(2, 3, 12)
    settings = RidgeSettings(kind="ridge", alpha=4.0)
    fitted = settings.fit(x, labellings[0])
    assert settings.is_linear
    np.testing.assert_array_equal(
        fitted.predict(x), RidgeClassifier(alpha=4.0).fit(x, labellings[0]).predict(x)
    )


@pytest.mark.parametrize("n_features", [7, 120])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [RidgeSettings(kind="ridge", alpha=0.7), LdaSettings()])
def test_folds_of_many_labellings(estimator: Any, n_classes: int, n_features: int) -> None:
    """LDA has a machine for each class but the first, which tells it from the first."""
    is_lda = isinstance(estimator, LdaSettings)
    rng = np.random.default_rng(n_features)
    labels = np.stack([rng.permutation(np.arange(60) % n_classes) for _ in range(4)])
    x = (2.0 + rng.standard_normal((60, n_features))).astype(np.float32)
    folds = np.arange(60) // 20
    labellings = Labellings(labels, folds, n_classes, 3)
    for fold, machines in enumerate(train_machines(x, labellings, estimator)):
        train = folds != fold
        exact = x.astype(np.float64)
        scaled = (exact - exact[train].mean(axis=0)) / exact[train].std(axis=0)
        coordinates = machines.coordinates(x[np.newaxis], "training")
        for p, each in enumerate(labels):
            found = coordinates @ machines.weights[:, :, p]
            if is_lda:
                model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
                theirs = model.fit(scaled[train], each[train]).decision_function(scaled).reshape(60, -1)
                theirs = theirs if n_classes == 2 else theirs[:, 1:] - theirs[:, :1]
            else:
                theirs = expected(scaled[train], each[train], 0.7, scaled)[:, 1 if n_classes == 2 else 0 :]
            np.testing.assert_allclose(found, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
