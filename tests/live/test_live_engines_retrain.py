"""Nulls of the EEG pipeline on every engine: the same bits, and what a killed run has computed is not
computed again, whichever engine goes on."""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from engine_project import ENGINES, FAULTS, EngineProject
from live_project import PATIENCE, STUDY, LiveProject, served, wait_for

SVM = 'kind = "linear-svm"\nC = [0.001, 0.01]\ninner_folds = 2'
SMALL = STUDY.replace('["A", "B"]', '["A"]').replace("bins = 4\nbin_samples = 5", "bins = 8\nbin_samples = 4")
# A unit is a training on one labelling, or a bin with many labellings at once.
STUDIES = {
    "svm": SMALL.replace("count = 39", "count = 39\nretrained = 8"),
    "lda": SMALL.replace(SVM, 'kind = "lda"\nshrinkage = 0.9')
    .replace("folds = 3", "folds = 3\nselect_alpha = 1", 1)
    .replace("count = 39", "count = 39\nretrained = 30"),
}
QUICK = {"svm": "joblib", "lda": "dask"}
"""An engine for each study; all pairs are slow tests."""
UNITS = 8
HELD = 5
# The stage itself, but for what the test wants some units to meet.
METHOD = '''\
from shortloop.eeg.stages.retrain import Retrain as Real
from shortloop.exax.method import exax_method
from tools.faults import meet


class Retrain(Real):
    """It."""

    def compute(self, unit):
        meet("retrain", unit)
        return super().compute(unit)


globals().update(exax_method(Retrain, __file__))
'''
SCRIPT = """\
from build_scripts.build_pipeline import decode
from shortloop.eeg.pipeline import run_study


def main(urd):
    return run_study(urd, lambda run: decode(run)[-1])
"""


class RetrainProject(EngineProject):
    """The EEG pipeline without its report."""

    analyses = ("eeg",)
    study = ""
    sources: ClassVar = {
        "methods/a_retrain.py": METHOD,
        "dev/build_core.py": SCRIPT,
        "tools/__init__.py": "",
        "tools/faults.py": FAULTS,
    }

    def __init__(self, folder: Path) -> None:
        LiveProject.__init__(self, folder)
        self.pause = 0.0
        self.faults = folder / ".faults"
        self.faults.mkdir()
        self.first, self._sessions = [], set()

    def built(self, said: str) -> dict[str, str]:
        """Jobs that a run has built, by stage."""
        return dict(re.findall(r"\] built (\S+) .*(main-\d+)", said))


@pytest.fixture(scope="module", params=[pytest.param("svm", marks=pytest.mark.slow), "lda"])
def project(request: pytest.FixtureRequest) -> Iterator[RetrainProject]:
    with served(RetrainProject) as made:
        made.study = request.param
        made.write_study(STUDIES[made.study])
        done = made.go("slices", "core").ok()
        assert {*made.computed()} == {f"retrain {unit}" for unit in range(UNITS)}
        made.first = [made.built(done.stdout)[stage] for stage in ("permute", "retrain")]
        yield made


def same_bits(project: RetrainProject, said: str) -> None:
    built = project.built(said)
    for stage, first in zip(("permute", "retrain"), project.first):
        if stage in built:
            assert project.files(built[stage]) == project.files(first), stage
            assert project.jobs()[built[stage]]["content"] == project.jobs()[first]["content"], stage


@pytest.mark.slow
def test_the_same_bits(project: RetrainProject) -> None:
    holds(project, QUICK[project.study])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_bits_on_every_engine(project: RetrainProject, engine: str) -> None:
    holds(project, engine)


def holds(project: RetrainProject, engine: str) -> None:
    """An engine leaves the same bits."""
    forced = ("--force", "permute", "--force", "retrain")
    done = project.shortloop("run", "core", *forced, SHORTLOOP_ENGINE=engine).ok()
    built = project.built(done.stdout)
    assert {*built} == {"permute", "retrain"}
    same_bits(project, done.stdout)
    assert project.record(built["retrain"])["engine"]["name"] == engine.partition(":")[0]
    wait_for(lambda: not project.processes())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("slices", "joblib"),
        pytest.param("joblib", "slices", marks=pytest.mark.slow),
        pytest.param("dask", "slices", marks=pytest.mark.slow),
        pytest.param("slices", "dask", marks=pytest.mark.slow),
    ],
)
def test_units_are_taken_over_after_a_kill(project: RetrainProject, first: str, second: str) -> None:
    project.mend()
    project.fault("retrain", HELD, "hold")
    running = project.start(first, "core", "--force", "retrain")
    wait_for(lambda: len({*project.computed()}) == UNITS or running.poll() is not None)
    assert running.poll() is None, running.communicate()
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=PATIENCE)
    project.mend()
    wait_for(lambda: not project.processes())
    done = project.shortloop("run", "core", "--force", "retrain", SHORTLOOP_ENGINE=second).ok()
    after = Counter(project.computed())
    assert after[f"retrain {HELD}"] == 1
    assert after.total() <= UNITS // 2, after
    assert "retrain" in project.built(done.stdout)
    same_bits(project, done.stdout)
