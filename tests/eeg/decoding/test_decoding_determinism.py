"""The same input gives the same bits in any layout; patterns are those of MNE."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mne.decoding import LinearModel, get_coef
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortloop.base.types import Span
from shortloop.eeg.decoding.apply import apply_held_out, apply_weights, refit_and_apply, stack_weights
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.estimators.lda import LdaSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.ridge import RidgeSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.models import BinModels
from shortloop.eeg.decoding.patterns import activation_patterns
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin

TRIALS, FEATURES, BINS, CLASSES, FOLDS = 36, 60, 3, 3, 3
LABELS = np.random.default_rng(0).permutation(np.tile(np.arange(CLASSES), TRIALS // CLASSES))
IN_FOLDS = stratified_folds(LABELS, FOLDS, 0)
OF_EACH_KIND: dict[str, EstimatorSettings] = {
    "linear-svm": LinearSvmSettings(inner_folds=2),
    "matlab-svm": MatlabSvmSettings(kind="matlab-svm"),
    "lda": LdaSettings(kind="lda"),
    "sklearn, linear": SklearnSettings(kind="sklearn", path="sklearn.linear_model.RidgeClassifier"),
    "sklearn, not linear": SklearnSettings(kind="sklearn", path="sklearn.naive_bayes.GaussianNB"),
}


@pytest.fixture(params=range(2))
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Bins of trials by rows, and the same as a map of a file that has them by columns."""
    rng = np.random.default_rng(request.param)
    x = rng.standard_normal((BINS, TRIALS, FEATURES)) * 10.0 ** rng.integers(-6, 6, FEATURES)
    x += LABELS[:, np.newaxis] * (rng.random(FEATURES) < 0.3)
    x[:, :, 0] = 7.1  # a constant, one that hardly varies, and one far from zero
    x[:, :, 1] = 1e9 + 1e-3 * rng.standard_normal(TRIALS)
    x[:, :, 2] = LABELS + (IN_FOLDS == 0) * rng.standard_normal(TRIALS)
    file = tmp_path / "data"
    file.write_bytes(b"12345678" + x.transpose(0, 2, 1).tobytes())
    mapped = Span(8, x.shape, (x[0].nbytes, 8, 8 * TRIALS), "<f8").map(file)
    x.flags.writeable = False
    assert not mapped[0].flags.c_contiguous
    return x, mapped


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("scaling", ["separate", "training"])
@pytest.mark.parametrize("alpha", [0.05, 1.0])
@pytest.mark.parametrize("estimator", OF_EACH_KIND)
def test_training_and_applying(
    both: tuple[np.ndarray, np.ndarray], estimator: str, alpha: float, scaling: str
) -> None:
    decoding = DecodingSettings(folds=FOLDS, select_alpha=alpha, scaling=scaling)
    settings = OF_EACH_KIND[estimator]
    how: dict[str, Any] = {"n_classes": CLASSES, "decoding": decoding, "estimator": settings}
    models = [[train_bin(each, LABELS, IN_FOLDS, **how) for each in x] for x in both]
    for by_rows, by_columns in zip(*models, strict=True):
        assert by_rows.kept.any()
        for field in dataclasses.fields(by_rows):
            assert same_bits(getattr(by_rows, field.name), getattr(by_columns, field.name)), field.name
    weights, intercepts, kept = (
        np.stack([getattr(each, name) for each in models[0]]) for name in ("weights", "intercepts", "kept")
    )
    votes = []
    for x in both:
        if weights.shape[2] == 0:
            again = [refit_and_apply(x[0], LABELS, IN_FOLDS, x, within=each, **how) for each in (False, True)]
            votes.append([each["votes"] for each in again])
            continue
        given = intercepts, np.asarray(kept.any(axis=2))
        of_another = apply_weights(x[1], stack_weights(weights), *given, scaling=scaling)
        within = apply_held_out(apply_weights, x[1], IN_FOLDS, weights, *given, scaling=scaling)
        votes.append([of_another, within])
    for by_rows, by_columns in zip(*votes, strict=True):
        assert by_rows.any()
        assert same_bits(by_rows, by_columns)


def trials(n_classes: int = 2, seed: int = 0, features: int = 7) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), 20)
    mixing = rng.standard_normal((features, features))
    x = rng.standard_normal((len(labels), features)) @ mixing * 1e-5
    x += 1e-5 * rng.standard_normal((n_classes, features))[labels] + 3e-4
    return x, labels, stratified_folds(labels, 4, 1)


def trained_of_patterns(x: Any, labels: Any, folds: Any) -> BinModels:
    decoding = DecodingSettings(folds=4, select_alpha=1.0)
    return train_bin(x, labels, folds, n_classes=2, decoding=decoding, estimator=RidgeSettings())


@pytest.mark.parametrize("scaling", ["separate", "training"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_they_are_those_of_mne(n_classes: int, scaling: Any) -> None:
    x, labels, folds = trials(n_classes)
    decoding = DecodingSettings(folds=4, select_alpha=1.0, scaling=scaling)
    models = train_bin(x, labels, folds, n_classes=n_classes, decoding=decoding, estimator=RidgeSettings())
    found = activation_patterns(x, folds, models.weights, models.kept, standardized=scaling == "separate")
    expected = np.zeros_like(found)
    for fold in range(4):
        train = folds != fold
        for k in range(n_classes):
            model = make_pipeline(StandardScaler(), LinearModel(RidgeClassifier(alpha=1.0)))
            model.fit(x[train], labels[train] == k)
            pattern = get_coef(model, "patterns_").ravel() * model.named_steps["standardscaler"].scale_
            expected[k] += pattern / model.decision_function(x[train]).std(ddof=1) / 4
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    if n_classes == 2:
        np.testing.assert_allclose(found[0], -found[1], rtol=1e-9)


def test_features_that_are_not_kept_have_patterns_and_no_part_in_others() -> None:
    x, labels, folds = trials(3, seed=3, features=30)
    decoding = DecodingSettings(folds=4, select_alpha=0.01)
    models = train_bin(x, labels, folds, n_classes=3, decoding=decoding, estimator=LinearSvmSettings())
    assert 0 < models.kept.sum() < models.kept.size
    found = activation_patterns(x, folds, models.weights, models.kept, standardized=True)
    by_hand = np.zeros_like(found)
    for fold in range(4):
        train, kept = folds != fold, models.kept[fold]
        chosen = x[train]
        scaled = (chosen[:, kept] - chosen[:, kept].mean(axis=0)) / chosen[:, kept].std(axis=0)
        said = scaled @ models.weights[fold][:, kept].T
        covariance = np.cov(chosen.T, said.T)[:30, 30:]
        by_hand += (covariance / said.std(axis=0, ddof=1)).T / 4
    np.testing.assert_allclose(found, by_hand, rtol=1e-7, atol=1e-12 * np.abs(by_hand).max())


def test_folds_without_features_do_not_count_and_constant_features_have_no_pattern() -> None:
    x, labels, folds = trials()
    models = trained_of_patterns(x, labels, folds)
    kept, weights = models.kept.copy(), models.weights.copy()
    kept[1:], weights[1:] = False, 0.0
    one = activation_patterns(x, folds, weights, kept, standardized=True)
    alone = activation_patterns(x, np.where(folds == 0, 0, 1), weights[:1], kept[:1], standardized=True)
    np.testing.assert_allclose(one, alone)
    assert np.isnan(activation_patterns(x, folds, weights, np.zeros_like(kept), standardized=True)).all()
    x, labels, folds = trials()
    x[:, 2] = 0.5
    models = trained_of_patterns(x, labels, folds)
    found = activation_patterns(x, folds, models.weights, models.kept, standardized=True)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, 2], 0.0, atol=1e-15)
