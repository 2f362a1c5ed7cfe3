"""Areas under the ROC curve equal scikit-learn's, one labelling at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from shortloop.eeg.decoding.metrics.auc import auc_scores, decision_ranks, log_odds, rank_rows, rank_type


def expected(decisions: np.ndarray, labels: np.ndarray) -> float:
    """scikit-learn's area, or its mean of one-versus-rest areas."""
    n_classes = decisions.shape[1]
    if n_classes == 2:
        return float(roc_auc_score(labels, decisions[:, 1] - decisions[:, 0]))
    return float(np.mean([roc_auc_score(labels == k, decisions[:, k]) for k in range(n_classes)]))


def areas(decisions: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    return auc_scores(decision_ranks(decisions, groups), labels, groups)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 5), tied=st.booleans())
def test_equal_to_scikit_learn(seed: int, n_classes: int, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(1, 9, n_classes)))
    decisions = rng.standard_normal((2, 1, len(labels), n_classes))
    if tied:
        decisions = np.round(decisions)
    shuffled = np.stack([labels, *(rng.permutation(labels) for _ in range(2))])
    found = areas(decisions, shuffled)
    assert found.shape == (3, 2, 1)
    for i, a, b in np.ndindex(found.shape):
        assert found[i, a, b] == pytest.approx(expected(decisions[a, b], shuffled[i]), abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_probabilities_are_scored_as_by_the_scorer_roc_auc_ovr(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    labels = rng.permutation(np.tile(np.arange(n_classes), 9))
    logarithms = rng.standard_normal((len(labels), n_classes)) + np.eye(n_classes)[labels]
    probabilities = softmax(logarithms, axis=1)
    given_scores = probabilities[:, 1] if n_classes == 2 else probabilities
    wanted = roc_auc_score(labels, given_scores, multi_class="ovr")
    for decisions in (probabilities, log_odds(logarithms.T).T):
        assert areas(decisions, labels[np.newaxis])[0] == pytest.approx(wanted, abs=1e-12)


def test_log_odds_are_those_of_a_softmax() -> None:
    logarithms = np.random.default_rng(0).standard_normal((4, 5, 7))
    probabilities = softmax(logarithms, axis=0)
    np.testing.assert_allclose(log_odds(logarithms), np.log(probabilities / (1 - probabilities)))
    # Where probabilities have become 1, odds still differ.
    assert (np.diff(log_odds(np.array([[900.0, 800, 700], [0, 0, 0], [1, 2, 3]]))[0]) < 0).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), levels=st.integers(1, 12), n=st.integers(1, 30))
def test_ranks_are_scipys(seed: int, levels: int, n: int) -> None:
    rows = np.random.default_rng(seed).integers(0, levels, (6, n)).astype(np.float64)
    np.testing.assert_array_equal(rank_rows(rows), 2 * rankdata(rows, axis=1))


def test_the_area_of_summed_ranks_is_the_mean_of_areas() -> None:
    # Decisions of different classifiers are on scales of their own; their ranks can be added.
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.repeat([0, 1, 2], [9, 5, 8]))
    decisions = rng.standard_normal((10, 22, 3)) * np.geomspace(1, 1e6, 10)[:, np.newaxis, np.newaxis]
    shuffled = np.stack([labels, rng.permutation(labels)])
    summed = decision_ranks(decisions).sum(axis=0, dtype=rank_type(22, 10))
    found = auc_scores(summed, shuffled)
    each = [[expected(d, truth) for d in decisions] for truth in shuffled]
    np.testing.assert_allclose(found, np.mean(each, axis=1), rtol=1e-12)


def test_folds_are_scored_apart_and_averaged() -> None:
    # Each fold has an offset of its own, as decisions of different classifiers have.
    rng = np.random.default_rng(1)
    labels, folds = np.tile([0, 1], 20), np.repeat(np.arange(4), 10)
    decisions = rng.standard_normal((40, 2)) + 100 * folds[:, np.newaxis] * np.array([0, 1])
    found = areas(decisions, labels[np.newaxis], folds)[0]
    each = [expected(decisions[folds == f], labels[folds == f]) for f in range(4)]
    assert found == pytest.approx(np.mean(each))


def test_a_fold_without_a_model_counts_as_guessed() -> None:
    labels, folds = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    decisions = np.array([[0.0, 1], [1, 0], [np.nan, np.nan], [np.nan, np.nan]])
    assert areas(decisions, labels[np.newaxis], folds)[0] == 0.25
    assert areas(np.full((4, 2), np.nan), labels[np.newaxis], folds)[0] == 0.5


def test_a_classifier_without_decisions_does_not_count_where_others_decide() -> None:
    rng = np.random.default_rng(4)
    labels, decisions = np.tile([0, 1, 2], 6), rng.standard_normal((2, 18, 3))
    both = decision_ranks(np.stack([decisions, np.full((2, 18, 3), np.nan)])).sum(axis=0)
    np.testing.assert_array_equal(auc_scores(both, labels[np.newaxis]), areas(decisions, labels[np.newaxis]))


def test_a_fold_of_one_class_does_not_count_and_a_class_that_is_absent_not_there() -> None:
    labels, folds = np.array([0, 1, 0, 0]), np.array([0, 0, 1, 1])
    decisions = np.array([[0.0, 1], [1, 0], [0, 1], [0, 2]])
    assert areas(decisions, labels[np.newaxis], folds)[0] == 0.0
    assert areas(decisions, np.zeros((1, 4), dtype=int), folds)[0] == 0.5
    # Class 2 is not held out here: the mean is over the other two.
    three = np.array([[3.0, 0, 9], [2, 5, 9], [0, 4, 9], [1, 3, 9]])
    assert areas(three, np.array([[0, 0, 1, 1]]))[0] == pytest.approx((1.0 + 0.5) / 2)


def test_sums_beyond_single_precision_are_exact() -> None:
    rng = np.random.default_rng(3)
    labels = rng.permutation(np.tile([0, 1], 1500))
    decisions = rng.standard_normal((3000, 2))
    ranks = 10 * decision_ranks(decisions).astype(rank_type(3000, 10))
    assert auc_scores(ranks, labels[np.newaxis])[0] == areas(decisions, labels[np.newaxis])[0]
