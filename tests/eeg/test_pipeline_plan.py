"""A plan counts the jobs of a pipeline: it finds every file, and reads none."""

from __future__ import annotations

from pathlib import Path

import pytest
from eeg_studies import (
    AMPLITUDE,
    NOT_APPLIED,
    POWER,
    SIMULATED,
    THESIS,
    expected_jobs,
    plan_of,
    plan_of_text,
    thesis_files,
)
from jobs_project import empty_project

from shortloop.base.errors import InputError
from shortloop.eeg.study.load import DEFAULT_STUDY, read_study
from shortloop.keys import hashing
from shortloop.plan.pipeline import BUILD, Built
from shortloop.plan.planner import Planner

project = pytest.fixture(empty_project)
thesis = pytest.fixture(thesis_files)


def stages(plan: Planner) -> dict[str, int]:
    counted: dict[str, int] = {}
    for job in plan.jobs:
        counted[job.stage] = counted.get(job.stage, 0) + 1
    return counted


def test_the_default_study(project: Path) -> None:
    study = read_study()
    plan = plan_of(study, DEFAULT_STUDY)
    assert len(plan.jobs) == expected_jobs(8, 2) == 118
    assert stages(plan) == {
        "import_epochs": 8,
        "check": 1,
        "amplitude": 8,
        "power": 8,
        "train": 16,
        "apply": 16,
        "permute": 16,
        "individual": 2,
        "intervals": 16,
        "patterns": 16,
        "group": 2,
        "evoked": 8,
        "report": 1,
    }
    assert plan.jobs[0] == Built("", "import_epochs", "S01", plan=BUILD, reason="new")
    assert plan.jobs[-1] == Built("", "report", None, plan=BUILD, reason="new")
    assert {job.partition for job in plan.jobs} == {*study.participants, None}


@pytest.mark.parametrize("features", [AMPLITUDE, POWER])
def test_one_kind(project: Path, features: str) -> None:
    assert len(plan_of_text(project, SIMULATED, features).jobs) == expected_jobs(3, 1)


def test_a_kind_that_is_not_applied(project: Path) -> None:
    plan = plan_of_text(project, SIMULATED, AMPLITUDE + NOT_APPLIED + POWER)
    assert stages(plan) == {
        "import_epochs": 3,
        "check": 1,
        "amplitude": 3,
        "power": 3,
        "train": 6,
        "apply": 3,
        "permute": 6,
        "individual": 2,
        "intervals": 6,
        "patterns": 6,
        "group": 2,
        "evoked": 3,
        "report": 1,
    }


def test_ready_made_features_are_imported_for_each_kind(thesis: Path) -> None:
    plan = plan_of_text(thesis, THESIS, AMPLITUDE + NOT_APPLIED + POWER)
    assert stages(plan) == {
        "import_features": 6,
        "check": 1,
        "train": 6,
        "apply": 3,
        "permute": 6,
        "individual": 2,
        "intervals": 6,
        "patterns": 6,
        "group": 2,
        "report": 1,
    }


def test_a_plan_reads_no_recording(thesis: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "hash_file", lambda *args: pytest.fail("read it"))
    assert plan_of_text(thesis, THESIS, POWER).unread == 2 * 3
    assert not list((thesis / "workdirs/main").glob("main-*"))


def test_a_missing_file_stops_the_plan(thesis: Path) -> None:
    (thesis / "B_test.mat").unlink()
    with pytest.raises(InputError) as caught:
        plan_of_text(thesis, THESIS, POWER)
    assert caught.value.where["participant"] == "B"
    assert "B_test.mat" in caught.value.message


def test_a_phase_without_a_file_stops_the_plan(thesis: Path) -> None:
    """The decoded phase may be missing, but not if the classifiers are to be applied to it."""
    with pytest.raises(InputError) as caught:
        plan_of_text(thesis, THESIS, AMPLITUDE)
    assert caught.value.field == "input.amplitude.test"
    assert "apply = false" in str(caught.value.hint)
    assert len(plan_of_text(thesis, THESIS, AMPLITUDE + NOT_APPLIED).jobs) == 3 * 5 + 4
