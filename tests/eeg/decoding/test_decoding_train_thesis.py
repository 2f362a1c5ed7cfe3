"""Training and applying give the confusion matrices that the thesis's published code computes.

The reference was made by that code, not by this one; the study is simulated by the script it came with.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat

from shortloop.eeg.decoding.apply import apply_weights, stack_weights
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.metrics.scores import confusions, cross_validated_votes
from shortloop.eeg.decoding.models import BinModels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin
from shortloop.eeg.formats.read import read_features
from shortloop.eeg.study.load import read_study

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


def train(data: np.ndarray, labels: np.ndarray) -> list[BinModels]:
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
        predicted = np.stack([m.predicted for m in train(data, labels)])
        found = confusions(cross_validated_votes(predicted, 3), labels)
        assert found.shape == expected.shape
        assert differing(found, expected) <= MAY_DIFFER * expected.sum()


def test_apply(reference: dict[str, np.ndarray], read: Read) -> None:
    for subject in SUBJECTS:
        expected = reference[f"{subject}_apply_confmat"]
        data, labels = read(subject, "study_data")
        test, test_labels = read(subject, "test_data_visual")
        models = train(data, labels)
        stacked = stack_weights(np.stack([m.weights for m in models]))
        intercepts = np.stack([m.intercepts for m in models])
        has_model = np.stack([m.kept.any(axis=1) for m in models])
        votes = np.stack([apply_weights(x, stacked, intercepts, has_model, scaling="separate") for x in test])
        found = confusions(votes, test_labels, 10)
        assert found.shape == expected.shape
        assert differing(found, expected) <= MAY_DIFFER * expected.sum()
