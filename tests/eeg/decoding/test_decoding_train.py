"""Training is the analysis done the long way with SciPy and scikit-learn; votes are predictions, counted."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.io import loadmat
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from shortloop.eeg.decoding.apply import apply_held_out, apply_weights, refit_and_apply, stack_weights
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.metrics.scores import confusions, cross_validated_votes, recall_scores
from shortloop.eeg.decoding.models import BinModels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import fold_models, train_bin
from shortloop.eeg.formats.read import read_features
from shortloop.eeg.study.load import read_study

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
    for train, test in StratifiedKFold(decoding.folds, shuffle=True, random_state=seed).split(x, labels):
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
        svc = LinearSVC(loss="hinge", tol=TIGHT, max_iter=1_000_000, random_state=0)
        search = GridSearchCV(svc, {"C": list(GRID)}, cv=StratifiedKFold(5))
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
    for seed in range(2):
        x, labels = problem(seed, n_classes, dtype)
        decoding = DecodingSettings(folds=4, scaling=scaling)
        predicted, expected = the_long_way(x, labels, decoding, seed)
        folds = stratified_folds(labels, 4, seed)
        estimator = LinearSvmSettings(C=GRID, tol=TIGHT)
        models = train_bin(x, labels, folds, n_classes=n_classes, decoding=decoding, estimator=estimator)
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
    asked = DecodingSettings(folds=int(folds.max()) + 1, **decoding)
    return train_bin(x, labels, folds, n_classes=3, decoding=asked, estimator=LinearSvmSettings())


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
    weights_of_all = stack_weights(models.weights[np.newaxis])
    known = models.intercepts[np.newaxis], np.array([[True, False]])
    assert (apply_weights(x, weights_of_all, *known, scaling="separate").sum(axis=2) == 1).all()


def test_constant_features_are_kept_without_weight_or_score_chance() -> None:
    x, labels = problem(6, 3)
    folds = stratified_folds(labels, 4, 0)
    for scaling in ("separate", "training"):
        models = train(x, labels, folds, select_alpha=1.0, scaling=scaling)
        assert models.kept.all()
        assert np.isfinite(models.weights).all()
        assert (models.weights[:, :, 100:103] == 0).all()
    labels = np.tile([0, 1, 2], 12)
    models = train(np.ones((36, 4)), labels, stratified_folds(labels, 4, 0))
    assert (models.predicted == -1).all()
    votes = cross_validated_votes(models.predicted[np.newaxis], 3)
    assert votes.sum() == 0
    np.testing.assert_allclose(recall_scores(votes, labels[np.newaxis]), 100 / 3)


LDA = SklearnSettings(kind="sklearn", path="sklearn.discriminant_analysis.LinearDiscriminantAnalysis")
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
    return weights, np.stack([m.intercepts for m in models]), np.stack([m.kept.any(axis=1) for m in models])


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
            for test_bin in range(2):
                for trial, k in enumerate(model.fitted.predict(model.scale(test[test_bin]))):
                    expected[test_bin, train_bin_, trial, k] += 1
    assert expected.sum() > 0
    np.testing.assert_array_equal(votes, expected)
    refit = [refit_and_apply(x, labels, folds, test, within=False, **kwargs)["votes"] for x in data]
    np.testing.assert_array_equal(np.stack(refit, axis=1), expected)


def test_only_held_out_trials_reach_a_classifier() -> None:
    # Each fold's classifier says its own class of everything, so a vote tells whose it is.
    folds = np.array([0, 1, 2, 2, 1, 0])
    given = folds, np.zeros((1, 3, 3, 4)), np.eye(3)[np.newaxis], np.array([[True, True, False]])
    votes = apply_held_out(apply_weights, np.ones((6, 4)), *given, scaling="training")
    np.testing.assert_array_equal(votes[0], np.eye(3)[folds] * (folds != 2)[:, np.newaxis])


BINS, VOTERS, TRIALS, FEATURES = 2, 3, 60, 300


def decided(x: np.ndarray, weights: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """Decisions (bins, folds, classes, trials) in double precision."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.einsum("bfkj,ij->bfki", weights, z) + intercepts[..., np.newaxis]


def nearly_equal(seed: int, apart: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, and weights of classes that differ by no more than a share of their size."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((BINS, VOTERS, 1, FEATURES))
    weights = common + apart * rng.standard_normal((BINS, VOTERS, CLASSES, FEATURES))
    return rng.standard_normal((TRIALS, FEATURES)), weights, np.zeros((BINS, VOTERS, CLASSES))


# 1e-5: double precision tells. 1e-8: only with the features in double precision, too.
@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e-5, 1e-7, 1e-8, 1e-9])
def test_near_ties(apart: float) -> None:
    x, weights, intercepts = nearly_equal(0, apart)
    votes = apply_weights(
        x, stack_weights(weights), intercepts, np.ones((BINS, VOTERS), dtype=bool), scaling="separate"
    )
    called = decided(x, weights, intercepts).argmax(axis=2)  # (bins, folds, trials)
    np.testing.assert_array_equal(votes, (called[..., np.newaxis] == np.arange(CLASSES)).sum(axis=1))
    single = decided(x.astype(np.float32), weights.astype(np.float32), intercepts.astype(np.float32))
    if apart <= 1e-7:
        assert (single.argmax(axis=2) != called).any()


@pytest.mark.parametrize("scaling", ["separate", "training"])
def test_ties_go_to_the_first_class(scaling: str) -> None:
    x, weights, intercepts = nearly_equal(1, 0.0)
    votes = apply_weights(
        x, stack_weights(weights), intercepts, np.ones((BINS, VOTERS), dtype=bool), scaling=scaling
    )
    assert (votes[..., 0] == VOTERS).all()


@given(
    st.integers(0, 2**31), st.integers(2, 5), st.integers(1, 40), st.sampled_from(["separate", "training"])
)
@hypothesis.settings(max_examples=40, deadline=None)
def test_as_counted_one_by_one(seed: int, classes: int, features: int, scaling: str) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice([1e-6, 1.0, 1e6]) * rng.standard_normal((20, features)) + rng.choice([0.0, 3.0])
    weights = rng.standard_normal((BINS, VOTERS, classes, features))
    weights[..., rng.random(features) < 0.3] = 0.0
    intercepts = rng.standard_normal((BINS, VOTERS, classes))
    has_model = rng.random((BINS, VOTERS)) < 0.8
    votes = apply_weights(x, stack_weights(weights), intercepts, has_model, scaling=scaling)
    if scaling == "separate":
        decisions = decided(x, weights, intercepts)
    else:
        decisions = np.einsum("bfkj,ij->bfki", weights, x) + intercepts[..., np.newaxis]
    counted = np.zeros_like(votes)
    for each in range(BINS):
        for fold in np.flatnonzero(has_model[each]):
            for trial, winner in enumerate(decisions[each, fold].argmax(axis=0)):
                counted[each, trial, winner] += 1
    np.testing.assert_array_equal(votes, counted)


ROOT = Path(__file__).resolve().parents[3]
REFERENCE = ROOT.parent / "shared" / "reference"
SUBJECTS = ("Subj01", "Subj02")
MAY_DIFFER = 0.002  # predictions that turn on the solver's tolerance
Read = Callable[[str, str], tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope="module")
def reference() -> dict[str, np.ndarray]:
    file = REFERENCE / "thesis_confusions.json"
    if not file.exists():
        pytest.skip(f"the reference is not there: {file}")
    return {name: np.array(matrices) for name, matrices in json.loads(file.read_text())["confusion"].items()}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory, reference: dict[str, np.ndarray]) -> Read:
    folder = tmp_path_factory.mktemp("thesis")
    script, _, *options = shlex.split(
        json.loads((REFERENCE / "thesis_confusions.json").read_text())["simulate"]
    )
    subprocess.run([sys.executable, REFERENCE / script, folder, *options], check=True, capture_output=True)
    study = read_study(ROOT / "studies" / "thesis.toml")

    def one(subject: str, name: str) -> tuple[np.ndarray, np.ndarray]:
        """As a study reads them, which are what SciPy reads."""
        variable = f"{subject}_{name}"
        file = folder / subject / "6-ClassificationData" / f"{variable}.mat"
        how: dict[str, Any] = {"participant": subject, "phase": "study", "kind": "power"}
        found = read_features(study.input, file, classes=study.classes, **how)
        mat = loadmat(file, struct_as_record=False, squeeze_me=True)[variable]
        np.testing.assert_array_equal(found.data, np.stack(list(mat.feature)))
        np.testing.assert_array_equal(found.labels, mat.category.astype(int) - 1)
        return found.data, found.labels

    return one


def train_of_thesis(data: np.ndarray, labels: np.ndarray) -> list[BinModels]:
    folds = stratified_folds(labels, 10, 0)
    decoding = DecodingSettings(scaling="separate")
    return [
        train_bin(x, labels, folds, n_classes=3, decoding=decoding, estimator=LinearSvmSettings())
        for x in data
    ]


def differing(found: np.ndarray, expected: np.ndarray) -> float:
    """Number of predictions that cannot be the same, given both confusion matrices."""
    np.testing.assert_allclose(found.sum(axis=-1), expected.sum(axis=-1))  # no trial more or less
    return float(np.abs(found - expected).sum() / 2)


@pytest.mark.parametrize("name", ["study_data", "study_data_amp"])
def test_train(name: str, reference: dict[str, np.ndarray], read: Read) -> None:
    for subject in SUBJECTS:
        expected = reference[f"{subject}_{name}_confmat"]
        data, labels = read(subject, name)
        predicted = np.stack([m.predicted for m in train_of_thesis(data, labels)])
        found = confusions(cross_validated_votes(predicted, 3), labels)
        assert found.shape == expected.shape
        assert differing(found, expected) <= MAY_DIFFER * expected.sum()


def test_apply(reference: dict[str, np.ndarray], read: Read) -> None:
    for subject in SUBJECTS:
        expected = reference[f"{subject}_apply_confmat"]
        data, labels = read(subject, "study_data")
        test, test_labels = read(subject, "test_data_visual")
        models = train_of_thesis(data, labels)
        stacked = stack_weights(np.stack([m.weights for m in models]))
        intercepts = np.stack([m.intercepts for m in models])
        has_model = np.stack([m.kept.any(axis=1) for m in models])
        votes = np.stack([apply_weights(x, stacked, intercepts, has_model, scaling="separate") for x in test])
        found = confusions(votes, test_labels, 10)
        assert found.shape == expected.shape
        assert differing(found, expected) <= MAY_DIFFER * expected.sum()
