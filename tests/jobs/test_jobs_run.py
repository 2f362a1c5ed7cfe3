"""A plan counts the jobs that a run builds; a run passes on what the methods get."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project, make_job

from build_scripts.build_pipeline import pipeline
from shortloop.errors import InputError
from shortloop.jobs import run as room
from shortloop.jobs.progress import Progress
from shortloop.jobs.run import Built, Plan, Run
from shortloop.study.load import DEFAULT_STUDY, read_study
from shortloop.study.schema import Study

project = pytest.fixture(empty_project)

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
AMPLITUDE, POWER = "[features.amplitude]\n", "[features.power]\n"
NOT_APPLIED = "apply = false\n"


def plan_of(folder: Path, study_input: str, features: str) -> Plan:
    file = folder / "study.toml"
    text = STUDY.replace("{input}", study_input).replace("{features}", features)
    file.write_text(text, encoding="utf-8")
    plan = Plan(read_study(file), file)
    pipeline(plan)
    return plan


def stages(plan: Plan) -> dict[str, int]:
    counted: dict[str, int] = {}
    for job in plan.jobs:
        counted[job.stage] = counted.get(job.stage, 0) + 1
    return counted


def expected_jobs(participants: int, kinds: int) -> int:
    return participants * (1 + kinds * 4) + kinds + 1


def test_the_default_study() -> None:
    study = read_study()
    plan = Plan(study, DEFAULT_STUDY)
    pipeline(plan)
    assert len(plan.jobs) == expected_jobs(8, 2) == 75
    assert stages(plan) == {
        "import_epochs": 8,
        "amplitude": 8,
        "power": 8,
        "train": 16,
        "apply": 16,
        "permute": 16,
        "group": 2,
        "report": 1,
    }
    assert plan.jobs[0] == Built("", "import_epochs", "S01")
    assert plan.jobs[-1] == Built("", "report", None)
    assert {job.participant for job in plan.jobs} == {*study.participants, None}


@pytest.mark.parametrize("features", [AMPLITUDE, POWER])
def test_one_kind(project: Path, features: str) -> None:
    assert len(plan_of(project, SIMULATED, features).jobs) == expected_jobs(3, 1)


def test_a_kind_that_is_not_applied(project: Path) -> None:
    plan = plan_of(project, SIMULATED, AMPLITUDE + NOT_APPLIED + POWER)
    assert stages(plan) == {
        "import_epochs": 3,
        "amplitude": 3,
        "power": 3,
        "train": 6,
        "apply": 3,
        "permute": 6,
        "group": 2,
        "report": 1,
    }


@pytest.fixture
def thesis_files(project: Path) -> Path:
    for participant in "ABC":
        for name in ("amp_study", "study", "test"):
            (project / f"{participant}_{name}.mat").write_bytes(b"not read by a plan")
    return project


def test_ready_made_features_are_imported_for_each_kind(thesis_files: Path) -> None:
    plan = plan_of(thesis_files, THESIS, AMPLITUDE + NOT_APPLIED + POWER)
    assert stages(plan) == {
        "import_features": 6,
        "train": 6,
        "apply": 3,
        "permute": 6,
        "group": 2,
        "report": 1,
    }


def test_a_plan_reads_no_recording(thesis_files: Path) -> None:
    plan_of(thesis_files, THESIS, POWER)
    assert not (thesis_files / "workdirs").exists()


def test_a_missing_file_stops_the_plan(thesis_files: Path) -> None:
    (thesis_files / "B_test.mat").unlink()
    with pytest.raises(InputError) as caught:
        plan_of(thesis_files, THESIS, POWER)
    assert caught.value.participant == "B"
    assert "B_test.mat" in caught.value.message


def test_a_phase_without_a_file_stops_the_plan(thesis_files: Path) -> None:
    """The decoded phase may be missing, but not if the classifiers are to be applied to it."""
    with pytest.raises(InputError) as caught:
        plan_of(thesis_files, THESIS, AMPLITUDE)
    assert caught.value.field == "input.amplitude.test"
    assert "apply = false" in str(caught.value.hint)
    assert len(plan_of(thesis_files, THESIS, AMPLITUDE + NOT_APPLIED).jobs) == 3 * 3 + 2


class FakeJob(str):
    """A job id with the path of its folder, as exax gives it."""

    path: str


class Exax:
    """Answers `urd.build` with folders of finished jobs; one with the same arguments is there already."""

    def __init__(self, project: Path, problems: dict[str, str]) -> None:
        self.project = project
        self.problems = problems
        self.asked: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.made: dict[str, FakeJob] = {}

    def build(self, method: str, *, options: dict[str, Any], jobs: dict[str, Any], caption: str) -> FakeJob:
        print("what exax says of each job")
        self.asked.append((method, options, jobs))
        key = json.dumps([method, options, jobs], sort_keys=True)
        if key not in self.made:
            job = FakeJob(f"main-{len(self.made)}")
            folder = make_job(self.project, job, method=method, finished=False)
            post = {"starttime": time.time(), "exectime": {"total": 0.25}}
            (folder / "post.json").write_text(json.dumps(post), encoding="utf-8")
            record: dict[str, Any] = {
                "stage": method,
                "participant": options.get("participant"),
                "arrays": {},
                "facts": {"recordings": []},
                "problem": self.problems.get(caption),
            }
            (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
            job.path = str(folder)
            self.made[key] = job
        return self.made[key]


@pytest.fixture
def study() -> Study:
    default = read_study()
    return default.model_copy(update={"participants": ("S01", "S02")})


def run_with(exax: Exax, study: Study, file: Path = DEFAULT_STUDY) -> Run:
    run = Run(exax, study, file, Progress([], {}))
    pipeline(run)
    return run


def test_a_run_builds_what_the_plan_counts(
    project: Path, study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(study, DEFAULT_STUDY)
    pipeline(plan)
    exax = Exax(project, {})
    run = run_with(exax, study)
    assert [(job.stage, job.participant) for job in run.jobs] == [
        (job.stage, job.participant) for job in plan.jobs
    ]
    assert len(exax.asked) == expected_jobs(2, 2)
    assert all(job.fresh and job.seconds == 0.25 for job in run.jobs)
    assert len({job.job for job in run.jobs}) == len(run.jobs)
    said = capsys.readouterr().out
    assert "what exax says" not in said
    assert len(re.findall(r"built \S+ +\S* +main-\d+ +0\.2 s", said)) == len(run.jobs)


def test_a_second_run_reuses_everything(
    project: Path, study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    exax = Exax(project, {})
    first = run_with(exax, study)
    capsys.readouterr()
    time.sleep(0.01)
    again = run_with(exax, study)
    assert [job.job for job in again.jobs] == [job.job for job in first.jobs]
    assert not any(job.fresh for job in again.jobs)
    assert capsys.readouterr().out == ""


def test_jobs_get_the_ids_of_what_they_are_made_from(project: Path, study: Study) -> None:
    exax = Exax(project, {})
    run = run_with(exax, study)
    by_id = {job.job: job for job in run.jobs}
    for (method, options, jobs), built in zip(exax.asked, run.jobs):
        assert method == built.stage
        assert options.get("participant") == built.participant
        above = [by_id[one] for each in jobs.values() for one in (each if isinstance(each, list) else [each])]
        if method in ("group", "report"):
            assert {job.participant for job in above} == ({None} if method == "report" else {"S01", "S02"})
        else:
            assert {job.participant for job in above} <= {built.participant}
    permuted = [jobs for method, _, jobs in exax.asked if method == "permute"]
    assert all(set(jobs) == {"models", "applied"} for jobs in permuted)


def test_where_the_files_are_is_in_no_key(thesis_files: Path) -> None:
    plan = plan_of(thesis_files, THESIS, POWER)
    exax = Exax(thesis_files, {})
    run_with(exax, plan.study, plan.study_file)
    asked = json.dumps([options for _, options, _ in exax.asked])
    assert str(thesis_files) not in asked
    assert "A_test.mat" not in asked
    (thesis_files / "moved").mkdir()
    for file in thesis_files.glob("*.mat"):
        file.rename(thesis_files / "moved" / file.name)
    plan = plan_of(thesis_files, THESIS.replace('folder = "."', 'folder = "moved"'), POWER)
    time.sleep(0.01)
    again = run_with(exax, plan.study, plan.study_file)
    assert not any(job.fresh for job in again.jobs)


def test_a_rejected_input_stops_the_run(project: Path, study: Study) -> None:
    exax = Exax(project, {"import_epochs S02": "no labels\n  file: b.npz"})
    with pytest.raises(InputError, match="no labels"):
        run_with(exax, study)
    assert [method for method, _, _ in exax.asked] == ["import_epochs"] * 2


def summary_file(project: Path, study: Study) -> Path:
    file = project / "results" / study.name / "summary.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def test_history_is_the_mean_of_each_stage(project: Path, study: Study) -> None:
    jobs = [("train", 1.0), ("train", 3.0), ("group", 0.5)]
    content = {"jobs": [{"stage": stage, "seconds": seconds, "built": False} for stage, seconds in jobs]}
    summary_file(project, study).write_text(json.dumps(content), encoding="utf-8")
    assert room._history(study) == {"train": 2.0, "group": 0.5}


def test_without_a_summary_there_is_no_history(project: Path, study: Study) -> None:
    assert room._history(study) == {}


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        '{"jobs": null}',
        '{"jobs": 3}',
        '{"jobs": [3]}',
        '{"jobs": ["train"]}',
        '{"jobs": [{"stage": "train"}]}',
        '{"jobs": [{"stage": [], "seconds": 1}]}',
        '{"jobs": [{"stage": "train", "seconds": "1"}]}',
        '{"jobs": [{"stage": "train", "seconds": null}]}',
        "\xff\xfe",
    ],
)
def test_a_damaged_summary_is_no_history(project: Path, study: Study, damage: str) -> None:
    summary_file(project, study).write_text(damage, encoding="latin-1")
    assert room._history(study) == {}


def test_a_folder_in_the_place_of_the_summary_is_no_history(project: Path, study: Study) -> None:
    summary_file(project, study).mkdir()
    assert room._history(study) == {}
