"""What is odd about recordings, classes and runs of a study is refused or said, with remedies that work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import InProcess
from refusal import refusal
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import recall_score
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.level import ALPHA, CHANCE, CLASSES, CLASSIFIERS, FEATURES, RECORDING, studies_of, summary
from build_scripts.build_pipeline import decode, make_features
from shortloop.base.errors import InputError
from shortloop.eeg.decoding.generalize import retrained_scores
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics
from shortloop.eeg.pipeline import StudyRun, check_recordings, import_epochs
from shortloop.eeg.study.load import read_study
from shortloop.plan.pipeline import Built

STUDY = """\
name = "odd"
participants = ["A", "B"]
classes = ["left", "right"]
phases.train = "study"
{input}
unit = "µV"
[features.amplitude]
baseline = false
lowpass = false
start = 0.0
bins = 2
bin_samples = 5
{settings}
"""
PHASES = """\
phases.decode = "test"
[input]
format = "npz"
files.study = ["{participant}_study.npz"]
files.test = ["{participant}_test.npz"]"""
RUNS = '[input]\nformat = "npz"\nfiles.study = ["{participant}_run*.npz"]'
UNEVEN = """\
[features]
power = {{fmin = 10, fmax = 14, cycles = 2, start = 0.0, every = 2, bins = 2, bin_points = 2, apply = false}}
[permutations]
count = 5
[estimator]
{estimator}
[decoding]
folds = 4
{more}"""
BY_RUN = """\
[permutations]
count = 19
null = "training-labels"
[estimator]
kind = "lda"
shrinkage = 0.2
[decoding]
folds = 8
select_alpha = 1
{more}"""
DEFAULT = {"folds": 4, "select_alpha": 0.05, "scaling": "training"}


def study_in(folder: Path, of: str, settings: str) -> StudyRun:
    file = folder / "study.toml"
    file.write_text(STUDY.format(input=of, settings=settings), encoding="utf-8")
    jobs = folder / f"jobs{len(list(folder.glob('jobs*')))}"
    jobs.mkdir()
    return StudyRun(InProcess(jobs), read_study(file), file)


def run_of(folder: Path, more: str = "", estimator: str = 'kind = "lda"') -> StudyRun:
    return study_in(folder, PHASES, UNEVEN.format(more=more, estimator=estimator))


def runs_of(folder: Path, more: str = "") -> StudyRun:
    return study_in(folder, RUNS, BY_RUN.format(more=more))


def write(folder: Path, many: int, few: int) -> None:
    for number, name in enumerate(("A_study", "A_test", "B_study", "B_test")):
        rng = np.random.default_rng(number)
        y = rng.permutation(np.repeat(["left", "right"], [many, few]))
        x = rng.standard_normal((len(y), 3, 120)) * 10
        x[y == "right", 0, 60:] += 15
        np.savez(folder / f"{name}.npz", X=x, y=y, t=np.arange(-60, 60) / 100, ch=["Fz", "Cz", "Pz"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, 40, 8)
    return tmp_path


def test_five_to_one_is_told_of_with_the_remedies(folder: Path) -> None:
    """Who asks for nothing keeps all options; build scripts may be older than the option to subsample."""
    run = run_of(folder)
    decode(run)
    (check,) = made(run, "check").values()
    notes = check.notes()
    assert [note.partition(": ")[0] for note in notes] == ["A, study", "B, study"]
    for part in ("40 left, 8 right", "class_weight = 'balanced'", "subsample = true", "score = 'auc'"):
        assert part in notes[0]
    warnings = [each["warnings"] for each in check.result().facts["recordings"]]
    assert [len(each) for each in warnings] == [1, 0, 1, 0]
    assert "subsample" not in {job.stage for job in run.jobs}
    trained = [job.result() for job in run.jobs if job.stage == "train"]
    assert all(job.options["decoding"] == DEFAULT == job.facts["decoding"] for job in trained)
    features = made(run, "amplitude")["A"]
    with refusal("the build script does not subsample"):
        train(run, {**DEFAULT, "subsample": True}, features)


@pytest.mark.parametrize(
    ("more", "estimator"),
    [
        ("subsample = true", "lda"),
        ('score = "auc"', "lda"),
        ('class_weight = "balanced"', "ridge"),
        ("", "lda"),
    ],
)
def test_who_takes_a_remedy_or_needs_none_is_told_nothing(folder: Path, more: str, estimator: str) -> None:
    if not more:
        write(folder, 20, 11)
    assert notes_of(run_of(folder, more, f'kind = "{estimator}"')) == []


def test_subsampled_trials_are_all_that_later_stages_see(folder: Path) -> None:
    run = run_of(folder, "subsample = true")
    decode(run)
    drawn = [job.result() for job in run.jobs if job.stage == "subsample"]
    chosen = {(each.facts["kind"], each.partition): each for each in drawn}
    for kind, phases in (("amplitude", ("study", "test")), ("power", ("study",))):
        for name in "AB":
            result = chosen[kind, name]
            for phase in phases:
                with np.load(folder / f"{name}_{phase}.npz") as content:
                    right = content["y"] == "right"
                kept = result.arrays[f"trials_{phase}"]
                np.testing.assert_array_equal(result.arrays[f"labels_{phase}"], right[kept])
                assert right[kept].sum() == 8 == len(kept) / 2
                before = next(job.result() for job in run.jobs if (job.stage, job.partition) == (kind, name))
                expected = before.arrays[f"data_{phase}"][:, kept]
                np.testing.assert_array_equal(result.arrays[f"data_{phase}"], expected)
    # The same trials for all kinds of features, others for others.
    studies = {key: each.arrays["trials_study"].tolist() for key, each in chosen.items()}
    assert studies["amplitude", "A"] == studies["power", "A"] != studies["power", "B"]
    for job in run.jobs:
        if job.stage == "train":
            assert job.result().arrays["predicted"].shape == (2, 16)
            assert job.result().options["decoding"] == DEFAULT
        if job.stage == "apply":
            assert job.result().arrays["votes"].shape == (2, 2, 16, 2)


BAYES = 'kind = "sklearn"\npath = "sklearn.naive_bayes.GaussianNB"'


@pytest.mark.parametrize("estimator", ['kind = "lda"', BAYES], ids=["lda", "bayes"])
def test_an_estimator_without_class_weights_is_refused(folder: Path, estimator: str) -> None:
    """With the study, or with the training of a class that only then says what it can."""
    with refusal("no class weights", "decoding.subsample = true"):
        decode(run_of(folder, 'class_weight = "balanced"', estimator))


def train(run: StudyRun, decoding: dict[str, Any], features: Built) -> Built:
    """Ask for the job that trains, as a build script does."""
    how: dict[str, Any] = {"partition": "A", "kind": "amplitude", "phase": "study", "seed": 0}
    how |= {"decisions": False, "estimator": run.study.estimator}
    return run.build("train", decoding=decoding, features=features, **how)


def recording(seed: int) -> dict[str, np.ndarray]:
    return {
        "X": np.random.default_rng(seed).standard_normal((20, 3, 60)) * 10,
        "y": np.array(["left", "right"] * 10),
        "t": np.arange(-20, 40) / 100,
        "ch": np.array(["Fz", "Cz", "Pz"]),
    }


def spoil(folder: Path, name: str, seed: int, **changes: object) -> None:
    np.savez(folder / f"{name}.npz", **{**recording(seed), **changes})  # type: ignore[arg-type]


@pytest.fixture
def even(tmp_path: Path) -> Path:
    """As many trials of each class."""
    for number, name in enumerate(("A_study", "A_test", "B_study", "B_test")):
        spoil(tmp_path, name, number)
    return tmp_path


def checked(folder: Path, of: str = PHASES) -> tuple[dict[str, Built], Built]:
    run = study_in(folder, of, "[decoding]\nfolds = 5\n[estimator]\nkind = 'lda'")
    imported = import_epochs(run)
    return imported, check_recordings(run, list(imported.values()))


def test_good_recordings_say_nothing(even: Path) -> None:
    imported, check = checked(even)
    for job in imported.values():
        facts = job.result().facts
        assert facts["notes"] == []
        assert [each["warnings"] for each in facts["recordings"]] == [[], []]
        assert [each["unit"] for each in facts["recordings"]] == ["µV", "µV"]
        assert all(each["amplitude"] == pytest.approx(10, rel=0.1) for each in facts["recordings"])
    assert check.notes() == []
    known = [(each["participant"], each["phase"]) for each in check.result().facts["recordings"]]
    assert known == [("A", "study"), ("A", "test"), ("B", "study"), ("B", "test")]


def test_what_is_odd_is_with_its_recording_and_among_the_notes(even: Path) -> None:
    data = recording(2)["X"]
    data[:, 1] = 0
    y = recording(2)["y"]
    spoil(even, "B_study", 2, X=np.concatenate([data, data[:2]]), y=np.r_[y, y[:2]])
    imported, check = checked(even)
    study, test = imported["B"].result().facts["recordings"]
    assert test["warnings"] == []
    twice, flat = study["warnings"]
    assert twice.startswith("B_study.npz: 2 of 22 trials are there twice")
    assert flat.startswith("channel Cz is flat in all 20 trials")
    assert study["trials"] == {"left": 10, "right": 10}
    assert imported["B"].notes()[1] == f"B, study: {flat}"
    assert imported["A"].notes() == check.notes() == []
    assert check.result().facts["recordings"][2]["warnings"] == study["warnings"]


def test_recordings_that_a_study_refuses(even: Path) -> None:
    spoil(even, "B_test", 3, X=recording(3)["X"] * 1e-6)
    with refusal(
        "", "probably in V, and others in µV", "participant:  B", "B_test.npz", "e-06 µV", "as in A, "
    ):
        checked(even)
    # A study that names a file twice would decode what it was trained on.
    with refusal(r"20 of 20 trials have the same samples(.|\n)*is named for both"):
        checked(even, PHASES.replace("_test.npz", "_study.npz"))
    data = recording(3)["X"]
    data[5] = recording(2)["X"][9]
    spoil(even, "B_test", 3, X=data)
    with pytest.raises(InputError) as caught:
        checked(even)
    where = ("participant:  B", "B_test.npz", "trial 6, as trial 10 of study")
    for part in ("what they were trained on", *where):
        assert part in str(caught.value)


def write_of_runs(folder: Path, runs: list[str], drift: float = 40.0, trials: int = 20) -> None:
    """Runs of `l` (left), `r` (right) and `m` (both); a level of its own in each, and no effect."""
    for who in "AB":
        for number, kind in enumerate(runs, start=1):
            rng = np.random.default_rng([ord(who), number])
            names = {"l": ["left"], "r": ["right"], "m": ["left", "right"]}[kind]
            y = rng.permutation(np.resize(names, trials))
            x = rng.standard_normal((trials, 3, 120)) * 10
            x += drift * rng.standard_normal((3, 1))
            times = np.arange(-60, 60) / 100
            np.savez(folder / f"{who}_run{number}.npz", X=x, y=y, t=times, ch=["Fz", "Cz", "Pz"])


def notes_of(run: StudyRun) -> list[str]:
    make_features(run)
    return next(job for job in run.jobs if job.stage == "check").notes()


def made(run: StudyRun, stage: str) -> dict[str | None, Built]:
    return {job.partition: job for job in run.jobs if job.stage == stage}


def test_a_run_of_its_own_for_each_class_has_no_remedy(tmp_path: Path) -> None:
    write_of_runs(tmp_path, ["l", "r"])
    first, _ = notes_of(runs_of(tmp_path))
    assert "A_run1.npz: 20 left; A_run2.npz: 20 right" in first
    assert "tells the class of 100 % of the trials (chance: 50 %)" in first
    assert "no folds can tell class from run" in first
    assert "fold_by" not in first
    with refusal("cannot be held out", "one run alone with left or right (A_run1.npz: 20 left"):
        make_features(runs_of(tmp_path, 'fold_by = "run"'))
    for file in tmp_path.glob("*_run2.npz"):
        file.unlink()
    write_of_runs(tmp_path, ["m"])
    with refusal("name several files"):
        make_features(runs_of(tmp_path, 'fold_by = "run"'))


def test_drift_is_decoded_by_trials_and_not_by_runs(tmp_path: Path) -> None:
    """Four runs of one class each: the hint of the note is followed."""
    write_of_runs(tmp_path, ["l", "r", "r", "l"] * 3)
    wrong = runs_of(tmp_path)
    assert notes_of(wrong)[0].endswith("hold out whole runs: decoding.fold_by = 'run'")
    decode(wrong)
    right = runs_of(tmp_path, 'fold_by = "run"')
    assert notes_of(right) == []
    decode(right)
    for who in "AB":
        assert made(wrong, "retrain")[who].result().arrays["curve_scores"].max() > 75
        scores = made(right, "retrain")[who].result()
        assert scores.arrays["curve_scores"].max() < 75
        assert len(np.unique(scores.arrays["curve_null"])) > 5  # labels of whole runs change places


def test_a_class_that_is_missing_in_a_run_is_told_of(tmp_path: Path) -> None:
    write_of_runs(tmp_path, ["m", "m", "l"])
    first, uneven = [note for note in notes_of(runs_of(tmp_path)) if note.startswith("A")][::-1]
    assert "20 right" in uneven
    assert "tells the class of 75 % of the trials (chance: 50 %)" in first
    assert first.endswith("decoding.fold_by = 'run'")
    run = runs_of(tmp_path, 'fold_by = "run"')
    decode(run)
    assert made(run, "train")["A"].result().facts["decoding"]["folds"] == 2


@pytest.mark.parametrize("runs", [["m"], ["m"] * 4, ["m"] * 12])
def test_runs_that_have_both_classes_are_fine(tmp_path: Path, runs: list[str]) -> None:
    write_of_runs(tmp_path, runs, trials=10 if len(runs) > 2 else 40)
    rng = np.random.default_rng(1)
    for file in tmp_path.glob("*.npz"):
        with np.load(file) as content:
            np.savez(file, **{**content, "y": rng.permutation(content["y"])})
    assert notes_of(runs_of(tmp_path)) == []


def test_folds_by_run_are_leave_one_run_out(tmp_path: Path) -> None:
    write_of_runs(tmp_path, ["m"] * 5, drift=5.0)
    run = runs_of(tmp_path, 'fold_by = "run"')
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
    write_of_runs(tmp_path, ["l", "r"])
    plain = runs_of(tmp_path)
    (made_of, *_) = make_features(plain)["amplitude"].values()
    with refusal("a fold would train without trials of a class"):
        train(plain, {"folds": 2, "select_alpha": 1, "scaling": "training", "fold_by": "run"}, made_of)


RECORDINGS, PERMUTATIONS = 20, 199
ASKED = CLASSIFIERS["SVM, selected features"]


@pytest.mark.slow
def test_family_wise_error_rate_of_whole_studies() -> None:
    found = summary([studies_of(number, PERMUTATIONS) for number in range(RECORDINGS)])
    for name, both in found["levels"].items():
        for statistic, level in both.items():
            half = (level["high"] - level["low"]) / 2  # of the 95 % interval
            assert abs(level["share"] - ALPHA) < 2 * half < 0.04, (name, statistic, level)
    # Under shuffled test labels, cross-validated scores vary less than those of what is trained again.
    for of_labels, of_test_labels in (each.values() for each in found["moments"].values()):
        assert of_labels["deviation"] > 1.15 * of_test_labels["deviation"]
        assert abs(of_labels["mean"]) < 0.2


def smallest_p_of_one(seed: int, permutations: int) -> list[float]:
    """Of one participant's curve, everything trained again on each permutation's labels."""
    recording = RECORDING.generate(
        participant="S01", phase="study", classes=CLASSES, seed=seed, training=True
    )
    train = amplitude_features(recording, FEATURES)
    folds = stratified_folds(train.labels, ASKED.decoding.folds, seed)
    shuffled = permuted_labels(train.labels, permutations, seed=seed, names=("S01", "study"), folds=folds)
    how: dict[str, Any] = {"n_classes": len(CLASSES), "within": False}
    how |= {"decoding": ASKED.decoding, "estimator": ASKED.estimator}
    every = (train.labels, *shuffled)
    scores = np.stack([retrained_scores(train.data, each, folds, None, each, **how)[0] for each in every])
    result = group_statistics(scores[:1], [scores[1:]], chance=CHANCE, settings=GroupSettings())
    return [float(result.p_max.min()), float(result.p_cluster.min())]


@pytest.mark.slow
def test_error_rate_of_one_participant_trained_again() -> None:
    # Cross-validated scores of noise vary more than re-tallied votes do, as folds share their training
    # trials: one participant's curve needs the null that trains again (Noirhomme et al. 2014, NeuroImage
    # Clin. 4:687). Over participants, t is a ratio to that very variation.
    p = np.array([smallest_p_of_one(seed, 39) for seed in range(150)])
    significant = (p <= ALPHA).sum(axis=0)
    low, high = stats.binom.ppf([0.005, 0.995], len(p), ALPHA)
    assert significant[0] >= low
    assert (significant <= high).all(), f"{significant} of {len(p)}; expected {low:g} to {high:g}"
