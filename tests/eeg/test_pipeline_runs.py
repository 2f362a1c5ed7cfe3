"""Classes that depend on the run are told of; folds by run, the remedy, decode no drift."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from in_process import InProcess
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import recall_score
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from build_scripts.build_pipeline import decode, make_features
from shortloop.base.errors import InputError
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.study.load import read_study
from shortloop.plan.pipeline import Built

STUDY = """\
name = "runs"
participants = ["A", "B"]
classes = ["left", "right"]
phases.train = "study"
[input]
format = "npz"
files.study = ["{participant}_run*.npz"]
unit = "µV"
[features.amplitude]
baseline = false
lowpass = false
start = 0.0
bins = 2
bin_samples = 5
[decoding]
folds = 8
select_alpha = 1
{more}
[estimator]
kind = "lda"
shrinkage = 0.2
[permutations]
count = 19
null = "training-labels"
"""


def write(folder: Path, runs: list[str], drift: float = 40.0, trials: int = 20) -> None:
    """Runs of `l` (left), `r` (right) and `m` (both); a level of its own in each, and no effect."""
    for who in "AB":
        for number, kind in enumerate(runs, start=1):
            rng = np.random.default_rng([ord(who), number])
            names = {"l": ["left"], "r": ["right"], "m": ["left", "right"]}[kind]
            y = rng.permutation(np.resize(names, trials))
            x = rng.standard_normal((trials, 3, 120)) * 10
            x += drift * rng.standard_normal((3, 1))
            np.savez(
                folder / f"{who}_run{number}.npz", X=x, y=y, t=np.arange(-60, 60) / 100, ch=["Fz", "Cz", "Pz"]
            )


def run_of(folder: Path, more: str = "") -> StudyRun:
    file = folder / "study.toml"
    file.write_text(STUDY.replace("{more}", more), encoding="utf-8")
    jobs = folder / f"jobs{len(list(folder.glob('jobs*')))}"
    jobs.mkdir()
    return StudyRun(InProcess(jobs), read_study(file), file)


def notes_of(run: StudyRun) -> list[str]:
    make_features(run)
    return next(job for job in run.jobs if job.stage == "check").notes()


def made(run: StudyRun, stage: str) -> dict[str | None, Built]:
    return {job.partition: job for job in run.jobs if job.stage == stage}


def test_a_run_of_its_own_for_each_class_has_no_remedy(tmp_path: Path) -> None:
    write(tmp_path, ["l", "r"])
    first, _ = notes_of(run_of(tmp_path))
    assert "A_run1.npz: 20 left; A_run2.npz: 20 right" in first
    assert "tells the class of 100 % of the trials (chance: 50 %)" in first
    assert "no folds can tell class from run" in first
    assert "fold_by" not in first
    with pytest.raises(InputError, match="cannot be held out") as caught:
        make_features(run_of(tmp_path, 'fold_by = "run"'))
    assert "one run alone with left or right (A_run1.npz: 20 left" in caught.value.message


def test_drift_is_decoded_by_trials_and_not_by_runs(tmp_path: Path) -> None:
    """Four runs of one class each: the hint of the note is followed."""
    write(tmp_path, ["l", "r", "r", "l"] * 3)
    wrong = run_of(tmp_path)
    note = notes_of(wrong)[0]
    assert note.endswith("hold out whole runs: decoding.fold_by = 'run'")
    decode(wrong)
    right = run_of(tmp_path, 'fold_by = "run"')
    assert notes_of(right) == []
    decode(right)
    for who in "AB":
        assert made(wrong, "retrain")[who].result().arrays["curve_scores"].max() > 75
        scores = made(right, "retrain")[who].result()
        assert scores.arrays["curve_scores"].max() < 75
        assert len(np.unique(scores.arrays["curve_null"])) > 5  # labels of whole runs change places


def test_a_class_that_is_missing_in_a_run_is_told_of(tmp_path: Path) -> None:
    write(tmp_path, ["m", "m", "l"])
    first, uneven = [note for note in notes_of(run_of(tmp_path)) if note.startswith("A")][::-1]
    assert "20 right" in uneven
    assert "tells the class of 75 % of the trials (chance: 50 %)" in first
    assert first.endswith("decoding.fold_by = 'run'")
    run = run_of(tmp_path, 'fold_by = "run"')
    decode(run)
    assert made(run, "train")["A"].result().facts["decoding"]["folds"] == 2


@pytest.mark.parametrize("runs", [["m"], ["m"] * 4, ["m"] * 12])
def test_runs_that_have_both_classes_are_fine(tmp_path: Path, runs: list[str]) -> None:
    write(tmp_path, runs, trials=10 if len(runs) > 2 else 40)
    rng = np.random.default_rng(1)
    for file in tmp_path.glob("*.npz"):
        with np.load(file) as content:
            np.savez(file, **{**content, "y": rng.permutation(content["y"])})
    assert notes_of(run_of(tmp_path)) == []


def test_folds_by_run_are_leave_one_run_out(tmp_path: Path) -> None:
    write(tmp_path, ["m"] * 5, drift=5.0)
    run = run_of(tmp_path, 'fold_by = "run"')
    decode(run)
    for who in "AB":
        features = made(run, "amplitude")[who].result().arrays
        train = made(run, "train")[who].result()
        x, y, runs = (features[f"{name}_study"] for name in ("data", "labels", "runs"))
        lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2)
        model = make_pipeline(StandardScaler(), lda)
        for each, predicted in zip(np.asarray(x, float), train.arrays["predicted"], strict=True):
            expected = cross_val_predict(model, each, y, groups=runs, cv=LeaveOneGroupOut())
            np.testing.assert_array_equal(predicted, expected)
        scores = made(run, "retrain")[who].result()
        for score, predicted in zip(scores.arrays["curve_scores"], train.arrays["predicted"], strict=True):
            assert score == pytest.approx(100 * recall_score(y, predicted, average="macro"))


def test_a_fold_that_would_train_without_a_class_is_refused(tmp_path: Path) -> None:
    """By the training, too, which alone sees the trials that are drawn; no classifier may be of one class."""
    write(tmp_path, ["l", "r"])
    plain = run_of(tmp_path)
    (made_of, *_) = make_features(plain)["amplitude"].values()
    decoding = {"folds": 2, "select_alpha": 1, "scaling": "training", "fold_by": "run"}
    with pytest.raises(InputError, match="a fold would train without trials of a class"):
        plain.build(
            "train",
            partition="A",
            kind="amplitude",
            phase="study",
            seed=0,
            decoding=decoding,
            decisions=False,
            estimator=plain.study.estimator,
            features=made_of,
        )


def test_one_run_cannot_be_held_out(tmp_path: Path) -> None:
    write(tmp_path, ["m"])
    with pytest.raises(InputError, match="cannot be held out") as caught:
        make_features(run_of(tmp_path, 'fold_by = "run"'))
    assert "name several files" in caught.value.message
