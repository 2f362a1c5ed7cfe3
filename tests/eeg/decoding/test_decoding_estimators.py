"""What every estimator must satisfy, and that a job's key holds the one that it trains and no other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from shortloop.eeg.decoding.batched.labellings import Labellings
from shortloop.eeg.decoding.batched.scores import batched_scores, can_be_batched
from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.estimators.registry import AnyEstimator
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin
from shortloop.jobs.keys.closure import closure
from shortloop.jobs.keys.code import code_state
from shortloop.settings.records import tag_of

ROOT = Path(__file__).resolve().parents[3]
RECORDS: dict[str, type[EstimatorSettings]] = {
    tag_of(each): each for each in get_args(get_args(AnyEstimator)[0])
}
PATHS = ["sklearn.naive_bayes.GaussianNB", "sklearn.linear_model.LogisticRegression"]
SETTINGS = [{"kind": kind} for kind in RECORDS if kind != "sklearn"]
SETTINGS += [{"kind": "sklearn", "path": path} for path in PATHS]
NAMES = [each.get("path", each["kind"]) for each in SETTINGS]
FEW = ("linear-svm", "sklearn.linear_model.LogisticRegression")
every = pytest.mark.parametrize("settings", SETTINGS, ids=NAMES)

# Says what is imported by training and predicting after all is warmed up.
AFTER_WARMING_UP = """
import json, sys
import numpy as np
from shortloop.eeg.decoding.batched import scores
from shortloop.eeg.decoding.batched.labellings import Labellings
from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin, warm_up

estimator = EstimatorSettings.model_validate(json.loads(sys.argv[1]))
warm_up(estimator)
if estimator.batched:
    scores.warm_up_batched(estimator)
before = set(sys.modules)
labels, folds = np.tile([0, 1, 2], 12), np.arange(36) // 3 % 2
x = np.random.default_rng(0).standard_normal((36, 5)) + labels[:, np.newaxis]
decoding = DecodingSettings(folds=2, select_alpha=1.0)
train_bin(x, labels, folds, n_classes=3, decoding=decoding, estimator=estimator)
if estimator.batched:
    many = Labellings(labels[np.newaxis], folds, 3, 2)
    scores.batched_scores(x, many, None, None, within=False, decoding=decoding, estimator=estimator)
print(json.dumps(sorted(name for name in set(sys.modules) - before if not name.startswith("numba."))))
"""


def estimator_of(settings: dict[str, str]) -> EstimatorSettings:
    return EstimatorSettings.model_validate(settings)


def in_a_new_process(code: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: list[str] = json.loads(done.stdout)
    return found


def problem(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Trials that are told apart with ease, their classes and folds."""
    labels = np.tile(np.arange(n_classes), 16)
    x = np.random.default_rng(1).standard_normal((len(labels), 6)) + 4.0 * np.eye(n_classes, 6)[labels]
    return x, labels, stratified_folds(labels, 4, 0)


def test_every_estimator_in_the_folder_is_in_the_table() -> None:
    folder = ROOT / "shortloop" / "eeg" / "decoding" / "estimators"
    assert {file.stem for file in folder.glob("*.py")} == {
        *("__init__", "base", "registry"),
        *(record.__module__.rpartition(".")[2] for record in RECORDS.values()),
    }


@pytest.mark.parametrize("kind", RECORDS)
def test_it_is_found_by_its_name(kind: str) -> None:
    assert EstimatorSettings.named(kind) is RECORDS[kind]


@every
def test_what_is_written_of_it_makes_it_again(settings: dict[str, str]) -> None:
    estimator = estimator_of(settings)
    assert type(estimator) is RECORDS[settings["kind"]]
    assert estimator_of(json.loads(json.dumps(estimator.model_dump(mode="json")))) == estimator


def test_the_records_of_all_estimators_are_light() -> None:
    code = "import json, sys, shortloop.eeg.study.schema; print(json.dumps(sorted(sys.modules)))"
    assert set(in_a_new_process(code)) & {"numpy", "scipy", "sklearn", "numba"} == set()


@every
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_what_it_says(settings: dict[str, str], n_classes: int) -> None:
    estimator = estimator_of(settings)
    x, labels, folds = problem(n_classes)
    decoding = DecodingSettings(folds=4)
    models = train_bin(
        x, labels, folds, n_classes=n_classes, decoding=decoding, estimator=estimator, decisions=True
    )
    assert (models.predicted == labels).mean() > 0.9
    assert np.isfinite(models.decisions).all()
    assert (models.weights.shape[1] == n_classes) == estimator.is_linear
    assert np.isfinite(models.C).all() == (estimator.nested_folds is not None)
    estimator.check_decisions(n_classes)


@every
def test_it_is_trained_on_many_labellings_if_it_says_so(settings: dict[str, str]) -> None:
    estimator, decoding = estimator_of(settings), DecodingSettings(folds=4, select_alpha=1.0)
    x, labels, folds = problem()
    labellings = Labellings(labels[np.newaxis], folds, 3, 4)
    assert can_be_batched(estimator, decoding) == bool(estimator.batched)
    if estimator.batched:
        found = batched_scores(
            x, labellings, None, None, within=False, decoding=decoding, estimator=estimator
        )
        assert found[0][0] > 90
    else:
        with pytest.raises(TypeError, match="one labelling at a time"):
            batched_scores(x, labellings, None, None, within=False, decoding=decoding, estimator=estimator)


@pytest.mark.parametrize(
    "settings",
    [
        each if name in FEW else pytest.param(each, marks=pytest.mark.slow)
        for each, name in zip(SETTINGS, NAMES)
    ],
    ids=NAMES,
)
def test_processes_that_are_forked_find_all_loaded(settings: dict[str, str]) -> None:
    assert in_a_new_process(AFTER_WARMING_UP, json.dumps(settings)) == []


@every
@pytest.mark.parametrize("stage", ["train", "apply", "permute"])
def test_a_key_holds_the_estimator_that_it_trains_and_no_other(settings: dict[str, str], stage: str) -> None:
    method = ROOT / "methods" / f"a_{stage}.py"
    estimator = estimator_of(settings)
    own = type(estimator).__module__
    estimators = {record.__module__ for record in RECORDS.values()}
    solvers = {module for name in estimators for module in closure(method, [name])[0]} - set(
        closure(method)[0]
    )
    assert estimators < solvers
    more = estimator.modules(batched=stage == "permute")
    held = set(closure(method, more)[0])
    assert held & estimators == {own}
    assert "shortloop.eeg.decoding.estimators.registry" not in held
    assert any("solvers.svm" in name for name in held) == (settings["kind"] == "linear-svm")
    assert any(".lda" in name for name in held) == (settings["kind"] == "lda")
    if estimator.batched:
        assert (f"shortloop.eeg.decoding.batched.{estimator.batched}" in held) == (stage == "permute")
    libraries = code_state(method, more).libraries
    assert ("sklearn" in libraries) == (settings["kind"] in ("sklearn", "matlab-svm"))


def test_the_module_of_a_path_is_in_the_key_too() -> None:
    assert estimator_of({"kind": "sklearn", "path": "tools.nearest.Nearest"}).modules() == [
        "shortloop.eeg.decoding.estimators.sklearn",
        "tools.nearest",
    ]
