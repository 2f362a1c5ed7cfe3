"""Small studies and the plans of their jobs."""

from __future__ import annotations

from pathlib import Path

from build_scripts.build_pipeline import pipeline
from shortloop.eeg.study.load import read_study
from shortloop.jobs.executor import Plan

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


def plan_of(folder: Path, study_input: str, features: str) -> Plan:
    file = folder / "study.toml"
    text = STUDY.replace("{input}", study_input).replace("{features}", features)
    file.write_text(text, encoding="utf-8")
    plan = Plan(read_study(file), file)
    pipeline(plan)
    return plan


def expected_jobs(participants: int, kinds: int) -> int:
    return participants * (1 + kinds * 4) + kinds + 1


def thesis_files(project: Path) -> Path:
    """A project with files of ready-made features; tests make a fixture of it."""
    for partition in "ABC":
        for name in ("amp_study", "study", "test"):
            (project / f"{partition}_{name}.mat").write_bytes(b"not read by a plan")
    return project
