"""Linear SVMs of many label vectors at once are those of scikit-learn's LinearSVC, one by one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from shortloop.eeg.decoding.batched.scores import Labellings
from shortloop.eeg.decoding.batched.svm import train_machines
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.solvers.svm_interior import LANES, solve_interior


def problems(seed: int, n: int, r: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Trials with the intercept's feature, and sides of unequal size."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.standard_normal((n, r - 1)), np.ones((n, 1))], axis=1)
    sign = np.where(rng.random((n, count)) < rng.uniform(0.1, 0.9, count), 1.0, -1.0)
    sign[0], sign[1] = 1.0, -1.0
    return x, sign


def by_sklearn(x: np.ndarray, sign: np.ndarray, C: float, tol: float = 1e-10) -> np.ndarray:
    """Weights of the problem, the intercept's among them."""
    machine = LinearSVC(loss="hinge", C=C, tol=tol, max_iter=5_000_000, random_state=0, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        weights: np.ndarray = machine.fit(x, sign).coef_[0]
        return weights


def check(x: np.ndarray, sign: np.ndarray, C: float) -> None:
    found = solve_interior(x, sign, C, 1e-9)
    for p in range(sign.shape[1]):
        expected = x @ by_sklearn(x, sign[:, p], C)
        np.testing.assert_allclose(x @ found[:, p], expected, atol=1e-6 * max(1, np.abs(expected).max()))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 50),
    r=st.integers(1, 12),
    C=st.sampled_from([1e-6, 1e-3, 1e-2, 0.1]),
)
def test_decisions(seed: int, n: int, r: int, C: float) -> None:
    check(*problems(seed, n, r, 3), C)


@pytest.mark.parametrize(
    ("odd", "n", "r", "C"),
    [
        ("more features than trials", 12, 40, 1.0),
        ("large C of classes that overlap", 60, 6, 20.0),
        ("features of no help", 40, 6, 0.5),
        ("duplicated", 25, 5, 0.5),
        ("contradicting", 25, 5, 0.5),
        ("sizes", 40, 4, 0.02),
    ],
)
def test_odd_problems(odd: str, n: int, r: int, C: float) -> None:
    x, sign = problems(len(odd), n, r, 3)
    if odd == "features of no help":
        x[:, 0] = 0.0
        x[:, 1] = x[:, 2]
        x[:, 3] *= 1e-9
    elif odd in ("duplicated", "contradicting"):
        x, sign = np.concatenate([x, x]), np.concatenate([sign, sign if odd == "duplicated" else -sign])
    elif odd == "sizes":
        x[:, 0] *= 10.0
        x[:, 1] /= 100.0
    check(x, sign, C)


@pytest.mark.parametrize("C", [1e-3, 1.0])
def test_trials_that_are_left_out_do_nothing(C: float) -> None:
    x, sign = problems(6, 30, 4, 5)
    sign[[2, 7, 11]] = 0.0
    kept = np.flatnonzero(sign[:, 0])
    x[7] = 1e3
    alone = solve_interior(x[kept], sign[kept], C, 1e-9)
    np.testing.assert_allclose(solve_interior(x, sign, C, 1e-9), alone, rtol=1e-6, atol=1e-9)


def test_one_side_only() -> None:
    x, sign = problems(7, 30, 4, 2)
    weights = solve_interior(x, np.abs(sign), 1.0, 1e-9)
    assert (x @ weights > 0.99).all()
    np.testing.assert_array_equal(solve_interior(x, 0.0 * sign, 1.0, 1e-9), 0.0)


@pytest.mark.parametrize("r", [3, 8, 33])
def test_neighbours_change_no_bit(r: int) -> None:
    x, sign = problems(8, 70, r, LANES + 30)
    for C in (1e-2, 1.0):
        whole = solve_interior(x, sign, C, 1e-4)
        order = np.random.default_rng(0).permutation(sign.shape[1])
        np.testing.assert_array_equal(solve_interior(x, sign[:, order], C, 1e-4), whole[:, order])
        np.testing.assert_array_equal(solve_interior(x, sign[:, 5:9], C, 1e-4), whole[:, 5:9])


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_decisions_are_off_by_about_the_tolerance(tol: float) -> None:
    x, sign = problems(9, 120, 20, 100)
    exact = x @ solve_interior(x, sign, 0.5, 1e-9)
    error = np.abs(x @ solve_interior(x, sign, 0.5, tol) - exact)
    assert np.quantile(error, 0.9) < tol
    assert error.max() < 100 * tol


def test_default_tolerance_changes_few_predictions() -> None:
    differ, total = 0, 0
    for seed in range(10):
        x, sign = problems(seed, 150, 30, 12)
        fresh = np.random.default_rng(seed).standard_normal((400, 30))
        fresh[:, -1] = 1.0
        found = fresh @ solve_interior(x, sign, 0.01, 1e-4)
        for p in range(sign.shape[1]):
            expected = fresh @ by_sklearn(x, sign[:, p], 0.01, 1e-4)
            differ += int(((found[:, p] > 0) != (expected > 0)).sum())
            total += len(fresh)
    assert differ <= 0.002 * total, f"{differ} of {total}"


@pytest.mark.parametrize(("n_features", "C"), [(10, 1.0), (10, 1e-4), (60, 1e-2), (150, 1.0)])
def test_whichever_way_is_cheaper(n_features: int, C: float) -> None:
    # Few features, many, more than trials: decisions are the same machines'.
    rng = np.random.default_rng(n_features)
    labels = np.stack([rng.permutation(np.arange(100) % 2) for _ in range(3)])
    x = 5.0 + 3.0 * rng.standard_normal((100, n_features))
    folds = np.arange(100) // 50
    labellings = Labellings(labels, folds, 2, 2)
    estimator = LinearSvmSettings(C=(C,), tol=1e-9)
    for fold, machines in enumerate(train_machines(x, labellings, estimator)):
        train = folds != fold
        scaled = (x - x[train].mean(axis=0)) / x[train].std(axis=0)
        rows = np.concatenate([scaled, np.ones((100, 1))], axis=1)
        coordinates = machines.coordinates(x[np.newaxis], "training")
        for p, each in enumerate(labels):
            expected = rows @ by_sklearn(rows[train], np.where(each == 1, 1.0, -1.0)[train], C)
            found = coordinates @ machines.weights[:, 0, p]
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
