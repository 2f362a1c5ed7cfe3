"""The same study gives the same bits for any number of slices, for every estimator and null."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from live_project import STUDY, EditedProject, LiveProject, in_short_folder

pytestmark = pytest.mark.slow
SVM = 'kind = "linear-svm"\nC = [0.001, 0.01]\ninner_folds = 2'
ESTIMATORS = {
    "linear-svm": SVM,
    "matlab-svm": 'kind = "matlab-svm"',
    "lda": 'kind = "lda"\nshrinkage = 0.9',
    "ridge": 'kind = "ridge"\nalpha = 500.0',
    "sklearn, linear": 'kind = "sklearn"\npath = "sklearn.linear_model.RidgeClassifier"\nparams.alpha = 2.0',
    "sklearn, not linear": 'kind = "sklearn"\npath = "sklearn.naive_bayes.GaussianNB"',
}
STUDIES = {name: STUDY.replace(SVM, settings) for name, settings in ESTIMATORS.items()}
STUDIES |= {
    f"{name}, training labels shuffled, all features": STUDY.replace(SVM, ESTIMATORS[name])
    .replace("count = 39", f'count = {count}\nnull = "training-labels"')
    .replace("folds = 3\n", "folds = 3\nselect_alpha = 1\n", 1)
    for name, count in {"linear-svm": 39, "lda": 1501, "ridge": 39}.items()
}
STUDIES["training labels shuffled"] = STUDY.replace("count = 39", 'count = 19\nnull = "training-labels"')
STUDIES["areas, training labels shuffled"] = STUDIES["training labels shuffled"].replace(
    "folds = 3", 'folds = 3\nscore = "auc"', 1
)
CORE = """
from build_scripts.build_pipeline import decode
from shortloop.eeg.pipeline import run_study


def main(urd):
    return run_study(urd, lambda run: decode(run)[-1])
"""


def digests(project: LiveProject) -> dict[tuple[str, str | None, str], str]:
    """Content of every array of everything but the report."""
    found = {}
    for (stage, participant), job in project.run("core").items():
        for file in project.job_folder(job).glob("*.npy"):
            found[stage, participant, file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


CAPPED = "return min(setting, cores) if setting > 0 else cores"


@contextmanager
def with_slices(slices: str) -> Iterator[LiveProject]:
    """A project whose jobs have so many slices, also on a machine with fewer cores than that."""
    with in_short_folder(EditedProject) as project:
        project.write("dev/build_core.py", CORE)
        project.edit("shortloop/store/setup.py", CAPPED, "return setting")
        project.start_server(SHORTLOOP_SLICES=slices)
        yield project


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[LiveProject, LiveProject]]:
    with with_slices("1") as one, with_slices("5") as five:
        yield one, five


def stage_of(study: str) -> str:
    """The stage that makes its null."""
    return "retrain" if "training-labels" in STUDIES[study] else "permute"


# In each `make test`, every stage is run by one process and by several in tests/test_stages.py.
DIFFER = ("lda, training labels shuffled, all features", "sklearn, not linear")


@pytest.fixture(scope="module")
def results(both: tuple[LiveProject, ...]) -> Callable[[str], list[dict[tuple[str, str | None, str], str]]]:
    """What each of both projects gives of a study."""

    @cache
    def of(study: str) -> list[dict[tuple[str, str | None, str], str]]:
        for project in both:
            project.write_study(STUDIES[study])
        return [digests(project) for project in both]

    return of


@pytest.mark.parametrize("study", STUDIES)
def test_any_number_of_slices_gives_the_same_bits(results: Callable, study: str) -> None:
    one, five = results(study)
    assert (stage_of(study), "A", "plane_null.npy") in one
    assert one == five


def test_estimators_and_nulls_differ(results: Callable) -> None:
    assert len({results(study)[0][stage_of(study), "A", "curve_null.npy"] for study in DIFFER}) == len(DIFFER)


@pytest.mark.parametrize("engine", ["joblib", "dask", "ray"])
def test_every_engine_gives_them(engine: str) -> None:
    with with_slices("2") as slices, with_slices("2") as other:
        for project in (slices, other):  # one null shuffles labels of trained classifiers, one trains anew
            project.write_study(STUDY.replace("count = 39", "count = 39\nretrained = 8"))
        first = digests(slices)
        assert {stage for stage, _, _ in first} >= {"permute", "retrain"}
        done = other.ax("run", "core", SHORTLOOP_ENGINE=engine).ok()
        jobs = re.findall(r"\] built (\S+) +(\S*) +(main-\d+)", done.stdout)
        assert {
            (stage, participant or None, file.name): hashlib.sha256(file.read_bytes()).hexdigest()
            for stage, participant, job in jobs
            for file in other.job_folder(job).glob("*.npy")
        } == first
        records = [json.loads(file.read_text()) for file in other.folder.glob("workdirs/main/*/record.json")]
        assert {record["engine"]["name"] for record in records if "engine" in record} == {engine}
