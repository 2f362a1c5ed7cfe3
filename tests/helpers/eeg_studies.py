"""Small studies and the plans of their jobs."""

from __future__ import annotations

from pathlib import Path

from build_scripts.build_pipeline import pipeline
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.study.load import read_study
from shortloop.eeg.study.schema import Study
from shortloop.plan.planner import Lookup, Planner
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
    text = STUDY.replace("{input}", study_input).replace("{features}", features)
    file.write_text(text, encoding="utf-8")
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
