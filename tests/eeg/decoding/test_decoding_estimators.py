"""What every estimator must satisfy, and that a job's key holds the one that it trains and no other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.testing import ESTIMATOR_CHECKS, Check
from shortloop.keys.closure import closure
from shortloop.keys.code import code_state
from shortloop.settings.base import tag_of

ROOT = Path(__file__).resolve().parents[3]
RECORDS = {tag_of(each): each for each in EstimatorSettings.kinds()}
PATHS = ["sklearn.naive_bayes.GaussianNB", "sklearn.linear_model.LogisticRegression"]
SETTINGS = [{"kind": kind} for kind in RECORDS if kind != "sklearn"]
SETTINGS += [{"kind": "sklearn", "path": path} for path in PATHS]
NAMES = [each.get("path", each["kind"]) for each in SETTINGS]
FEW = ("linear-svm",)
every = pytest.mark.parametrize("settings", SETTINGS, ids=NAMES)


def estimator_of(settings: dict[str, str]) -> EstimatorSettings:
    return EstimatorSettings.model_validate(settings)


def test_estimators_are_found_named_and_light() -> None:
    folder = ROOT / "shortloop" / "eeg" / "decoding" / "estimators"
    assert {file.stem for file in folder.glob("*.py")} == {
        *("__init__", "estimator", "protocol"),
        *(record.__module__.rpartition(".")[2] for record in RECORDS.values()),
    }
    # All records of estimators are imported with it.
    code = "import sys, shortloop.eeg.study.schema; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {*done.stdout.split()} & {"mne", "numpy", "scipy", "sklearn", "numba"} == set()
    page = (ROOT / "docs" / "decoding.md").read_text(encoding="utf-8")
    assert {kind for kind in RECORDS if f'kind = "{kind}"' not in page} == {"linear-svm"}  # the default
    assert estimator_of({"kind": "sklearn", "path": "tools.nearest.Nearest"}).modules() == [
        "shortloop.eeg.decoding.estimators.sklearn",
        "tools.nearest",
    ]


CHECKS = [each for each in ESTIMATOR_CHECKS if "light" not in each.__name__]  # see the default study


def cases() -> Iterator[object]:
    """Every check of every estimator; of the one that takes a process, some in the slow tests."""
    for settings, name in zip(SETTINGS, NAMES):
        for check in CHECKS:
            is_slow = "warming" in check.__name__ and name not in FEW
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(settings, check, id=f"{name}-{check.__name__}", marks=marks)


@pytest.mark.parametrize(("settings", "check"), [*cases()])
def test_it_passes_the_common_tests(settings: dict[str, str], check: Check) -> None:
    check(settings)


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
    assert any("solvers.svm" in name for name in held) == (settings["kind"] == "linear-svm")
    assert any(".lda" in name for name in held) == (settings["kind"] == "lda")
    if estimator.batched:
        assert (f"shortloop.eeg.decoding.batched.{estimator.batched}" in held) == (stage == "permute")
    libraries = code_state(method, more).libraries
    assert ("sklearn" in libraries) == (settings["kind"] in ("sklearn", "matlab-svm"))
