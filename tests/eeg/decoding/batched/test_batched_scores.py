"""The harder null, all permutations at once, is the one that trains them one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import first_cases
from refusal import refusal

from shortloop.eeg.decoding.batched import scores as batched_scores
from shortloop.eeg.decoding.batched.scores import Labellings, can_be_batched
from shortloop.eeg.decoding.estimators.lda import LdaSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.ridge import RidgeSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.generalize import retrained_scores
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings

N_FOLDS = 4
LDA = LdaSettings(shrinkage=0.05)
RIDGE = RidgeSettings(kind="ridge", alpha=2.0)
# Small C: with a larger one, of more than two classes, what a class's machine decides on noise can be the
# same for all trials (weights of 0), and rounding chooses between such classes.
SVM = LinearSvmSettings(C=(0.02,), tol=1e-9)
GRID = LinearSvmSettings(C=(0.03, 0.001, 0.01), inner_folds=3, tol=1e-9)


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


def settings(scaling: str = "training") -> DecodingSettings:
    return DecodingSettings(folds=N_FOLDS, select_alpha=1, scaling=scaling)


def at_once(
    train: np.ndarray, labels: np.ndarray, folds: np.ndarray, test: Any, test_labels: Any, **kwargs: Any
) -> tuple[np.ndarray, Any]:
    labellings = Labellings(labels, folds, int(labels.max()) + 1, N_FOLDS)
    found = [batched_scores.batched_scores(x, labellings, test, test_labels, **kwargs) for x in train]
    curve = np.stack([curve for curve, _ in found], axis=1)
    planes = [plane for _, plane in found if plane is not None]
    return curve, np.stack(planes, axis=2) if planes else None


@first_cases(2, ("within", "scaling"), [(False, "training"), (True, "separate"), (False, "separate")])
@first_cases(1, "n_features", [6, 30, 70])
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 4])
@pytest.mark.parametrize("estimator", [LDA, RIDGE, SVM, GRID], ids=["lda", "ridge", "svm", "grid"])
def test_as_one_by_one(estimator: Any, n_classes: int, n_features: int, scaling: str, within: bool) -> None:
    train, labels, test, test_labels = recordings(n_classes, n_features, within)
    folds = stratified_folds(labels, N_FOLDS, 0)
    alike = permuted_labels(labels, 1, seed=0, names=("S01",), folds=folds)
    shuffled = np.stack([labels, *alike, *permuted_labels(labels, 1, seed=2, names=("S01",))])
    assert len({tuple(np.bincount(each[folds == 0])) for each in shuffled}) == 2  # as large in a fold or not
    how: dict[str, Any] = {"decoding": settings(scaling), "estimator": estimator}
    for score in ("balanced-accuracy", "accuracy", "auc"):
        how["score"] = score
        curve, plane = at_once(train, shuffled, folds, test, test_labels, within=within, **how)
        for i, each in enumerate(shuffled):
            known = {**how, "within": within, "n_classes": n_classes}
            expected: Any = retrained_scores(train, each, folds, test, test_labels, **known)
            np.testing.assert_allclose(curve[i], expected[0], rtol=1e-13)
            np.testing.assert_allclose(plane[i], expected[1], rtol=1e-13)
        if within:
            np.testing.assert_array_equal(np.diagonal(plane, axis1=1, axis2=2), curve)
        alone, none = at_once(train, shuffled, folds, None, None, within=False, **how)
        assert none is None
        np.testing.assert_array_equal(alone, curve)


@pytest.mark.parametrize("estimator", [LDA, RIDGE, SVM, GRID], ids=["lda", "ridge", "svm", "grid"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_size_of_blocks(n_classes: int, estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    train, labels, test, test_labels = recordings(n_classes, 6, True)
    folds = stratified_folds(labels, N_FOLDS, 0)
    shuffled = permuted_labels(labels, 150, seed=1, names=("S01",), folds=folds)
    kwargs = {"within": True, "decoding": settings("separate"), "estimator": estimator}
    whole = at_once(train, shuffled, folds, test, test_labels, **kwargs)
    for found, expected in zip(at_once(train, shuffled[37:49], folds, test, test_labels, **kwargs), whole):
        np.testing.assert_array_equal(found, expected[37:49])
    monkeypatch.setattr(batched_scores, "IN_CACHE", 1)
    monkeypatch.setattr(batched_scores, "ROWS", 1)
    monkeypatch.setattr(batched_scores, "BYTE", 2)
    for found, expected in zip(at_once(train, shuffled, folds, test, test_labels, **kwargs), whole):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("estimator", [SVM, GRID], ids=["svm", "grid"])
@pytest.mark.parametrize(("n_classes", "n_features"), [(2, 5), (3, 5), (3, 60)])
def test_class_without_training_trials(n_classes: int, n_features: int, estimator: Any) -> None:
    # The last class is in one fold only, which does not train on it, and some features are no help.
    train, labels, _, _ = recordings(n_classes, n_features, True)
    train[:, :, 0] = 3.0
    train[:, :, 1] = train[:, :, 2]
    folds = stratified_folds(labels, N_FOLDS, 0)
    shuffled = permuted_labels(labels, 4, seed=1, names=("S01",), folds=folds)
    shuffled[1:3][shuffled[1:3] == n_classes - 1] = 0
    shuffled[1:3, folds == 2] = n_classes - 1
    how: dict[str, Any] = {"decoding": settings(), "estimator": estimator, "within": True}
    curve, plane = at_once(train, shuffled, folds, train, None, **how)
    for i, each in enumerate(shuffled):
        expected: Any = retrained_scores(train, each, folds, train, None, n_classes=n_classes, **how)
        np.testing.assert_allclose(curve[i], expected[0], rtol=1e-13)
        np.testing.assert_allclose(plane[i], expected[1], rtol=1e-13)


@pytest.mark.parametrize("estimator", [LDA, RIDGE], ids=["lda", "ridge"])
def test_class_that_is_missing(estimator: Any) -> None:
    train, labels, _, _ = recordings(3, 5, True)
    alone = (labels == 2).astype(np.int32)
    labellings = Labellings(labels[np.newaxis], alone, 3, 2)
    how: dict[str, Any] = {"within": True, "decoding": settings(), "estimator": estimator}
    with refusal("every class in every fold"):
        batched_scores.batched_scores(train[0], labellings, None, None, **how)
    with refusal("unknown class"):
        Labellings(labels[np.newaxis] + 1, alone, 3, 2)


@pytest.mark.parametrize("n_features", [6, 80])
@pytest.mark.parametrize("estimator", [LDA, RIDGE], ids=["lda", "ridge"])
def test_constant_features_are_left_out(estimator: Any, n_features: int) -> None:
    train, labels, test, test_labels = recordings(2, n_features, False)
    folds = stratified_folds(labels, N_FOLDS, 0)
    train[:, folds != 1, 1] = -3.0  # constant but for the held-out trials of one fold
    scores = []
    how: dict[str, Any] = {"within": False, "decoding": settings(), "estimator": estimator, "score": "auc"}
    for constant in (5.0, 1e6):
        train[:, :, 0] = constant
        scores.append(at_once(train, labels[np.newaxis], folds, test, test_labels, **how))
    for found, other in zip(*scores, strict=True):
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found, other)


def test_winners_are_the_first_of_the_largest() -> None:
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 5):
        contrasts = rng.integers(-2, 3, (40, n_classes - 1, 30)).astype(float)  # with ties
        whole = np.concatenate([np.zeros((40, 1, 30)), contrasts], axis=1)
        np.testing.assert_array_equal(batched_scores.winners(contrasts, n_classes), whole.argmax(axis=1))
        np.testing.assert_array_equal(batched_scores.winners(whole, n_classes), whole.argmax(axis=1))


@pytest.mark.parametrize(
    ("estimator", "alpha", "expected"),
    [
        (LdaSettings(), 1.0, True),
        (LdaSettings(), 0.5, False),  # the labels select the features
        (RidgeSettings(kind="ridge"), 1.0, True),
        (LinearSvmSettings(), 1.0, True),
        (LinearSvmSettings(), 0.05, False),
        (MatlabSvmSettings(kind="matlab-svm"), 1.0, False),
        (SklearnSettings(kind="sklearn", path="sklearn.svm.SVC"), 1.0, False),
    ],
)
def test_what_trains_many(estimator: Any, alpha: float, expected: bool) -> None:
    assert can_be_batched(estimator, DecodingSettings(select_alpha=alpha)) is expected
    assert not can_be_batched(estimator, DecodingSettings(select_alpha=alpha, class_weight="balanced"))
