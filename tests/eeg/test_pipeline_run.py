"""A run builds what the plan counts, passes on what the methods get, and tells new from reused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from eeg_studies import POWER, THESIS, expected_jobs, plan_of, thesis_files, write_study
from jobs_exax import Exax
from jobs_project import empty_project

from build_scripts.build_pipeline import pipeline
from shortloop.base.errors import InputError
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.study.load import DEFAULT_STUDY, read_study
from shortloop.eeg.study.schema import Study
from shortloop.plan.planner import Lookup
from shortloop.run.build_jobs import Executor
from shortloop.run.progress import Progress
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
thesis = pytest.fixture(thesis_files)


@pytest.fixture
def study() -> Study:
    default = read_study()
    return default.model_copy(update={"participants": ("S01", "S02")})


def run_with(exax: Exax, study: Study, file: Path = DEFAULT_STUDY) -> Executor:
    plan = plan_of(study, file)
    with Store() as store:
        lookup = Lookup(store, "small")
        run = Executor(lookup, exax, Progress(plan.jobs, {}))
        pipeline(StudyRun(run, study, file))
        store.index.put_in_places(lookup.places)
    return run


def test_a_run_builds_what_the_plan_counts(
    project: Path, study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(study, DEFAULT_STUDY)
    exax = Exax(project, {})
    run = run_with(exax, study)
    assert [(job.stage, job.partition) for job in run.jobs] == [
        (job.stage, job.partition) for job in plan.jobs
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
    again = run_with(exax, study)
    assert [job.job for job in again.jobs] == [job.job for job in first.jobs]
    assert len(exax.asked) == len(first.jobs)  # nothing was asked of exax a second time
    assert not any(job.fresh for job in again.jobs)
    assert capsys.readouterr().out == ""


def test_jobs_get_the_ids_of_what_they_are_made_from(project: Path, study: Study) -> None:
    exax = Exax(project, {})
    run = run_with(exax, study)
    by_id = {job.job: job for job in run.jobs}
    for (method, options, jobs), built in zip(exax.asked, run.jobs):
        assert method == built.stage
        assert options.get("partition") == built.partition
        above = [by_id[one] for each in jobs.values() for one in (each if isinstance(each, list) else [each])]
        if method in ("check", "individual", "group", "report"):
            of_everybody = ("individual", "group", "check")
            assert {job.partition for job in above if job.stage not in of_everybody} == {"S01", "S02"}
        else:
            assert {job.partition for job in above} <= {built.partition}
    permuted = [jobs for method, _, jobs in exax.asked if method == "permute"]
    assert all(set(jobs) == {"models", "applied"} for jobs in permuted)


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
    again = run_with(exax, read_study(file), file)
    assert not any(job.fresh for job in again.jobs)


def test_a_rejected_input_stops_the_run(project: Path, study: Study) -> None:
    exax = Exax(project, {"import_epochs S02": "no labels\n  file: b.npz"})
    with pytest.raises(InputError, match="no labels"):
        run_with(exax, study)
    assert [method for method, _, _ in exax.asked] == ["import_epochs"] * 2


def test_a_feature_file_that_is_missing_is_named_by_its_field(thesis: Path) -> None:
    file = write_study(thesis, THESIS, POWER)
    (thesis / "A_test.mat").unlink()
    with pytest.raises(InputError) as caught:
        run_with(Exax(thesis, {}), read_study(file), file)
    assert caught.value.field == "input.power.test"
