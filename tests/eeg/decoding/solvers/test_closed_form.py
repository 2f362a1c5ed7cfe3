"""LDA and ridge regression in closed form are scikit-learn's, for one label vector and for many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refusal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier

from shortloop.eeg.decoding.solvers.lda import lda_weights
from shortloop.eeg.decoding.solvers.ridge import ridge_weights

EXACT = 1e-10


def labellings(rng: np.random.Generator, n_trials: int, n_classes: int, count: int) -> np.ndarray:
    """Classes of random sizes, none empty, another split in each labelling."""
    twice = np.repeat(np.arange(n_classes), 2)
    return np.stack(
        [
            rng.permutation(np.r_[twice, rng.integers(0, n_classes, n_trials - len(twice))])
            for _ in range(count)
        ]
    ).astype(np.int8)


def condition(x: np.ndarray, labels: np.ndarray, n_classes: int, shrinkage: float) -> float:
    """Largest eigenvalue of the total covariance by the smallest of the shrunk one within classes: no
    decisions from these covariances are better than this times machine precision."""
    within = sum((labels == k).mean() * np.cov(x[labels == k].T, bias=True) for k in range(n_classes))
    values = np.linalg.eigvalsh(np.atleast_2d(within))
    total = np.linalg.eigvalsh(np.atleast_2d(np.cov(x.T, bias=True)))
    shift = shrinkage * values.mean()
    return float((total.max() + shift) / ((1 - shrinkage) * max(values.min(), 0) + shift))


def decisions(
    x: np.ndarray, labels: np.ndarray, test: np.ndarray, n_classes: int, shrinkage: float
) -> list[np.ndarray]:
    """As of scikit-learn's ``decision_function``, transposed, under each labelling."""
    found = [w @ test.T + b[:, np.newaxis] for w, b in zip(*lda_weights(x, labels, n_classes, shrinkage))]
    return [each[1] - each[0] if n_classes == 2 else each for each in found]


def check(x: np.ndarray, labels: np.ndarray, test: np.ndarray, n_classes: int, shrinkage: float) -> None:
    for found, each in zip(decisions(x, labels, test, n_classes, shrinkage), labels, strict=True):
        theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(x, each)
        expected = theirs.decision_function(test).T
        exact = max(EXACT, 50 * np.finfo(float).eps * condition(x, each, n_classes, shrinkage))
        np.testing.assert_allclose(found, expected, rtol=0, atol=exact * np.abs(expected).max())
        assert exact < 1e-7 or shrinkage < 1e-3


@pytest.mark.parametrize("shrinkage", [1e-6, 1e-3, 0.1, 0.9, 1.0])
@pytest.mark.parametrize(("n_trials", "n_features"), [(150, 10), (60, 60), (60, 61), (30, 150)])
@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow), 5])
def test_decisions(n_classes: int, n_trials: int, n_features: int, shrinkage: float) -> None:
    rng = np.random.default_rng(n_features)
    x = rng.standard_normal((n_trials, n_features)) @ rng.standard_normal((n_features, n_features))
    x /= np.sqrt(n_features)
    labels = labellings(rng, n_trials, n_classes, 4)
    x += (rng.standard_normal((n_classes, n_features)) / 2)[labels[0]]
    check(x, labels, rng.standard_normal((17, n_features)), n_classes, shrinkage)


@pytest.mark.parametrize("shrinkage", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("n_features", [5, 70])
@pytest.mark.filterwarnings("ignore:Only one sample")
@pytest.mark.parametrize("nasty", ["repeated", "shifted", "constant", "unequal", "separate", "lone"])
def test_nasty_trials(nasty: str, n_features: int, n_classes: int, shrinkage: float) -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((40, n_features))
    labels = labellings(rng, 40, n_classes, 3)
    if nasty == "repeated":
        x[20:] = x[:20]
    elif nasty == "shifted":
        x += 4.0
    elif nasty == "constant":
        x[:, ::2] = 0.0
    elif nasty == "unequal":
        x *= np.geomspace(0.1, 10, n_features)
    elif nasty == "separate":  # classes far apart under the first labelling only
        x[:, 0] += 50.0 * labels[0]
    else:  # one class of one trial
        labels[:] = np.arange(40) % (n_classes - 1)
        labels[[0, 1, 2], [5, 6, 7]] = n_classes - 1
    check(x, labels, rng.standard_normal((11, n_features)), n_classes, shrinkage)


@pytest.mark.parametrize("shrinkage", [1e-4, 0.1])
@pytest.mark.parametrize("n_features", [4, 60])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_so_far_apart_that_sums_cancel(n_classes: int, n_features: int, shrinkage: float) -> None:
    rng = np.random.default_rng(8)
    labels = labellings(rng, 40, n_classes, 3)
    x, test = rng.standard_normal((40, n_features)), rng.standard_normal((20, n_features))
    x[:, 0] += 10000.0 * labels[0]
    test[:, 0] += 10000.0 * rng.integers(0, n_classes, 20)
    for each, own in zip(labels, decisions(x, labels, test, n_classes, shrinkage)):
        theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(x, each)
        expected = theirs.decision_function(test).T
        exact = EXACT if n_features < 40 and n_classes == 2 else 1e-5
        np.testing.assert_allclose(own, expected, rtol=0, atol=exact * np.abs(expected).max())
        np.testing.assert_array_equal(own > 0 if n_classes == 2 else own.argmax(axis=0), theirs.predict(test))


@pytest.mark.parametrize("n_features", [3, 30])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_varies_within_classes(n_classes: int, n_features: int) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(18) % n_classes
    x = rng.standard_normal((n_classes, n_features))[truth]
    labels = np.stack([truth, rng.permutation(truth)])
    weights, intercepts = lda_weights(x, labels, n_classes, 0.1)
    assert (weights[0] == 0).all()
    np.testing.assert_allclose(intercepts[0], np.log(1 / n_classes), rtol=1e-12)
    assert np.isfinite(weights).all()
    assert (weights[1] != 0).any()
    weights, intercepts = lda_weights(np.ones_like(x), labels, n_classes, 0.1)
    assert (weights == 0).all()
    assert np.isfinite(intercepts).all()
    found = decisions(np.ones_like(x), labels, x, n_classes, 0.1)
    np.testing.assert_allclose(found, 0 if n_classes == 2 else np.log(1 / n_classes), atol=1e-12)


def test_one_labelling_among_many_is_as_alone() -> None:
    rng = np.random.default_rng(2)
    x, labels = rng.standard_normal((50, 9)), labellings(rng, 50, 3, 200)
    together = lda_weights(x, labels, 3, 0.2)
    for i in (0, 77, 199):
        for found, expected in zip(lda_weights(x, labels[i : i + 1], 3, 0.2), together):
            np.testing.assert_allclose(found[0], expected[i], rtol=1e-12, atol=1e-13)
    again = lda_weights(x, labels, 3, 0.2)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(together, again))


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3], [-1, 0, 1, 2]])
def test_classes_absent_or_unknown(labels: list[int]) -> None:
    with refusal("every class", field="labels"):
        lda_weights(np.eye(4), np.array([[0, 1, 2, 0], labels]), 3, 0.1)


def problem(seed: int, n_classes: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Unbalanced classes in random order; three labellings of them."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), rng.integers(2, 20, n_classes))
    labellings = np.stack([rng.permutation(labels) for _ in range(3)])
    return 3.0 + rng.standard_normal((len(labels), n_features)) * rng.uniform(0.1, 5, n_features), labellings


def of_ridge(x: np.ndarray, labels: np.ndarray, alpha: float, fresh: np.ndarray) -> np.ndarray:
    decided = RidgeClassifier(alpha=alpha, solver="svd").fit(x, labels).decision_function(fresh)
    return np.stack([-decided, decided], axis=1) if decided.ndim == 1 else decided


def check_ridge(x: np.ndarray, labellings: np.ndarray, alpha: float) -> None:
    n_classes = int(labellings.max()) + 1
    fresh = np.concatenate([x, 3.0 + np.random.default_rng(0).standard_normal((9, x.shape[1]))])
    weights, intercepts = ridge_weights(x, labellings, n_classes, alpha)
    for w, b, labels in zip(weights, intercepts, labellings):
        theirs = of_ridge(x, labels, alpha, fresh)
        np.testing.assert_allclose(fresh @ w.T + b, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    n_features=st.integers(1, 90),
    alpha=st.sampled_from([1e-2, 1.0, 1e4]),
)
def test_decisions_of_ridge(seed: int, n_classes: int, n_features: int, alpha: float) -> None:
    check_ridge(*problem(seed, n_classes, n_features), alpha)


@pytest.mark.parametrize("n_features", [6, 80])
def test_constant_and_repeated_features_and_trials_and_a_trial_alone(n_features: int) -> None:
    x, labellings = problem(1, 3, n_features)
    x[:, 0] = 7.0
    x[:, 1] = x[:, 2]
    check_ridge(np.concatenate([x, x]), np.concatenate([labellings, labellings], axis=1), 0.5)
    rng = np.random.default_rng(5)
    check_ridge(rng.standard_normal((31, 8)), np.repeat([0, 1], [30, 1])[np.newaxis], 1.0)
