"""Classes of very different size are told of; the remedies are there, and who asks for none keeps keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from in_process import InProcess

from build_scripts.build_pipeline import decode, make_features
from shortloop.base.errors import InputError
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.study.load import read_study
from shortloop.plan.pipeline import Built

STUDY = """\
name = "uneven"
participants = ["A", "B"]
classes = ["left", "right"]
phases.train = "study"
phases.decode = "test"
[input]
format = "npz"
files.study = ["{participant}_study.npz"]
files.test = ["{participant}_test.npz"]
unit = "µV"
[features.amplitude]
baseline = false
lowpass = false
start = 0.0
bins = 2
bin_samples = 5
[features.power]
fmin = 10
fmax = 14
cycles = 2
start = 0.0
every = 2
bins = 2
bin_points = 2
apply = false
[decoding]
folds = 4
{more}
[estimator]
kind = "lda"
[permutations]
count = 5
"""
DEFAULT = {"folds": 4, "select_alpha": 0.05, "scaling": "training"}


def write(folder: Path, many: int, few: int) -> None:
    for number, name in enumerate(("A_study", "A_test", "B_study", "B_test")):
        rng = np.random.default_rng(number)
        y = rng.permutation(np.repeat(["left", "right"], [many, few]))
        x = rng.standard_normal((len(y), 3, 120)) * 10
        x[y == "right", 0, 60:] += 15
        np.savez(folder / f"{name}.npz", X=x, y=y, t=np.arange(-60, 60) / 100, ch=["Fz", "Cz", "Pz"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs").mkdir()
    write(tmp_path, 40, 8)
    return tmp_path


def run_of(folder: Path, more: str = "", estimator: str = "lda", jobs: str = "jobs") -> StudyRun:
    file = folder / "study.toml"
    text = STUDY.replace("{more}", more).replace('kind = "lda"', f'kind = "{estimator}"')
    file.write_text(text, encoding="utf-8")
    return StudyRun(InProcess(folder / jobs), read_study(file), file)


def check_of(run: StudyRun) -> Built:
    make_features(run)
    return next(job for job in run.jobs if job.stage == "check")


def test_five_to_one_is_told_of_with_the_remedies(folder: Path) -> None:
    check = check_of(run_of(folder))
    notes = check.notes()
    assert [note.partition(": ")[0] for note in notes] == ["A, study", "B, study"]
    for part in ("40 left, 8 right", "class_weight = 'balanced'", "subsample = true", "score = 'auc'"):
        assert part in notes[0]
    warnings = [each["warnings"] for each in check.result().facts["recordings"]]
    assert [len(each) for each in warnings] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("more", "estimator"),
    [("subsample = true", "lda"), ('score = "auc"', "lda"), ('class_weight = "balanced"', "ridge")],
)
def test_who_takes_a_remedy_is_told_nothing(folder: Path, more: str, estimator: str) -> None:
    assert check_of(run_of(folder, more, estimator)).notes() == []


def test_classes_of_about_the_same_size_are_fine(folder: Path) -> None:
    write(folder, 20, 11)
    assert check_of(run_of(folder)).notes() == []


def test_a_study_that_asks_for_nothing_keeps_its_options(folder: Path) -> None:
    run = run_of(folder)
    decode(run)
    assert "subsample" not in {job.stage for job in run.jobs}
    trained = [job.result() for job in run.jobs if job.stage == "train"]
    assert all(job.options["decoding"] == DEFAULT == job.facts["decoding"] for job in trained)


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
                np.testing.assert_array_equal(
                    result.arrays[f"data_{phase}"], before.arrays[f"data_{phase}"][:, kept]
                )
    # The same trials for all kinds of features, others for others.
    studies = {key: each.arrays["trials_study"].tolist() for key, each in chosen.items()}
    assert studies["amplitude", "A"] == studies["power", "A"] != studies["power", "B"]
    for job in run.jobs:
        if job.stage == "train":
            assert job.result().arrays["predicted"].shape == (2, 16)
            assert job.result().options["decoding"] == DEFAULT
        if job.stage == "apply":
            assert job.result().arrays["votes"].shape == (2, 2, 16, 2)


def test_an_estimator_without_class_weights_is_refused_with_the_study(folder: Path) -> None:
    with pytest.raises(InputError, match="has no class weights") as caught:
        run_of(folder, 'class_weight = "balanced"')
    assert "decoding.subsample = true" in caught.value.message


def test_a_build_script_that_knows_nothing_of_it_is_told(folder: Path) -> None:
    """Projects have copies of it, which may be older than the option."""
    run = run_of(folder)
    (made, *_) = make_features(run)["amplitude"].values()
    with pytest.raises(InputError, match="the build script does not subsample"):
        run.build(
            "train",
            partition="A",
            kind="amplitude",
            phase="study",
            seed=0,
            decoding={**DEFAULT, "subsample": True},
            decisions=False,
            estimator=run.study.estimator,
            features=made,
        )
