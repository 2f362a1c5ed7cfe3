"""Training a bin is the analysis done the long way with SciPy and scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from shortloop.eeg.decoding.apply import apply_weights, stack_weights
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.metrics.scores import confusions, cross_validated_votes, recall_scores
from shortloop.eeg.decoding.models import BinModels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin

TIGHT = 1e-9
GRID = (1e-4, 1e-3, 1e-2)


def problem(
    seed: int, n_classes: int, dtype: type[np.floating] = np.float64
) -> tuple[np.ndarray, np.ndarray]:
    """Features of many sizes and offsets, some constant, most of them noise."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(12, 20, n_classes)))
    x = rng.standard_normal((len(labels), 120))
    x[:, :30] += 0.7 * rng.standard_normal((n_classes, 30))[labels]
    x = rng.uniform(-3, 3, 120) + x * np.geomspace(1e-3, 1e3, 120)
    x[:, 100:103] = [0.0, 0.1, -7e5]
    return x.astype(dtype), labels


def the_long_way(
    x: np.ndarray, labels: np.ndarray, decoding: DecodingSettings, seed: int
) -> tuple[np.ndarray, list[tuple[np.ndarray, float, np.ndarray]]]:
    """Held-out predictions, and of each fold the kept features, C and decisions on the held-out trials."""
    predicted, folds = np.full(len(labels), -1), []
    splitter = StratifiedKFold(decoding.folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(x, labels):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant input
            groups = [x[train][labels[train] == k].astype(np.float64) for k in np.unique(labels)]
            p = np.array([stats.f_oneway(*(g[:, j] for g in groups)).pvalue for j in range(x.shape[1])])
        kept = p < decoding.select_alpha
        scaler = StandardScaler().fit(x[train][:, kept].astype(np.float64))
        held_out = x[test][:, kept].astype(np.float64)
        scaled = (
            stats.zscore(held_out, axis=0) if decoding.scaling == "separate" else scaler.transform(held_out)
        )
        search = GridSearchCV(
            LinearSVC(loss="hinge", tol=TIGHT, max_iter=1_000_000, random_state=0),
            {"C": list(GRID)},
            cv=StratifiedKFold(5),
        )
        search.fit(scaler.transform(x[train][:, kept].astype(np.float64)), labels[train])
        predicted[test] = search.predict(scaled)
        folds.append((kept, search.best_params_["C"], search.decision_function(scaled)))
    return predicted, folds


@pytest.mark.parametrize("scaling", ["separate", "training"])
@pytest.mark.parametrize(
    ("n_classes", "dtype"),
    [(2, np.float64), (3, np.float32), pytest.param(4, np.float64, marks=pytest.mark.slow)],
)
def test_equal_to_the_long_way(scaling: str, n_classes: int, dtype: type[np.floating]) -> None:
    for seed in range(3):
        x, labels = problem(seed, n_classes, dtype)
        decoding = DecodingSettings(folds=4, scaling=scaling)
        predicted, expected = the_long_way(x, labels, decoding, seed)
        folds = stratified_folds(labels, 4, seed)
        models = train_bin(
            x,
            labels,
            folds,
            n_classes=n_classes,
            decoding=decoding,
            estimator=LinearSvmSettings(C=GRID, tol=TIGHT),
        )
        np.testing.assert_array_equal(models.predicted, predicted)
        for fold, (kept, C, decisions) in enumerate(expected):
            assert kept.any()
            assert not kept.all()
            np.testing.assert_array_equal(models.kept[fold], kept)
            assert models.C[fold] == C
            assert (models.weights[fold][:, ~kept] == 0).all()
            held_out = x[folds == fold].astype(np.float64)
            if scaling == "separate":
                held_out[:, kept] = stats.zscore(held_out[:, kept], axis=0)
            found = held_out @ models.weights[fold].T + models.intercepts[fold]
            found = found[:, 1] if n_classes == 2 else found
            np.testing.assert_allclose(found, decisions, rtol=1e-5, atol=1e-6 * np.abs(decisions).max())


def train(x: np.ndarray, labels: np.ndarray, folds: np.ndarray, **decoding: object) -> BinModels:
    return train_bin(
        x,
        labels,
        folds,
        n_classes=3,
        decoding=DecodingSettings(folds=int(folds.max()) + 1, **decoding),
        estimator=LinearSvmSettings(),
    )


def test_fold_without_features_has_no_model_and_is_left_out() -> None:
    labels = np.tile([0, 1, 2], 12)
    folds = stratified_folds(labels, 2, 0)
    x = np.zeros((36, 6))
    x[folds == 1] = np.random.default_rng(0).standard_normal((18, 6))
    x[folds == 1, 0] += 5 * labels[folds == 1]  # the training trials of fold 1 are all alike
    models = train(x, labels, folds)
    np.testing.assert_array_equal(models.kept.any(axis=1), [True, False])
    assert (models.predicted[folds == 1] == -1).all()
    assert np.isin(models.predicted[folds == 0], [0, 1, 2]).all()
    assert np.isfinite(models.C[0])
    assert np.isnan(models.C[1])
    assert (models.weights[1] == 0).all()
    votes = cross_validated_votes(models.predicted[np.newaxis], 3)
    np.testing.assert_array_equal(confusions(votes, labels)[0].sum(axis=1), [6, 6, 6])  # of 12 a class
    applied = apply_weights(
        x,
        stack_weights(models.weights[np.newaxis]),
        models.intercepts[np.newaxis],
        np.array([[True, False]]),
        scaling="separate",
    )
    assert (applied.sum(axis=2) == 1).all()


def test_no_fold_with_features_scores_chance() -> None:
    labels = np.tile([0, 1, 2], 12)
    models = train(np.ones((36, 4)), labels, stratified_folds(labels, 4, 0))
    assert (models.predicted == -1).all()
    votes = cross_validated_votes(models.predicted[np.newaxis], 3)
    assert votes.sum() == 0
    np.testing.assert_allclose(recall_scores(votes, labels[np.newaxis]), 100 / 3)


def test_constant_features_with_all_kept() -> None:
    x, labels = problem(6, 3)
    folds = stratified_folds(labels, 4, 0)
    for scaling in ("separate", "training"):
        models = train(x, labels, folds, select_alpha=1.0, scaling=scaling)
        assert models.kept.all()
        assert np.isfinite(models.weights).all()
        assert (models.weights[:, :, 100:103] == 0).all()
