"""A plan counts the jobs of a pipeline: it finds every file, and reads none; a run builds what it counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from jobs_exax import Exax
from jobs_project import empty_project
from refusal import refusal

from build_scripts.build_pipeline import pipeline
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.study.load import DEFAULT_STUDY, read_study
from shortloop.eeg.study.schema import Study
from shortloop.keys import hashing
from shortloop.plan.pipeline import BUILD, Built
from shortloop.plan.planner import Lookup, Planner
from shortloop.run.build_jobs import Executor
from shortloop.run.progress import Progress
from shortloop.store.store import Store

STUDY = """\
name = "small"
participants = ["A", "B", "C"]
classes = ["x", "y"]
phases.train = "study"
phases.decode = "test"
{input}
{features}
"""
SIMULATED = '[input]\nformat = "simulated"'
THESIS = """\
[input]
format = "thesis"
folder = "."
amplitude.study = "{participant}_amp_study.mat"
power.study = "{participant}_study.mat"
power.test = "{participant}_test.mat"
"""
AMPLITUDE = "[features.amplitude]\n"
POWER = "[features.power]\n"
NOT_APPLIED = "apply = false\n"


def write_study(folder: Path, study_input: str, features: str) -> Path:
    file = folder / "study.toml"
    file.write_text(STUDY.replace("{input}", study_input).replace("{features}", features), encoding="utf-8")
    return file


def plan_of(study: Study, file: Path) -> Planner:
    with Store() as store:
        plan = Planner(Lookup(store, "small"))
        pipeline(StudyRun(plan, study, file))
    return plan


def plan_of_text(folder: Path, study_input: str, features: str) -> Planner:
    file = write_study(folder, study_input, features)
    return plan_of(read_study(file), file)


def expected_jobs(participants: int, kinds: int) -> int:
    return participants * (2 + kinds * 6) + 1 + 2 * kinds + 1


def thesis_files(project: Path) -> Path:
    """A project with files of ready-made features; tests make a fixture of it."""
    for partition in "ABC":
        for name in ("amp_study", "study", "test"):
            (project / f"{partition}_{name}.mat").write_text(f"{name} of {partition}, not read by a plan")
    return project


project = pytest.fixture(empty_project)
thesis = pytest.fixture(thesis_files)


def stages(plan: Planner) -> dict[str, int]:
    return dict(Counter(job.stage for job in plan.jobs))


def test_the_default_study(project: Path) -> None:
    study = read_study()
    plan = plan_of(study, DEFAULT_STUDY)
    assert len(plan.jobs) == expected_jobs(8, 2) == 118
    every = {"train", "apply", "permute", "intervals", "patterns"}
    of_all = {"check": 1, "individual": 2, "group": 2, "report": 1}
    of_each = dict.fromkeys(("import_epochs", "amplitude", "power", "evoked"), 8)
    assert stages(plan) == {**of_each, **dict.fromkeys(every, 16), **of_all}
    assert plan.jobs[0] == Built("", "import_epochs", "S01", plan=BUILD, reason="new")
    assert plan.jobs[-1] == Built("", "report", None, plan=BUILD, reason="new")
    assert {job.partition for job in plan.jobs} == {*study.participants, None}


def test_kinds_that_are_not_applied_or_ready_made(project: Path, thesis: Path) -> None:
    plan = plan_of_text(project, SIMULATED, AMPLITUDE + NOT_APPLIED + POWER)
    found = stages(plan)
    assert (found["apply"], found["train"], found["permute"], found["evoked"]) == (3, 6, 6, 3)
    plan = plan_of_text(thesis, THESIS, AMPLITUDE + NOT_APPLIED + POWER)
    found = stages(plan)
    assert (found["import_features"], found["check"], found["train"], found["apply"]) == (6, 1, 6, 3)
    assert not {"import_epochs", "amplitude", "power", "evoked"} & found.keys()


def test_a_plan_reads_no_recording(thesis: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "hash_file", lambda *args: pytest.fail("read it"))
    assert plan_of_text(thesis, THESIS, POWER).unread == 2 * 3
    assert not list((thesis / "workdirs/main").glob("main-*"))


def test_a_missing_file_stops_the_plan_as_does_a_phase_without_one(thesis: Path) -> None:
    """The decoded phase may be missing, but not if the classifiers are to be applied to it."""
    with refusal("", "apply = false", field="input.amplitude.test"):
        plan_of_text(thesis, THESIS, AMPLITUDE)
    assert len(plan_of_text(thesis, THESIS, AMPLITUDE + NOT_APPLIED).jobs) == 3 * 5 + 4
    (thesis / "B_test.mat").unlink()
    with refusal("", "B_test.mat", participant="B", field="input.power.test"):
        plan_of_text(thesis, THESIS, POWER)


@pytest.fixture
def study() -> Study:
    return read_study().model_copy(update={"participants": ("S01", "S02")})


def run_with(exax: Exax, study: Study, file: Path = DEFAULT_STUDY) -> Executor:
    plan = plan_of(study, file)
    with Store() as store:
        lookup = Lookup(store, "small")
        run = Executor(lookup, exax, Progress(plan.jobs, {}))
        pipeline(StudyRun(run, study, file))
        store.index.put_in_places(lookup.places)
    return run


def test_where_the_files_are_is_in_no_key(thesis: Path) -> None:
    file = write_study(thesis, THESIS, POWER)
    exax = Exax(thesis, {})
    run_with(exax, read_study(file), file)
    asked = [(method, json.dumps(options)) for method, options, _ in exax.asked]
    assert not any(str(thesis) in options for _, options in asked)
    named = {method for method, options in asked if "A_test.mat" in options}
    assert named == {"import_features", "report"}  # which name it in what they leave
    (thesis / "moved").mkdir()
    for file in thesis.glob("*.mat"):
        file.rename(thesis / "moved" / file.name)
    file = write_study(thesis, THESIS.replace('folder = "."', 'folder = "moved"'), POWER)
    assert not any(job.fresh for job in run_with(exax, read_study(file), file).jobs)
