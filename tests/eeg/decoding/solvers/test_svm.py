"""Linear SVMs, alone and of many label vectors at once, are scikit-learn's LinearSVC."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from no_warnings import no_warnings
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.models import Fitted
from shortloop.eeg.decoding.solvers.svm import solve
from shortloop.eeg.decoding.solvers.svm_interior import LANES, solve_interior

TIGHT = 1e-10


def linear_svc(C: float = 1.0, tol: float = TIGHT) -> LinearSVC:
    return LinearSVC(loss="hinge", C=C, tol=tol, max_iter=2_000_000, random_state=0)


def by_sklearn(x: np.ndarray, labels: np.ndarray, C: float, tol: float = TIGHT) -> LinearSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        return linear_svc(C, tol).fit(x, labels)


def decisions(fitted: Fitted, x: np.ndarray) -> np.ndarray:
    assert fitted.weights is not None
    found: np.ndarray = x @ fitted.weights.T + np.asarray(fitted.intercepts)
    return found


def check_decisions(x: np.ndarray, labels: np.ndarray, C: float, fresh: np.ndarray | None = None) -> None:
    seen = x if fresh is None else np.vstack([x, fresh])
    found = decisions(LinearSvmSettings(C=(C,), tol=TIGHT).fit(x, labels), seen)
    expected = by_sklearn(x, labels, C).decision_function(seen)
    if expected.ndim == 1:
        expected = np.stack([-expected, expected], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def problem(
    seed: int, n_classes: int, n_features: int, effect: float = 0.5, sizes: tuple[int, int] = (6, 16)
) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Unbalanced classes in random order."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(*sizes, n_classes)))
    patterns = effect * rng.standard_normal((n_classes, n_features))
    return rng.standard_normal((len(labels), n_features)) + patterns[labels], labels, rng


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    n_features=st.integers(1, 150),
    C=st.sampled_from([1e-4, 1e-3, 1e-2]),
)
def test_decisions(seed: int, n_classes: int, n_features: int, C: float) -> None:
    x, labels, rng = problem(seed, n_classes, n_features)
    check_decisions(x, labels, C, rng.standard_normal((10, n_features)))


def test_more_trials_than_features_and_one_trial_in_a_class() -> None:
    x, labels, rng = problem(1, 3, 4, sizes=(40, 60))
    for C in (1e-4, 1e-2, 1.0):
        check_decisions(x, labels, C)
    for trials in ((1, 60), (60, 1)):
        check_decisions(rng.standard_normal((61, 20)), np.repeat([0, 1], trials), 0.01)


@pytest.mark.parametrize("odd", ["duplicated", "contradicting", "zero", "two"])
def test_odd_trials(odd: str) -> None:
    x, labels, _ = problem(2, 3, 30)
    if odd == "duplicated":
        x, labels = np.vstack([x, x, x[:7]]), np.r_[labels, labels, labels[:7]]
    elif odd == "contradicting":  # the same features under different labels cannot be told apart
        x, labels = np.vstack([x, x]), np.r_[labels, (labels + 1) % 3]
    elif odd == "zero":
        x[:] = 0
    else:
        x, labels = np.array([[1.0, 2.0], [-1.0, 0.5]]), np.array([1, 0])
    check_decisions(x, labels, 0.01)


GRIDS: list[tuple[float, ...]] = [(1e-4, 1e-3, 1e-2), (1e-2, 1e-4, 1e-3), (1e-3, 1e-2, 1e-3)]
GRIDS += [(0.03, 1e-3), (0.01,), (0.01, 1e-3, 1e-4, 1e-5)]


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    n_features=st.sampled_from([5, 20, 60]),
    effect=st.sampled_from([0.0, 0.4, 1.5]),
    grid=st.sampled_from(GRIDS),
)
def test_choose_c(seed: int, n_classes: int, n_features: int, effect: float, grid: tuple[float, ...]) -> None:
    x, labels, _ = problem(seed, n_classes, n_features, effect)
    # The inner folds are scikit-learn's own, so that only the choice is tested.
    search = GridSearchCV(linear_svc(), {"C": list(grid)}, cv=StratifiedKFold(5)).fit(x, labels)
    assert solve(x @ x.T + 1, labels, grid, 5, TIGHT).best == search.best_index_
    fitted = LinearSvmSettings(C=grid, tol=TIGHT).fit(x, labels)
    assert grid[search.best_index_] == fitted.C
    expected = search.decision_function(x)
    found = decisions(fitted, x)
    if n_classes == 2:
        np.testing.assert_array_equal(found[:, 0], -found[:, 1])
        found = found[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("grid", [(1e-3, 1e-2, 1e-1), (1e-1, 1e-2, 1e-3), (1e-2, 1e-3, 1e-1)])
def test_first_best_wins_a_tie(grid: tuple[float, ...]) -> None:
    labels = np.repeat([0, 1, 2], 10)
    x = 50.0 * np.eye(3)[labels]  # every C is right everywhere
    assert solve(x @ x.T + 1, labels, grid, 5, 1e-4).best == 0


def test_order_of_the_grid_changes_no_fit() -> None:
    x, labels, _ = problem(7, 3, 60, 0.4, (15, 20))
    grids = [(1e-4, 1e-3, 1e-2), (1e-2, 1e-3, 1e-4), (1e-3, 1e-4, 1e-2)]
    fits = [LinearSvmSettings(C=grid).fit(x, labels) for grid in grids]
    assert len({fitted.C for fitted in fits}) == 1, "choose another problem: this one has no single best C"
    for fitted in fits[1:]:
        np.testing.assert_array_equal(fitted.weights, fits[0].weights)


def test_stopping_short_is_said() -> None:
    rng = np.random.default_rng(8)
    labels = np.repeat([0, 1], 60)
    x = rng.standard_normal((120, 15))  # classes that cannot be told apart
    with pytest.warns(RuntimeWarning, match="not converged for C = 1000 "):
        LinearSvmSettings(C=(1000.0,)).fit(x, labels)
    with no_warnings():
        LinearSvmSettings().fit(x, labels)


@pytest.mark.parametrize("C", [1e-3, 0.1, 100.0])
def test_decisions_are_those_of_the_coefficients_with_trials_left_out(C: float) -> None:
    """The solver adds several steps to decisions at a time, and copies products of training trials only."""
    x, labels, rng = problem(5, 3, 8, sizes=(20, 40))
    gram, train = x @ x.T + 1.0, rng.random(len(labels)) < 0.7
    found = solve(gram, labels, (C / 10, C), 3, TIGHT, train=train)
    alone = solve(gram[np.ix_(train, train)], labels[train], (C / 10, C), 3, TIGHT)
    np.testing.assert_allclose(found.decision, found.dual @ gram, rtol=1e-9, atol=1e-9)
    assert found.best == alone.best
    assert not found.dual[:, ~train].any()
    np.testing.assert_allclose(found.decision[:, train], alone.decision, rtol=1e-6, atol=1e-6)


def problems(seed: int, n: int, r: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Trials with the intercept's feature, and sides of unequal size."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.standard_normal((n, r - 1)), np.ones((n, 1))], axis=1)
    sign = np.where(rng.random((n, count)) < rng.uniform(0.1, 0.9, count), 1.0, -1.0)
    sign[0], sign[1] = 1.0, -1.0
    return x, sign


def by_sklearn_of_interior(x: np.ndarray, sign: np.ndarray, C: float, tol: float = 1e-10) -> np.ndarray:
    """Weights of the problem, the intercept's among them."""
    machine = LinearSVC(loss="hinge", C=C, tol=tol, max_iter=5_000_000, random_state=0, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        weights: np.ndarray = machine.fit(x, sign).coef_[0]
        return weights


def check(x: np.ndarray, sign: np.ndarray, C: float) -> None:
    found = solve_interior(x, sign, C, 1e-9)
    for p in range(sign.shape[1]):
        expected = x @ by_sklearn_of_interior(x, sign[:, p], C)
        np.testing.assert_allclose(x @ found[:, p], expected, atol=1e-6 * max(1, np.abs(expected).max()))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 50),
    r=st.integers(1, 12),
    C=st.sampled_from([1e-6, 1e-3, 1e-2, 0.1]),
)
def test_decisions_of_interior(seed: int, n: int, r: int, C: float) -> None:
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
    assert (x @ solve_interior(x, np.abs(sign), 1.0, 1e-9) > 0.99).all()
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
