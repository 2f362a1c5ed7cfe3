"""The harder null of LDA, all permutations at once, is the one that trains them one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler

from shortloop.decoding import lda_machines, lda_null
from shortloop.decoding.folds import stratified_folds
from shortloop.decoding.generalize import retrained_scores
from shortloop.decoding.lda_machines import ManyLabels
from shortloop.decoding.lda_null import labelling_blocks, lda_scores, trains_many
from shortloop.decoding.permute import permuted_labels
from shortloop.study.decoding import DecodingSettings, LdaSettings, LinearSvmSettings, SklearnSettings

N_FOLDS = 4


def recordings(n_classes: int, n_features: int, within: bool) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n_features + n_classes)
    labels = rng.permutation(np.repeat(np.arange(n_classes), [14, 13, 11, 10][:n_classes])).astype(np.int8)
    train = rng.standard_normal((3, len(labels), n_features)).astype(np.float32)
    patterns = rng.standard_normal((n_classes, n_features)).astype(np.float32)
    train[1:] += patterns[labels]
    if within:
        return train, labels, train, labels
    test_labels = rng.permutation(np.arange(31) % n_classes)
    test = rng.standard_normal((5, 31, n_features)).astype(np.float32)
    test[2:] += patterns[test_labels]
    return train, labels, test, test_labels


def at_once(
    train: np.ndarray, labels: np.ndarray, folds: np.ndarray, test: Any, test_labels: Any, **kwargs: Any
) -> tuple[np.ndarray, Any]:
    many = ManyLabels(labels, folds, kwargs.pop("n_classes"), N_FOLDS)
    found = [lda_scores(x, many, test, test_labels, **kwargs) for x in train]
    curve = np.stack([curve for curve, _ in found], axis=1)
    planes = [plane for _, plane in found if plane is not None]
    return curve, np.stack(planes, axis=2) if planes else None


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("scaling", ["separate", "training"])
@pytest.mark.parametrize("n_features", [6, 70])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_same_as_one_after_the_other(n_classes: int, n_features: int, scaling: str, within: bool) -> None:
    train, labels, test, test_labels = recordings(n_classes, n_features, within)
    folds = stratified_folds(labels, N_FOLDS, 0)
    shuffled = permuted_labels(labels, 8, seed=0, names=("S01",), folds=folds)
    shuffled[0] = labels
    curve, plane = at_once(
        train,
        shuffled,
        folds,
        test,
        test_labels,
        within=within,
        scaling=scaling,
        shrinkage=0.05,
        n_classes=n_classes,
    )
    for i, each in enumerate(shuffled):
        expected = retrained_scores(
            train,
            each,
            folds,
            test,
            test_labels,
            within=within,
            n_classes=n_classes,
            decoding=DecodingSettings(folds=N_FOLDS, select_alpha=1, scaling=scaling),
            estimator=LdaSettings(shrinkage=0.05),
        )
        np.testing.assert_array_equal(curve[i], expected[0])
        assert expected[1] is not None
        np.testing.assert_array_equal(plane[i], expected[1])
    if within:
        np.testing.assert_array_equal(np.diagonal(plane, axis1=1, axis2=2), curve)
    alone, none = at_once(
        train, shuffled, folds, None, None, within=False, scaling=scaling, shrinkage=0.05, n_classes=n_classes
    )
    assert none is None
    np.testing.assert_array_equal(alone, curve)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_as_scikit_learn(n_classes: int) -> None:
    train, labels, test, test_labels = recordings(n_classes, 9, False)
    folds = stratified_folds(labels, N_FOLDS, 0)
    shuffled = permuted_labels(labels, 4, seed=3, names=("S01",), folds=folds)
    _, plane = at_once(
        train,
        shuffled,
        folds,
        test,
        test_labels,
        within=False,
        scaling="training",
        shrinkage=0.3,
        n_classes=n_classes,
    )
    for i, each in enumerate(shuffled):
        for b, x in enumerate(train.astype(float)):
            said = np.empty((len(test), N_FOLDS, len(test_labels)))
            for fold in range(N_FOLDS):
                scaler = StandardScaler().fit(x[folds != fold])
                lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3)
                lda.fit(scaler.transform(x[folds != fold]), each[folds != fold])
                said[:, fold] = [lda.predict(scaler.transform(y.astype(float))) for y in test]
            truth = np.tile(test_labels, N_FOLDS)
            expected = [100 * balanced_accuracy_score(truth, votes.ravel()) for votes in said]
            np.testing.assert_allclose(plane[i, :, b], expected, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_size_of_blocks(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    train, labels, test, test_labels = recordings(n_classes, 6, True)
    folds = stratified_folds(labels, N_FOLDS, 0)
    shuffled = permuted_labels(labels, 150, seed=1, names=("S01",), folds=folds)
    kwargs = {"within": True, "scaling": "separate", "shrinkage": 0.1, "n_classes": n_classes}
    whole = at_once(train, shuffled, folds, test, test_labels, **kwargs)
    monkeypatch.setattr(lda_machines, "IN_CACHE", 1)
    monkeypatch.setattr(lda_null, "ROWS", 1)
    monkeypatch.setattr(lda_null, "BYTE", 2)
    for found, expected in zip(at_once(train, shuffled, folds, test, test_labels, **kwargs), whole):
        np.testing.assert_array_equal(found, expected)


def test_more_trials_than_a_byte_counts() -> None:
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1], 700)
    x = rng.standard_normal((1, 1400, 2)) + 3.0 * labels[:, np.newaxis]
    folds = stratified_folds(labels, 4, 0)
    kwargs = {"scaling": "training", "shrinkage": 0.1, "n_classes": 2}
    curve, plane = at_once(x, labels[np.newaxis], folds, x, labels, within=False, **kwargs)
    assert curve.min() > 95
    assert plane.min() > 95


def test_shuffled_labels_score_about_chance() -> None:
    train, labels, test, test_labels = recordings(3, 8, False)
    folds = stratified_folds(labels, N_FOLDS, 0)
    shuffled = permuted_labels(labels, 400, seed=1, names=("S01",), folds=folds)
    kwargs = {"within": False, "scaling": "training", "shrinkage": 0.1, "n_classes": 3}
    null = at_once(train, shuffled, folds, test, test_labels, **kwargs)
    true = at_once(train, labels[np.newaxis], folds, test, test_labels, **kwargs)
    for scores in null:
        error = scores.std(axis=0) / np.sqrt(len(scores))
        np.testing.assert_array_less(np.abs(scores.mean(axis=0) - 100 / 3), 4.5 * error)
    assert (true[0][0, 1:] > null[0][:, 1:].max(axis=0)).all()
    assert (true[1][0, 2:, 1:] > np.quantile(null[1][:, 2:, 1:], 0.95, axis=0)).all()


@pytest.mark.parametrize("count", [1, 2, 999, 1000, 1001, 1499, 1501, 10_000])
@pytest.mark.parametrize(("n_trials", "n_classes"), [(200, 2), (240, 3), (2000, 90)])
def test_blocks_of_labellings(count: int, n_trials: int, n_classes: int) -> None:
    blocks = labelling_blocks(count, n_trials, n_classes)
    covered = np.concatenate([np.arange(count)[block] for block in blocks])
    np.testing.assert_array_equal(covered, np.arange(count))
    sizes = [block.stop - block.start for block in blocks]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= 1500
    assert max(sizes) * n_trials * (n_classes - 1) <= 1.5 * lda_null.WEIGHTS or count < 1500


@pytest.mark.parametrize(
    ("estimator", "alpha", "expected"),
    [
        (LdaSettings(), 1.0, True),
        (LdaSettings(), 0.5, False),  # the labels select the features
        (LinearSvmSettings(), 1.0, False),
        (SklearnSettings(kind="sklearn", path="sklearn.svm.SVC"), 1.0, False),
    ],
)
def test_what_trains_many(estimator: Any, alpha: float, expected: bool) -> None:
    assert trains_many(estimator, DecodingSettings(select_alpha=alpha)) is expected
