"""Scores are scikit-learn's, areas too; re-tallied permutations are predictions made again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import bootstrap, rankdata
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, roc_auc_score

from shortloop.eeg.decoding.apply import apply_weights, stack_weights
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.metrics import intervals
from shortloop.eeg.decoding.metrics.auc import auc_scores, decision_ranks, log_odds, rank_rows, rank_type
from shortloop.eeg.decoding.metrics.intervals import bootstrap_interval, drawn_again, scores_of_drawn
from shortloop.eeg.decoding.metrics.scores import (
    accuracy_scores,
    confusions,
    cross_validated_votes,
    recall_scores,
    scores_of,
)
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import FoldModel, fold_models, train_bin


def one_hot(predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """One vote for each prediction (..., trials)."""
    return (predicted[..., np.newaxis] == np.arange(n_classes)).astype(np.uint8)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 6), trials=st.integers(1, 60))
def test_one_vote_a_trial(seed: int, n_classes: int, trials: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, (4, trials))  # some classes may be absent
    predicted = rng.integers(0, n_classes, (2, 3, trials))
    found = recall_scores(one_hot(predicted, n_classes), labels)
    assert found.shape == (4, 2, 3)
    for i, a, b in np.ndindex(4, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # predicted classes that are no true ones
            expected = 100 * balanced_accuracy_score(labels[i], predicted[a, b])
        assert found[i, a, b] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        shares = accuracy_scores(one_hot(predicted[a, b], n_classes), labels)
        assert shares[i] == pytest.approx(100 * accuracy_score(labels[i], predicted[a, b]))
    matrices = confusions(one_hot(predicted, n_classes), labels[0])
    for a, b in np.ndindex(2, 3):
        np.testing.assert_array_equal(
            matrices[a, b], confusion_matrix(labels[0], predicted[a, b], labels=np.arange(n_classes))
        )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 5), n_folds=st.integers(1, 10))
def test_many_votes_a_trial(seed: int, n_classes: int, n_folds: int) -> None:
    # Votes of several classifiers count as that many predicted trials.
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(1, 9, n_classes)))
    predicted = rng.integers(0, n_classes, (n_folds, len(labels)))
    predicted[rng.random(n_folds) < 0.2] = -1  # no model
    votes = one_hot(predicted, n_classes).sum(axis=0)
    truth, said = np.broadcast_to(labels, predicted.shape)[predicted >= 0], predicted[predicted >= 0]
    np.testing.assert_allclose(
        confusions(votes, labels, n_folds) * n_folds,
        confusion_matrix(truth, said, labels=np.arange(n_classes)) if len(truth) else 0,
        atol=1e-12,
    )
    if len(truth):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = 100 * balanced_accuracy_score(truth, said)
        assert recall_scores(votes, labels[np.newaxis])[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7])
def test_chance_is_chance(n_classes: int) -> None:
    # Published mistake 1: recalls summed over the classes, about 100 tested against 33.33.
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(n_classes), 300)
    votes = one_hot(rng.integers(0, n_classes, (50, len(labels))), n_classes)
    scores = recall_scores(votes, np.stack([rng.permutation(labels) for _ in range(20)]))
    assert scores.mean() == pytest.approx(100 / n_classes, abs=0.3)
    np.testing.assert_allclose(recall_scores(one_hot(labels, n_classes), labels[np.newaxis]), 100.0)
    wrong = recall_scores(one_hot((labels + 1) % n_classes, n_classes), labels[np.newaxis])
    np.testing.assert_allclose(wrong, 0.0)


def test_votes_are_counted_exactly_and_missing_ones_as_guessed() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2])
    votes = one_hot(labels, 3)
    votes[4:] = 0  # the trials of class 2 have no model
    votes[0] = [0, 1, 0]
    assert recall_scores(votes, labels[np.newaxis])[0] == pytest.approx((50 + 100 + 100 / 3) / 3)
    assert accuracy_scores(votes, labels[np.newaxis])[0] == pytest.approx(100 * (3 + 2 / 3) / 6)
    votes = np.array([[2, 0], [1, 0]])
    with pytest.raises(ValueError, match="different numbers of votes"):
        recall_scores(votes, np.array([[0, 1]]))
    # 255 votes on each of 3,000 trials: as many as the smallest type holds.
    labels = np.repeat([0, 1], 1500)
    votes = np.zeros((3000, 2), dtype=np.uint8)
    votes[:, 0] = 255
    votes[0] = [254, 1]
    assert recall_scores(votes, labels[np.newaxis])[0] == 50 * (1 - 1 / (255 * 1500))


def fitted_study(n_test: int = 50) -> tuple[list[list[FoldModel]], np.ndarray, np.ndarray, np.ndarray]:
    """Models of 3 bins × 5 folds, a test phase of 4 bins, its labels and the votes on it."""
    rng = np.random.default_rng(3)
    labels = np.tile([0, 1, 2], 15)
    test_labels = rng.permutation(np.resize([0, 1, 2], n_test))
    patterns = 0.5 * rng.standard_normal((3, 12))
    train = rng.standard_normal((3, 45, 12)) + patterns[labels]
    test = rng.standard_normal((4, n_test, 12)) + patterns[test_labels]
    folds = stratified_folds(labels, 5, 0)
    kwargs: dict[str, Any] = {
        "n_classes": 3,
        "decoding": DecodingSettings(folds=5, select_alpha=0.5),
        "estimator": LinearSvmSettings(),
    }
    models = [[model for _, model in fold_models(x, labels, folds, **kwargs)] for x in train]
    trained = [train_bin(x, labels, folds, **kwargs) for x in train]
    stacked = stack_weights(np.stack([m.weights for m in trained]))
    intercepts = np.stack([m.intercepts for m in trained])
    has_model = np.stack([m.kept.any(axis=1) for m in trained])
    votes = np.stack([apply_weights(x, stacked, intercepts, has_model, scaling="training") for x in test])
    return models, test, test_labels, votes


def test_retallied_permutations_are_predictions_made_again() -> None:
    models, test, labels, votes = fitted_study()
    shuffled = permuted_labels(labels, 25, seed=4, names=("S01", "test"))
    retallied = recall_scores(votes, shuffled)
    again = np.empty_like(retallied)
    for i, truth in enumerate(shuffled):
        for t, b in np.ndindex(len(test), len(models)):
            said = np.concatenate([model.fitted.predict(model.scale(test[t])) for model in models[b]])
            matrix = confusion_matrix(np.tile(truth, len(models[b])), said, labels=[0, 1, 2])
            recalls = np.zeros(1)
            for k in range(3):
                recalls = recalls + matrix[k, k] / matrix[k].sum()
            again[i, t, b] = 100 * (recalls[0] / 3)
    np.testing.assert_array_equal(retallied, again)
    # Published mistake 2: one array stored again and again, so that all permutations show the last one's map.
    assert len({each.tobytes() for each in retallied}) == len(shuffled)
    # Asked for one at a time, or in other company, a permutation's map is the same.
    for i in (0, 7, 24):
        np.testing.assert_array_equal(recall_scores(votes, shuffled[i : i + 1])[0], retallied[i])
    np.testing.assert_array_equal(recall_scores(votes, shuffled[::-1]), retallied[::-1])


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


def test_summed_ranks_are_means_of_areas_also_beyond_single_precision() -> None:
    # Decisions of different classifiers are on scales of their own; their ranks can be added.
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.repeat([0, 1, 2], [9, 5, 8]))
    decisions = rng.standard_normal((10, 22, 3)) * np.geomspace(1, 1e6, 10)[:, np.newaxis, np.newaxis]
    shuffled = np.stack([labels, rng.permutation(labels)])
    found = auc_scores(decision_ranks(decisions).sum(axis=0, dtype=rank_type(22, 10)), shuffled)
    each = [[expected(d, truth) for d in decisions] for truth in shuffled]
    np.testing.assert_allclose(found, np.mean(each, axis=1), rtol=1e-12)
    rng = np.random.default_rng(3)
    labels = rng.permutation(np.tile([0, 1], 1500))
    decisions = rng.standard_normal((3000, 2))
    ranks = 10 * decision_ranks(decisions).astype(rank_type(3000, 10))
    assert auc_scores(ranks, labels[np.newaxis])[0] == areas(decisions, labels[np.newaxis])[0]


def test_areas_of_folds_and_of_what_is_missing() -> None:
    """Folds without a model count as guessed; classifiers without decisions, and folds of a class, do not."""
    # Each fold has an offset of its own, as decisions of different classifiers have.
    rng = np.random.default_rng(1)
    labels, folds = np.tile([0, 1], 20), np.repeat(np.arange(4), 10)
    decisions = rng.standard_normal((40, 2)) + 100 * folds[:, np.newaxis] * np.array([0, 1])
    found = areas(decisions, labels[np.newaxis], folds)[0]
    each = [expected(decisions[folds == f], labels[folds == f]) for f in range(4)]
    assert found == pytest.approx(np.mean(each))
    labels, folds = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    decisions = np.array([[0.0, 1], [1, 0], [np.nan, np.nan], [np.nan, np.nan]])
    assert areas(decisions, labels[np.newaxis], folds)[0] == 0.25
    assert areas(np.full((4, 2), np.nan), labels[np.newaxis], folds)[0] == 0.5
    rng = np.random.default_rng(4)
    labels, decisions = np.tile([0, 1, 2], 6), rng.standard_normal((2, 18, 3))
    both = decision_ranks(np.stack([decisions, np.full((2, 18, 3), np.nan)])).sum(axis=0)
    np.testing.assert_array_equal(auc_scores(both, labels[np.newaxis]), areas(decisions, labels[np.newaxis]))
    labels, folds = np.array([0, 1, 0, 0]), np.array([0, 0, 1, 1])
    decisions = np.array([[0.0, 1], [1, 0], [0, 1], [0, 2]])
    assert areas(decisions, labels[np.newaxis], folds)[0] == 0.0
    assert areas(decisions, np.zeros((1, 4), dtype=int), folds)[0] == 0.5
    # Class 2 is not held out here: the mean is over the other two.
    three = np.array([[3.0, 0, 9], [2, 5, 9], [0, 4, 9], [1, 3, 9]])
    assert areas(three, np.array([[0, 0, 1, 1]]))[0] == pytest.approx((1.0 + 0.5) / 2)


LABELS = np.repeat([0, 1, 2], [14, 10, 8])
FOLDS = np.arange(32) % 2


def predictions(seed: int = 0, cells: int = 3) -> tuple[Any, Any]:
    """Predicted classes, and decisions, both with some information."""
    decisions = np.random.default_rng(seed).standard_normal((cells, 32, 3)) + 1.0 * np.eye(3)[LABELS]
    return decisions.argmax(axis=2), decisions


def evidence(score: Any, groups: Any = None) -> Any:
    predicted, decisions = predictions()
    return decision_ranks(decisions, groups) if score == "auc" else cross_validated_votes(predicted, 3)


@pytest.mark.parametrize("groups", [None, FOLDS], ids=["all", "folds"])
@pytest.mark.parametrize("score", ["balanced-accuracy", "accuracy", "auc"])
def test_each_trial_once_gives_the_score_itself(score: Any, groups: Any) -> None:
    given = evidence(score, groups)
    if score != "auc":
        given[:, :5] = 0  # trials without votes, which count as guessed
    once = scores_of_drawn(score, given, LABELS, np.ones((2, 32)), groups)
    expected = scores_of(score, given, LABELS[None], groups)
    np.testing.assert_allclose(once, np.repeat(expected, 2, axis=0), rtol=1e-12)


def test_samples_are_scored_as_scikit_learn_does() -> None:
    predicted, decisions = predictions()
    times = drawn_again(LABELS, None, 4, np.random.default_rng(2))
    found = scores_of_drawn("balanced-accuracy", evidence("accuracy"), LABELS, times)
    areas = scores_of_drawn("auc", evidence("auc"), LABELS, times)
    for sample, weights in enumerate(times):
        for cell in range(3):
            expected = 100 * balanced_accuracy_score(LABELS, predicted[cell], sample_weight=weights)
            assert found[sample, cell] == pytest.approx(expected)
            of_classes = [
                roc_auc_score(k == LABELS, decisions[cell, :, k], sample_weight=weights) for k in range(3)
            ]
            assert areas[sample, cell] == pytest.approx(np.mean(of_classes))
    rng = np.random.default_rng(1)
    labels, decisions = np.repeat([0, 1], 9), rng.standard_normal((1, 18, 2))
    times = drawn_again(labels, None, 3, rng)
    found = scores_of_drawn("auc", decision_ranks(decisions), labels, times)
    for weights, area in zip(times, found[:, 0], strict=True):
        difference = decisions[0, :, 1] - decisions[0, :, 0]
        assert area == pytest.approx(roc_auc_score(labels, difference, sample_weight=weights))


@pytest.mark.parametrize("score", ["balanced-accuracy", "auc"])
def test_cells_have_the_same_interval_in_any_memory(score: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interval() -> Any:
        rng = np.random.default_rng(4)
        return bootstrap_interval(score, evidence(score), LABELS, draws=200, level=0.9, rng=rng)

    whole = interval()
    monkeypatch.setattr(intervals, "AT_ONCE", 1)
    np.testing.assert_allclose(interval(), whole, rtol=1e-12)


def test_as_many_are_drawn_of_each_class_and_group_each_trial_as_likely() -> None:
    times = drawn_again(LABELS, FOLDS, 50, np.random.default_rng(0))
    for label in range(3):
        for fold in range(2):
            member = (label == LABELS) & (fold == FOLDS)
            assert set(times[:, member].sum(axis=1)) == {np.count_nonzero(member)}
    assert len(np.unique(times, axis=0)) > 40
    # Counts of a class of n trials are multinomial: mean 1, variance 1 − 1/n, covariance −1/n.
    times = drawn_again(LABELS, None, 40_000, np.random.default_rng(6))[:, LABELS == 2]
    np.testing.assert_allclose(np.cov(times.T), np.eye(8) - 1 / 8, atol=0.03)
    np.testing.assert_allclose(times.mean(axis=0), 1, atol=0.02)


def test_the_interval_is_that_of_scipy() -> None:
    rng = np.random.default_rng(3)
    labels, right = np.zeros(60, dtype=int), rng.random(60) < 0.7
    votes = np.stack([right, ~right], axis=1)[None].astype(np.uint8)
    low, high = bootstrap_interval("accuracy", votes, labels, draws=20000, level=0.95, rng=rng)
    of_scipy = bootstrap(
        (right.astype(float),), np.mean, n_resamples=20000, method="percentile", random_state=1
    ).confidence_interval  # fmt: skip
    assert low[0] == pytest.approx(100 * of_scipy.low, abs=1.7)  # trials are whole: a step is 1.7
    assert high[0] == pytest.approx(100 * of_scipy.high, abs=1.7)
