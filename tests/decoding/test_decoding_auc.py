"""Areas under the ROC curve equal scikit-learn's, one labelling at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from shortloop.decoding.auc import auc_scores


def expected(decisions: np.ndarray, labels: np.ndarray) -> float:
    """scikit-learn's mean of one-versus-rest areas over the classes that can be told from the rest."""
    n_classes = decisions.shape[1]
    if n_classes == 2:
        return float(100 * roc_auc_score(labels, decisions[:, 1] - decisions[:, 0]))
    return float(100 * np.mean([roc_auc_score(labels == k, decisions[:, k]) for k in range(n_classes)]))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 5), tied=st.booleans())
def test_equal_to_scikit_learn(seed: int, n_classes: int, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(1, 9, n_classes)))
    decisions = rng.standard_normal((2, 3, len(labels), n_classes))
    if tied:
        decisions = np.round(decisions)
    shuffled = np.stack([labels, *(rng.permutation(labels) for _ in range(4))])
    found = auc_scores(decisions, shuffled)
    assert found.shape == (5, 2, 3)
    for i, a, b in np.ndindex(found.shape):
        assert found[i, a, b] == pytest.approx(expected(decisions[a, b], shuffled[i]), abs=1e-10)


def test_folds_are_scored_apart_and_averaged() -> None:
    # Each fold has an offset of its own, as decisions of different classifiers have.
    rng = np.random.default_rng(1)
    labels, folds = np.tile([0, 1], 20), np.repeat(np.arange(4), 10)
    decisions = rng.standard_normal((40, 2)) + 100 * folds[:, np.newaxis] * np.array([0, 1])
    found = auc_scores(decisions, labels[np.newaxis], folds)[0]
    each = [expected(decisions[folds == f], labels[folds == f]) for f in range(4)]
    assert found == pytest.approx(np.mean(each))


def test_perfect_reversed_and_constant_decisions() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2])
    perfect = np.eye(3)[labels]
    found = auc_scores(np.stack([perfect, -perfect, np.zeros((6, 3))]), labels[np.newaxis])[0]
    np.testing.assert_allclose(found, [100, 0, 50])


def test_folds_without_a_model_or_of_one_class_do_not_count() -> None:
    labels, folds = np.array([0, 1, 0, 1, 0, 0]), np.array([0, 0, 1, 1, 2, 2])
    decisions = np.array([[0.0, 1], [1, 0], [np.nan, np.nan], [np.nan, np.nan], [0, 1], [0, 2]])
    assert auc_scores(decisions, labels[np.newaxis], folds)[0] == 0.0
    nothing = np.full((6, 2), np.nan)
    assert auc_scores(nothing, labels[np.newaxis], folds)[0] == 50.0


def test_shuffled_labels_score_about_chance_and_do_not_depend_on_company() -> None:
    rng = np.random.default_rng(2)
    labels = np.tile([0, 1, 2], 30)
    decisions = rng.standard_normal((5, 90, 3)) + 2 * np.eye(3)[labels]
    shuffled = np.stack([rng.permutation(labels) for _ in range(300)])
    found = auc_scores(decisions, shuffled)
    assert abs(found.mean() - 50) < 1
    np.testing.assert_array_equal(auc_scores(decisions, shuffled[7:8])[0], found[7])
