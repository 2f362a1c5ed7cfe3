"""Intervals of scores over trials: samples are scored as scikit-learn scores them, and intervals cover."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from shortloop.eeg.decoding.metrics import intervals
from shortloop.eeg.decoding.metrics.auc import decision_ranks
from shortloop.eeg.decoding.metrics.intervals import bootstrap_interval, drawn_again, scores_of_drawn
from shortloop.eeg.decoding.metrics.scores import cross_validated_votes, scores_of

LABELS = np.repeat([0, 1, 2], [14, 10, 8])
FOLDS = np.arange(32) % 2


def predictions(seed: int = 0, cells: int = 3) -> tuple[Any, Any]:
    """Predicted classes, and decisions, both with some information."""
    rng = np.random.default_rng(seed)
    decisions = rng.standard_normal((cells, 32, 3)) + 1.0 * np.eye(3)[LABELS]
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
def test_cells_have_the_same_interval_whatever_the_memory(
    score: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(5)
    labels, inside = np.repeat([0, 1], 40), 0
    for _ in range(400):
        right = rng.random((1, 80)) < np.where(labels == 0, 0.8, 0.6)
        predicted = np.where(right, labels, 1 - labels)
        votes = cross_validated_votes(predicted, 2)
        low, high = bootstrap_interval("balanced-accuracy", votes, labels, draws=400, level=0.95, rng=rng)
        inside += int(low[0] <= 70 <= high[0])
    assert 0.91 <= inside / 400 <= 0.98
