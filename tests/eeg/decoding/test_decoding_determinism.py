"""The same input gives the same bits: again, in another order, beside other work, in another process."""

from __future__ import annotations

import dataclasses
import hashlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin

ESTIMATORS: list[Any] = [
    LinearSvmSettings(),
    MatlabSvmSettings(),
    SklearnSettings(kind="sklearn", path="sklearn.linear_model.LogisticRegression"),
    SklearnSettings(
        kind="sklearn", path="sklearn.ensemble.RandomForestClassifier", params={"n_estimators": 5}
    ),
]


def features() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1, 2], 16))
    data = rng.standard_normal((4, 48, 130)) + 0.3 * rng.standard_normal((3, 130))[labels]
    return data.astype(np.float32), labels


def trained(x: np.ndarray, labels: np.ndarray, estimator: Any) -> str:
    """All that training leaves, as one hash."""
    models = train_bin(
        x,
        labels,
        stratified_folds(labels, 4, 0),
        n_classes=3,
        decoding=DecodingSettings(folds=4),
        estimator=estimator,
    )
    digest = hashlib.sha256()
    for field in dataclasses.fields(models):
        digest.update(np.ascontiguousarray(getattr(models, field.name)).tobytes())
    return digest.hexdigest()


def _trained_bin(args: tuple[int, Any]) -> str:
    data, labels = features()
    return trained(data[args[0]], labels, args[1])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_same_bits(estimator: Any, tmp_path: Path) -> None:
    data, labels = features()
    forwards = [trained(x, labels, estimator) for x in data]
    backwards = [trained(x, labels, estimator) for x in data[::-1]][::-1]
    assert forwards == backwards
    assert len(set(forwards)) == 4
    np.save(tmp_path / "features.npy", data)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    assert [trained(x, labels, estimator) for x in mapped] == forwards
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert list(pool.map(_trained_bin, [(b, estimator) for b in range(4)])) == forwards
