"""Scores of a study come out of MNE's estimators, with the same data and folds, as `to_mne` gives them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from cases import first_cases
from in_process import InProcess
from mne.decoding import GeneralizingEstimator, cross_val_multiscore
from refusal import refusal
from report_synthetic import kind_result
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from build_scripts.build_pipeline import decode
from shortloop.eeg.mne_scores import SCORING, SUMMARY_AXES, MneScores, to_mne
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.report.summary import participant_scores
from shortloop.eeg.study.load import read_study
from shortloop.stages.results import Result

# Patterns come back later at test than they are at study, so that the plane is not its own mirror image.
STUDY = """\
name = "tiny"
participants = ["A", "B"]
classes = {classes}
phases = {phases}
input = {{format = "simulated", channels = 6, trials = {trials}, sfreq = 64, tmin = -0.3, tmax = 0.8}}
decoding = {{folds = 3, select_alpha = 1.0, scaling = "training", score = "{score}"}}
estimator = {{kind = "lda", shrinkage = 0.1}}
permutations = {{count = 5}}
features.amplitude = {{bins = 6, bin_samples = 6, apply = {apply}}}
"""
TWO, THREE = '["x", "y"]', '["x", "y", "z"]'
WITHIN, ACROSS = '{train = "study"}', '{train = "study", decode = "test"}'


class Decoded(NamedTuple):
    """The jobs of a small study, by stage and participant."""

    jobs: dict[tuple[str, str | None], Result]

    def features(self, who: str, phase: str) -> tuple[np.ndarray, np.ndarray]:
        """As MNE has them, trials × features × times, and the class of each trial."""
        arrays = self.jobs["amplitude", who].arrays
        return arrays[f"data_{phase}"].transpose(1, 2, 0).astype(float), np.array(arrays[f"labels_{phase}"])


def decoded(
    folder: Path, phases: str, score: str, classes: str = '["x", "y"]', apply: str = "true"
) -> Decoded:
    file = folder / "study.toml"
    trials = 12 * classes.count(",") + 12
    file.write_text(STUDY.format(phases=phases, score=score, classes=classes, trials=trials, apply=apply))
    run = InProcess(folder)
    decode(StudyRun(run, read_study(file), file))
    return Decoded({(job.stage, job.partition): job.result() for job in run.jobs})


def by_mne(found: Decoded, who: str, scoring: str, test: str) -> np.ndarray:
    """Mean over folds of what each fold's classifiers score: training times × test times."""
    folds = np.array(found.jobs["train", who].arrays["folds"])
    model = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1))
    generalizing = GeneralizingEstimator(model, scoring=scoring, verbose="error")
    x, y = found.features(who, "study")
    if test == "study":
        scores: np.ndarray = cross_val_multiscore(
            generalizing, x, y, cv=PredefinedSplit(folds), verbose="error"
        )
        return scores.mean(axis=0)
    planes = []
    for fold in range(3):
        generalizing.fit(x[folds != fold], y[folds != fold])
        planes.append(generalizing.score(*found.features(who, test)))
    mean: np.ndarray = np.mean(planes, axis=0)
    return mean


@first_cases(
    3,
    ("test", "score", "classes"),
    [
        *(("study", "auc", TWO), ("test", "accuracy", THREE), ("study", "balanced-accuracy", TWO)),
        *(("test", "auc", TWO), ("study", "accuracy", THREE), ("test", "balanced-accuracy", TWO)),
    ],
)
def test_planes_are_those_of_mne_not_mirrored(tmp_path: Path, score: str, classes: str, test: str) -> None:
    found = decoded(tmp_path, WITHIN if test == "study" else ACROSS, score, classes)
    of_all = to_mne(found.jobs["group", None])
    assert of_all.participants == ("A", "B")
    for number, who in enumerate(of_all.participants):
        expected = by_mne(found, who, of_all.scoring, test)
        own = to_mne(found.jobs["permute", who])
        assert own.participants == (who,)
        for scores, place in ((of_all, number), (own, 0)):
            assert scores.generalizing is not None
            np.testing.assert_allclose(scores.generalizing[place], expected, atol=1e-12)
            assert not np.allclose(scores.generalizing[place].T, expected, atol=0.02)
            if test == "study":
                np.testing.assert_allclose(scores.sliding[place], np.diag(expected), atol=1e-12)


def test_times_are_those_of_the_axes(tmp_path: Path) -> None:
    found = decoded(tmp_path, ACROSS, "auc")
    scores = to_mne(found.jobs["group", None])
    assert scores.test_times is not None
    assert scores.generalizing is not None
    assert scores.generalizing.shape == (2, len(scores.train_times), len(scores.test_times))
    np.testing.assert_array_equal(scores.train_times, found.jobs["train", "A"].arrays["times"])
    np.testing.assert_array_equal(scores.test_times, found.jobs["amplitude", "A"].arrays["times_test"])
    assert scores.time_unit == "s"
    scores.generalizing[:] = 0  # a copy
    again = to_mne(found.jobs["group", None]).generalizing
    assert again is not None
    assert again.all()


def test_without_generalization_there_is_none(tmp_path: Path) -> None:
    found = decoded(tmp_path, ACROSS, "balanced-accuracy", apply="false")
    scores = to_mne(found.jobs["group", None])
    assert scores.generalizing is scores.test_times is None
    assert isinstance(scores, MneScores)
    assert 0 <= scores.sliding.min() <= scores.sliding.max() <= 1
    with refusal("holds no scores", "of train"):
        to_mne(found.jobs["train", "A"])


def test_scores_and_axes_have_names_of_scikit_learn_and_of_the_summary() -> None:
    assert {*SCORING.values(), "roc_auc_ovr"} <= {*get_scorer_names()}
    (scores,) = participant_scores(kind_result(participants=1, bins=12, test_bins=10))
    for name in ("curve", "generalization"):
        assert np.shape(scores[name]) == tuple(len(scores[axis]) for axis in SUMMARY_AXES[name])
