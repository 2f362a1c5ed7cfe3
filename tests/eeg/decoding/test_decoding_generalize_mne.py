"""Temporal generalization is that of MNE's GeneralizingEstimator, where the set-ups are the same."""

from __future__ import annotations

import numpy as np
import pytest
from mne.decoding import GeneralizingEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortloop.eeg.decoding.apply import apply_held_out, apply_weights, stack_weights
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.generalize import retrained_scores
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin

ESTIMATORS = {
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
    "sklearn.linear_model.RidgeClassifier": RidgeClassifier,
}


def recordings(seed: int, bins: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), 15))
    patterns = np.random.default_rng(99).standard_normal((n_classes, 8))
    data = rng.standard_normal((bins, len(labels), 8))
    data[1:3] += patterns[labels]
    return 3 + 2 * data, labels


@pytest.mark.parametrize("path", ESTIMATORS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("within", [True, False])
def test_equal_to_mne(path: str, n_classes: int, within: bool) -> None:
    data, labels = recordings(0, 4, n_classes)
    test, test_labels = (data, labels) if within else recordings(1, 5, n_classes)
    decoding = DecodingSettings(folds=5, select_alpha=1.0, scaling="training")
    estimator = SklearnSettings(kind="sklearn", path=path)
    folds = stratified_folds(labels, 5, 7)
    models = [
        train_bin(x, labels, folds, n_classes=n_classes, decoding=decoding, estimator=estimator) for x in data
    ]
    weights = np.stack([m.weights for m in models])
    intercepts = np.stack([m.intercepts for m in models])
    has_model = np.ones((4, 5), dtype=bool)
    if within:
        votes = [
            apply_held_out(apply_weights, x, folds, weights, intercepts, has_model, scaling="training")
            for x in test
        ]
    else:
        votes = [
            apply_weights(x, stack_weights(weights), intercepts, has_model, scaling="training") for x in test
        ]
    expected = np.zeros((len(test), 4, len(test_labels), n_classes), dtype=int)
    mne_data, mne_test = data.transpose(1, 2, 0), test.transpose(1, 2, 0)  # trials × features × times
    for train, held_out in StratifiedKFold(5, shuffle=True, random_state=7).split(mne_data, labels):
        pipeline = make_pipeline(StandardScaler(), ESTIMATORS[path]())
        generalizing = GeneralizingEstimator(pipeline, verbose="error").fit(mne_data[train], labels[train])
        trials = held_out if within else np.arange(len(test_labels))
        predicted = generalizing.predict(mne_test[trials])  # trials × training times × testing times
        for i, trial in enumerate(trials):
            for b, t in np.ndindex(4, len(test)):
                expected[t, b, trial, predicted[i, b, t]] += 1
    np.testing.assert_array_equal(np.stack(votes), expected)

    _, plane = retrained_scores(
        data,
        labels,
        folds,
        test,
        test_labels,
        within=within,
        n_classes=n_classes,
        decoding=decoding,
        estimator=estimator,
    )
    recall = np.stack(
        [
            expected[:, :, test_labels == k, k].sum(axis=2)
            / expected[:, :, test_labels == k].sum(axis=(2, 3))
            for k in range(n_classes)
        ]
    )
    assert plane is not None
    np.testing.assert_allclose(plane, 100 * recall.mean(axis=0))
    assert plane[1:3, 1:3].mean() > 1.5 * 100 / n_classes > plane[0].mean()
