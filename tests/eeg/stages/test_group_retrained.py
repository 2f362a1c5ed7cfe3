"""Cross-validated scores are tested with a few trainings on shuffled labels, as scikit-learn does them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import InProcess
from scipy import ndimage, stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import f_classif
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from build_scripts.build_pipeline import (
    apply,
    decode,
    individual,
    intervals,
    make_features,
    patterns,
    permute,
    train,
)
from shortloop.base.seeds import seed_for
from shortloop.eeg.decoding.patterns import activation_patterns
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.group.settings import TEST_LABELS, GroupSettings
from shortloop.eeg.group.statistics import group_statistics
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.stages.feature_files import load_features
from shortloop.eeg.study.load import read_study
from shortloop.stages.results import Result, open_result

STUDY = """\
name = "tiny"
participants = ["A", "B", "C"]
classes = ["x", "y", "z"]
phases = {train = "study", decode = "test"}
input = {format = "simulated", channels = 4, trials = 9, sfreq = 128, tmin = -0.3, tmax = 0.6}
decoding = {folds = 3, select_alpha = 1.0}
estimator = {kind = "lda"}
permutations = {count = 60, retrained = 4}

[features.amplitude]
bins = 3
bin_samples = 3
"""
SELECTED = STUDY.replace("select_alpha = 1.0", "select_alpha = 0.9")
BAYES = SELECTED.replace('kind = "lda"', 'kind = "sklearn", path = "sklearn.naive_bayes.GaussianNB"')
WITHIN = STUDY.replace(', decode = "test"', "")
CASES: dict[str, tuple[str, Any]] = {
    "lda": (STUDY, LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)),
    "ridge": (STUDY.replace("lda", "ridge"), RidgeClassifier()),
    "bayes": (BAYES, GaussianNB()),
}


def groups_of(text: str, folder: Path, run: InProcess | None = None) -> tuple[InProcess, Result]:
    file = folder / "study.toml"
    file.write_text(text, encoding="utf-8")
    run = run or InProcess(folder)
    (group,) = decode(StudyRun(run, read_study(file), file))
    return run, group.result()


def results(run: InProcess, stage: str) -> list[Result]:
    return [job.result() for job in run.jobs if job.stage == stage]


def plain_curve(features: np.ndarray, labels: np.ndarray, folds: np.ndarray, model: Any) -> np.ndarray:
    """All of it, from the selection of features to the score, with scikit-learn alone."""
    curve = []
    for x in features.astype(float):
        said = np.empty(len(labels), dtype=int)
        for fold in range(3):
            train = folds != fold
            kept = f_classif(x[train], labels[train])[1] < 0.9 if isinstance(model, GaussianNB) else ...
            scaler = StandardScaler().fit(x[train][:, kept])
            fitted = model.fit(scaler.transform(x[train][:, kept]), labels[train])
            said[~train] = fitted.predict(scaler.transform(x[~train][:, kept]))
        curve.append(100 * balanced_accuracy_score(labels, said))
    return np.array(curve)


@pytest.mark.parametrize("case", CASES)
def test_the_null_equals_a_plain_loop_that_shuffles_trains_and_scores(case: str, tmp_path: Path) -> None:
    text, model = CASES[case]
    run, group = groups_of(text, tmp_path)
    true, others = [], []
    for features, trained in zip(results(run, "amplitude"), results(run, "train")):
        labels, folds = (np.asarray(trained.arrays[name]) for name in ("labels", "folds"))
        shuffled = permuted_labels(labels, 4, seed=0, names=(trained.partition or "", "study"), folds=folds)
        x = np.asarray(features.arrays["data_study"])
        true.append(plain_curve(x, labels, folds, model))
        others.append([plain_curve(x, each, folds, model) for each in shuffled])
    for retrained, expected in zip(results(run, "retrain"), others):
        np.testing.assert_allclose(retrained.arrays["curve_null"], expected, rtol=1e-12)
        assert set(retrained.arrays) == {"curve_null", "curve_scores", "train_times"}
    np.testing.assert_allclose(group.arrays["curve_scores"], true, rtol=1e-12)
    draws = np.random.default_rng(seed_for(0, "group", "amplitude", "curve")).integers(0, 5, (60, 3))
    pools = np.concatenate([np.array(true)[:, np.newaxis], others], axis=1)
    smooth = ndimage.gaussian_filter1d(pools, 1.0, mode="nearest", truncate=2.0)
    null = [np.abs(stats.ttest_1samp(smooth[np.arange(3), row], 100 / 3).statistic).max() for row in draws]
    np.testing.assert_allclose(group.arrays["curve_null_max"], null, rtol=1e-9)
    known = group.facts["statistics"]["curve"]
    assert (known["null"], known["error_rate"]) == ("retrained", "")


def test_another_phase_keeps_its_null_and_the_own_is_trained_again(tmp_path: Path) -> None:
    run, group = groups_of(STUDY, tmp_path)
    _, plain = groups_of(STUDY.replace(", retrained = 4", ", retrained = 0"), tmp_path, run)
    for name in (name for name in plain.arrays if name.startswith("plane")):
        np.testing.assert_array_equal(group.arrays[name], plain.arrays[name])
    known = group.facts["statistics"]["plane"]
    assert (known["null"], known["error_rate"]) == ("test-labels", "")
    assert plain.facts["statistics"]["curve"]["null"] == "test-labels"
    assert (np.asarray(group.arrays["curve_null_max"]) != plain.arrays["curve_null_max"]).any()
    (tmp_path / "within").mkdir()
    run, group = groups_of(WITHIN, tmp_path / "within")
    assert group.facts["statistics"]["plane"]["null"] == "retrained"
    first = results(run, "retrain")[0]
    assert first.arrays["plane_null"].shape == (4, 3, 3)
    # A classifier's own bin is what it is cross-validated in.
    own = np.diagonal(first.arrays["plane_null"], axis1=1, axis2=2)
    np.testing.assert_allclose(own, first.arrays["curve_null"])


def test_whoever_does_not_ask_keeps_all_jobs(tmp_path: Path) -> None:
    run, _ = groups_of(SELECTED.replace(", retrained = 4", ""), tmp_path)
    before = {job.job for job in run.jobs}
    assert "retrain" not in {job.stage for job in run.jobs}
    run.jobs.clear()
    groups_of(SELECTED, tmp_path, run)
    assert sorted(job.stage for job in run.jobs if job.job not in before) == ["group", *["retrain"] * 3]
    before |= {job.job for job in run.jobs}
    run.jobs.clear()
    groups_of(SELECTED.replace("count = 60", "count = 80"), tmp_path, run)
    built = sorted(job.stage for job in run.jobs if job.job not in before)
    assert built == ["group", "individual", *["permute"] * 3]


UNSAID, ALONE, SVM = {", retrained = 4": ""}, {'"A", "B", "C"': '"A"'}, {'"lda"': '"linear-svm"'}
FLIPS = {"[features": 'group.null = "sign-flips"\n[features'}
WEIGHED = {"= 1.0}": '= 1.0, class_weight = "balanced"}', '"lda"': '"ridge"'}


@pytest.mark.parametrize(
    ("change", "null", "jobs"),
    [
        (UNSAID, "retrained", 19),  # all are trained at once
        ({**UNSAID, "select_alpha = 1.0": "select_alpha = 0.9"}, "test-labels", 0),
        ({**UNSAID, **SVM}, "test-labels", 0),
        ({**UNSAID, **WEIGHED}, "test-labels", 0),
        ({"retrained = 4": 'null = "training-labels"'}, "training-labels", 60),
        (FLIPS, "sign-flips", 0),
        (ALONE, "training-labels", 4),
        ({**ALONE, **UNSAID}, "training-labels", 60),
        ({**ALONE, **UNSAID, **SVM}, "training-labels", 60),
        ({**ALONE, **SVM, "retrained = 4": 'null = "test-labels"'}, "test-labels", 0),
        ({**ALONE, **FLIPS}, "training-labels", 4),
    ],
)
def test_which_null_it_is_is_said(change: dict[str, str], null: str, jobs: int, tmp_path: Path) -> None:
    text = STUDY
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    run, group = groups_of(text, tmp_path)
    assert group.facts["statistics"]["curve"]["null"] == null
    assert {len(job.arrays["curve_null"]) for job in results(run, "retrain")} == ({jobs} if jobs else set())
    alone = len(group.facts["participants"]) == 1
    said = group.facts["statistics"]["curve"]
    assert said["error_rate"] == (TEST_LABELS if null == "test-labels" and not alone else "")
    assert ("too small" in said["note"]) == (alone and null == "test-labels")
    if alone:  # the table of participants has the same p
        (own,) = results(run, "individual")
        np.testing.assert_array_equal(own.arrays["curve_p_max"][0], group.arrays["curve_p_max"])


STUDY_INDIVIDUAL = """\
name = "tiny"
participants = ["A"]
classes = ["x", "y", "z"]
phases = {{train = "study", decode = "{decode}"}}
input = {{format = "simulated", channels = 4, trials = 12, sfreq = 128, tmin = -0.3, tmax = 0.6}}
decoding = {{folds = 3, select_alpha = 1.0, score = "{score}"}}
estimator = {{kind = "lda"}}
permutations = {{count = 60}}
features.amplitude = {{bins = 3, bin_samples = 9}}
"""


def study_in(folder: Path, text: str) -> StudyRun:
    file = folder / "study.toml"
    file.write_text(text, encoding="utf-8")
    (folder / "jobs").mkdir()
    return StudyRun(InProcess(folder / "jobs"), read_study(file), file)


@pytest.mark.parametrize(
    ("score", "decode"), [("balanced-accuracy", "test"), ("accuracy", "study"), ("auc", "study")]
)
def test_it_is_tested_and_has_intervals(tmp_path: Path, score: str, decode: str) -> None:
    study = study_in(tmp_path, STUDY_INDIVIDUAL.format(score=score, decode=decode))
    features = make_features(study)["amplitude"]["A"]
    models = train(study, "A", "amplitude", features)
    applied = apply(study, "A", "amplitude", features, models)
    permuted = permute(study, "A", "amplitude", features, models, applied)
    found = open_result(individual(study, "amplitude", [permuted], []).path)
    ends = open_result(intervals(study, "A", "amplitude", models, applied).path)
    known = open_result(permuted.path)
    scores: Any = {shape: np.asarray(known.arrays[f"{shape}_scores"]) for shape in ("curve", "plane")}
    for shape, observed in scores.items():
        how: dict[str, Any] = {"chance": known.facts["chance"][shape], "settings": GroupSettings()}
        expected = group_statistics(observed[None], [known.arrays[f"{shape}_null"]], **how)
        np.testing.assert_allclose(found.arrays[f"{shape}_p_max"][0], expected.p_max)
        facts: Any = found.facts["statistics"]
        assert facts[shape][0]["level"] == "participant"
        low, high = ends.arrays[f"{shape}_low"], ends.arrays[f"{shape}_high"]
        assert low.shape == observed.shape
        assert (low < observed).all()
        assert (observed < high).all()
        width = (high - low) * (1 if score == "auc" else 0.01)
        assert width.min() > 0.02
        assert width.max() < 0.6


STUDY_PATTERNS = """\
name = "tiny"
participants = ["A"]
classes = ["x", "y", "z"]
phases = {train = "study"}
input = {format = "simulated", channels = 3, trials = 12, sfreq = 128, tmin = -0.5, tmax = 0.9}
decoding = {folds = 3, select_alpha = 1.0}
estimator = {kind = "lda", shrinkage = 0.5}
permutations = {count = 10}
features.amplitude = {bins = 2, bin_samples = 4}
features.power = {fmin = 10, fmax = 22, fstep = 6, bins = 2, bin_points = 4, every = 4}
"""


def test_they_are_means_over_the_features_of_that_name(tmp_path: Path) -> None:
    study = study_in(tmp_path, STUDY_PATTERNS)
    made = make_features(study)
    for kind in ("power", "amplitude"):
        features = made[kind]["A"]
        models = train(study, "A", kind, features)
        found = open_result(patterns(study, "A", kind, features, models).path)
        assert ("patterns_of_frequencies" in found.arrays) == (kind == "power")
        if kind == "amplitude":
            continue
        assert found.arrays["frequencies"].tolist() == [10, 16, 22]
        data, arrays = load_features(open_result(features.path), "study"), open_result(models.path).arrays
        channels = found.facts["channels"]
        of_frequencies = found.arrays["patterns_of_frequencies"]
        assert of_frequencies.shape == (2, 3, 3, 3)
        for index in range(2):
            given = (arrays["folds"], arrays["weights"][index], arrays["kept"][index])
            every = activation_patterns(data.data[index], *given, standardized=False)
            for channel, name in enumerate(channels):
                for place, hertz in enumerate((10, 16, 22)):
                    mine = [each.startswith(f"{name} {hertz} Hz ") for each in data.names]
                    assert sum(mine) == 4
                    own = of_frequencies[index, :, channel, place]
                    np.testing.assert_allclose(own, every[:, mine].mean(axis=1))
        np.testing.assert_allclose(of_frequencies.mean(axis=3), found.arrays["patterns"])
