"""A run builds what the plan counts, passes on what the methods get, and tells new from reused."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project, make_job
from jobs_studies import POWER, THESIS, expected_jobs, plan_of, thesis_files

from build_scripts.build_pipeline import pipeline
from shortloop.errors import InputError
from shortloop.jobs import run as room
from shortloop.jobs.progress import Progress
from shortloop.jobs.run import Plan, Run
from shortloop.study.load import DEFAULT_STUDY, read_study
from shortloop.study.schema import Study

project = pytest.fixture(empty_project)
thesis = pytest.fixture(thesis_files)


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


def test_where_the_files_are_is_in_no_key(thesis: Path) -> None:
    plan = plan_of(thesis, THESIS, POWER)
    exax = Exax(thesis, {})
    run_with(exax, plan.study, plan.study_file)
    asked = json.dumps([options for _, options, _ in exax.asked])
    assert str(thesis) not in asked
    assert "A_test.mat" not in asked
    (thesis / "moved").mkdir()
    for file in thesis.glob("*.mat"):
        file.rename(thesis / "moved" / file.name)
    plan = plan_of(thesis, THESIS.replace('folder = "."', 'folder = "moved"'), POWER)
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
