"""A study's score, from its file to the report: what runs again when it changes, and what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_project import LiveProject, write_recording

pytestmark = pytest.mark.slow

GROUP = {("individual", None), ("group", None), ("report", None)}


def jobs_of(*stages: str) -> set[tuple[str, str | None]]:
    return {(stage, participant) for stage in stages for participant in "AB"}


@pytest.fixture(scope="module")
def built(project: LiveProject) -> LiveProject:
    """Recordings with more trials of one class than of the other, decoded with the default score."""
    for seed, name in enumerate("AB"):
        file = project.folder / "data" / f"{name}.npz"
        write_recording(file, seed)
        recording: dict[str, Any] = dict(np.load(file))
        kept = np.r_[0:20, 21:32:2]
        np.savez(file, **{**recording, "X": recording["X"][kept], "y": recording["y"][kept]})
    assert project.run()
    return project


def score_with(project: LiveProject, score: str) -> set[tuple[str, str | None]]:
    text = (project.folder / "study.toml").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith("score = ")]
    kept.insert(kept.index("folds = 3") + 1, f'score = "{score}"')
    project.write_study("\n".join(kept) + "\n")
    return set(project.run())


def array(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"{name}.npy")


def test_accuracy_rebuilds_permute_and_what_is_below(built: LiveProject) -> None:
    assert score_with(built, "accuracy") == jobs_of("permute", "intervals") | GROUP
    for participant in "AB":
        trained, permuted = built.result("train", participant), built.result("permute", participant)
        said, truth = array(trained, "predicted"), array(trained, "labels")
        right = np.where(said < 0, 0.5, said == truth)  # without a model a trial counts as guessed
        np.testing.assert_allclose(array(permuted, "curve_scores"), 100 * right.mean(axis=1))
    (found,) = built.summary()["findings"]
    assert found["group"]["score"] == "accuracy"
    expected = array(built.result("group"), "curve_expected")
    assert found["group"]["chance"] == pytest.approx(expected.mean())
    page = (built.folder / "results/live/report.html").read_text(encoding="utf-8")
    assert "accuracy, the share of trials that are called what they are" in page
    assert "Classes differ in size" in page


def test_auc_rebuilds_train_and_what_is_below(built: LiveProject) -> None:
    """tests/eeg/decoding/metrics compares it with scikit-learn's."""
    score_with(built, "balanced-accuracy")
    before = {name: array(built.result("train", name), "predicted") for name in "AB"}
    below_features = jobs_of("train", "apply", "permute", "intervals", "patterns") | GROUP
    # The check says other things of classes of different size.
    assert score_with(built, "auc") == below_features | {("check", None)}
    for participant in "AB":
        trained = array(built.result("train", participant), "predicted")
        np.testing.assert_array_equal(trained, before[participant])
        permuted = built.result("permute", participant)
        scores = array(permuted, "curve_scores")
        # The same classifiers on the same held-out trials.
        np.testing.assert_allclose(np.diagonal(array(permuted, "plane_scores")), scores, atol=0.02)
        assert abs(array(permuted, "plane_null").mean() - 0.5) < 0.05
    (found,) = built.summary()["findings"]
    assert found["group"]["chance"] == 0.5
    assert 0.5 < found["group"]["curve"]["peak"] <= 1
    assert score_with(built, "balanced-accuracy") == set()


def test_every_null_takes_every_score(built: LiveProject) -> None:
    study = (built.folder / "study.toml").read_text(encoding="utf-8")
    built.edit_study("count = 39", 'count = 9\nnull = "training-labels"')
    try:
        for score, low, high in (("accuracy", 20.0, 85.0), ("auc", 0.2, 0.8)):
            score_with(built, score)
            null = array(built.result("retrain", "A"), "plane_null")
            assert null.shape == (9, 4, 4)
            assert low < null.mean() < high
            record = built.record(built.job("retrain", "A"))
            assert record["arrays"]["plane_null"]["unit"] == ("" if score == "auc" else "%")
    finally:
        built.write_study(study)


def test_an_estimator_without_decisions_is_named(built: LiveProject) -> None:
    study = (built.folder / "study.toml").read_text(encoding="utf-8")
    silent = 'kind = "sklearn"\npath = "sklearn.neighbors.NearestCentroid"\nparams.metric = "manhattan"\n'
    built.edit_study('kind = "linear-svm"\nC = [0.001, 0.01]\ninner_folds = 2\n', silent)
    built.edit_study('score = "balanced-accuracy"', 'score = "auc"')
    try:
        said = built.ax("run", "build_pipeline").fails()
        assert "sklearn.neighbors.NearestCentroid" in said
        assert 'say score = "balanced-accuracy"' in said
    finally:
        built.write_study(study)
