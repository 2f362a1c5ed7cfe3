"""Votes are the predictions of every classifier, made one by one and counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from shortloop.eeg.decoding.apply import (
    apply_weights,
    apply_weights_within,
    refit_and_apply,
    stack_weights,
)
from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.metrics.scores import cross_validated_votes
from shortloop.eeg.decoding.models import BinModels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import fold_models, train_bin

LDA = SklearnSettings(kind="sklearn", path="sklearn.discriminant_analysis.LinearDiscriminantAnalysis")
BAYES = SklearnSettings(kind="sklearn", path="sklearn.naive_bayes.GaussianNB")
FOLDS, CLASSES = 4, 3


def recordings(seed: int, bins: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Features of bins with some effect, offset and scaled."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(CLASSES), [12, 15, 13]))
    patterns = 0.8 * rng.standard_normal((CLASSES, 25))
    data = rng.standard_normal((bins, len(labels), 25)) + patterns[labels]
    return (5 + 1e-6 * data).astype(np.float32) if seed % 2 else data, labels


def settings(scaling: str, estimator: EstimatorSettings) -> dict[str, Any]:
    decoding = DecodingSettings(folds=FOLDS, scaling=scaling, select_alpha=0.2)
    return {"n_classes": CLASSES, "decoding": decoding, "estimator": estimator}


def train_all(data: np.ndarray, labels: np.ndarray, folds: np.ndarray, **kwargs: Any) -> list[BinModels]:
    return [train_bin(x, labels, folds, **kwargs) for x in data]


def stacked(models: list[BinModels]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights = np.stack([m.weights for m in models])
    intercepts = np.stack([m.intercepts for m in models])
    return weights, intercepts, np.stack([m.kept.any(axis=1) for m in models])


@pytest.mark.parametrize("scaling", ["separate", "training"])
@pytest.mark.parametrize("estimator", [LinearSvmSettings(), MatlabSvmSettings(), LDA])
@pytest.mark.parametrize("seed", [0, 1])
def test_votes_on_another_phase(scaling: str, estimator: EstimatorSettings, seed: int) -> None:
    data, labels = recordings(seed)
    test, _ = recordings(seed + 2, bins=2)
    folds = stratified_folds(labels, FOLDS, seed)
    kwargs = settings(scaling, estimator)
    weights, intercepts, has_model = stacked(train_all(data, labels, folds, **kwargs))
    votes = np.stack(
        [apply_weights(x, stack_weights(weights), intercepts, has_model, scaling=scaling) for x in test]
    )
    expected = np.zeros((2, 3, test.shape[1], CLASSES), dtype=int)
    for train_bin_, x in enumerate(data):
        for _, model in fold_models(x, labels, folds, **kwargs):
            if model is None:
                continue
            for test_bin in range(2):
                for trial, k in enumerate(model.predict(test[test_bin])):
                    expected[test_bin, train_bin_, trial, k] += 1
    assert expected.sum() > 0
    np.testing.assert_array_equal(votes, expected)
    again = np.stack([refit_and_apply(x, labels, folds, test, within=False, **kwargs) for x in data], axis=1)
    np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize("scaling", ["separate", "training"])
@pytest.mark.parametrize("estimator", [LinearSvmSettings(), LDA])
def test_votes_within_one_phase_are_of_held_out_trials(scaling: str, estimator: EstimatorSettings) -> None:
    data, labels = recordings(4)
    folds = stratified_folds(labels, FOLDS, 0)
    kwargs = settings(scaling, estimator)
    models = train_all(data, labels, folds, **kwargs)
    weights, intercepts, has_model = stacked(models)
    votes = np.stack(
        [apply_weights_within(x, folds, weights, intercepts, has_model, scaling=scaling) for x in data]
    )
    expected = np.zeros_like(votes)
    for b, x in enumerate(data):
        for fold, model in fold_models(x, labels, folds, **kwargs):
            if model is None:
                continue
            held_out = np.flatnonzero(folds == fold)
            for test_bin in range(len(data)):
                expected[test_bin, b, held_out, model.predict(data[test_bin][held_out])] += 1
    np.testing.assert_array_equal(votes, expected)
    assert votes.sum(axis=-1).max() == 1
    # A bin's classifiers on their own bin are its cross-validation.
    for b, bin_models in enumerate(models):
        own = cross_validated_votes(bin_models.predicted, CLASSES)
        np.testing.assert_array_equal(votes[b, b], own)


@pytest.mark.parametrize("scaling", ["separate", "training"])
def test_refitted_within_one_phase_has_the_cross_validation_on_its_diagonal(scaling: str) -> None:
    data, labels = recordings(5)
    folds = stratified_folds(labels, FOLDS, 0)
    kwargs = settings(scaling, BAYES)
    models = train_all(data, labels, folds, **kwargs)
    for b, x in enumerate(data):
        votes = refit_and_apply(x, labels, folds, data, within=True, **kwargs)
        np.testing.assert_array_equal(votes[b], cross_validated_votes(models[b].predicted, CLASSES))


def test_only_held_out_trials_reach_a_classifier() -> None:
    # Each fold's classifier says its own class of everything, so a vote tells whose it is.
    folds = np.array([0, 1, 2, 2, 1, 0])
    weights = np.zeros((1, 3, 3, 4))
    intercepts = np.eye(3)[np.newaxis]
    votes = apply_weights_within(
        np.ones((6, 4)), folds, weights, intercepts, np.array([[True, True, False]]), scaling="training"
    )
    np.testing.assert_array_equal(votes[0], np.eye(3)[folds] * (folds != 2)[:, np.newaxis])


def test_folds_without_a_model_do_not_vote() -> None:
    rng = np.random.default_rng(6)
    x, weights = rng.standard_normal((9, 5)), rng.standard_normal((2, 4, 3, 5))
    has_model = np.array([[True, False, True, True], [False, False, False, False]])
    votes = apply_weights(x, stack_weights(weights), np.zeros((2, 4, 3)), has_model, scaling="training")
    assert (votes[0].sum(axis=1) == 3).all()
    assert (votes[1] == 0).all()


def test_separate_scaling_is_over_the_trials_that_are_predicted() -> None:
    rng = np.random.default_rng(7)
    x, weights = 40 + 9 * rng.standard_normal((30, 5)), rng.standard_normal((1, 1, 3, 5))
    votes = apply_weights(
        x, stack_weights(weights), np.zeros((1, 1, 3)), np.ones((1, 1), bool), scaling="separate"
    )
    expected = (stats.zscore(x, axis=0) @ weights[0, 0].T).argmax(axis=1)
    np.testing.assert_array_equal(votes[0].argmax(axis=1), expected)
    unscaled = apply_weights(
        x, stack_weights(weights), np.zeros((1, 1, 3)), np.ones((1, 1), bool), scaling="training"
    )
    np.testing.assert_array_equal(unscaled[0].argmax(axis=1), (x @ weights[0, 0].T).argmax(axis=1))
    assert (votes != unscaled).any()


def test_stacking_keeps_bins_folds_and_classes_apart() -> None:
    weights = np.random.default_rng(8).standard_normal((2, 3, 4, 5))
    weights[0, :, :, 2] = 0  # a feature that no classifier of the first bin keeps
    stacked = stack_weights(weights)
    assert [features.tolist() for features in stacked.features] == [[0, 1, 3, 4], [0, 1, 2, 3, 4]]
    for b, f, k in np.ndindex(2, 3, 4):
        expected = weights[b, f, k][stacked.features[b]]
        np.testing.assert_array_equal(stacked.weights[b][f * 4 + k], expected)


def test_cross_validated_votes() -> None:
    predicted = np.array([[0, 2, -1], [1, -1, 0]], dtype=np.int8)
    votes = cross_validated_votes(predicted, 3)
    assert votes.dtype == np.uint8
    np.testing.assert_array_equal(
        votes, [[[1, 0, 0], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [1, 0, 0]]]
    )
