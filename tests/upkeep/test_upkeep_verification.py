"""Reading all jobs: every damage is found and named, and nothing else is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project

from shortloop.store.inputs import register
from shortloop.store.manifest import MANIFEST
from shortloop.store.store import Store
from shortloop.upkeep.inventory import Problem, check_all, inventory, missing


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    monkeypatch.chdir(toy_project(tmp_path))
    made = ToyJobs(tmp_path)
    for name in "AB":
        made.make(name)
    made.ended()
    return made


def problems() -> list[Problem]:
    with Store() as store:
        entries = inventory(store)
        return missing(store, entries) + check_all(entries)


def damaged() -> dict[str, str]:
    return {each.job: each.what for each in problems() if each.damaged}


def test_whole_jobs_have_no_problem(jobs: ToyJobs) -> None:
    jobs.unrecorded(finished=True, script=True)
    assert problems() == []


def test_a_changed_byte_is_found(jobs: ToyJobs) -> None:
    jobs.damage("main-1")
    (found,) = problems()
    assert (found.job, found.stage, found.partition) == ("main-1", "scores", "B")
    assert (found.what, found.damaged) == ("scores.npy was altered", True)


@pytest.mark.parametrize(
    ("file", "what"), [("scores.npy", "scores.npy is missing"), (MANIFEST, "is not recorded")]
)
def test_a_missing_file_is_found(jobs: ToyJobs, file: str, what: str) -> None:
    (jobs.folder("main-0") / file).unlink()
    (found,) = problems()
    assert found.what == what
    assert found.damaged == (file != MANIFEST)


def test_a_damaged_manifest_is_found(jobs: ToyJobs) -> None:
    manifest = jobs.folder("main-0") / MANIFEST
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("scores", "scared", 1), encoding="utf-8")
    assert damaged() == {"main-0": f"{MANIFEST} is damaged"}


def test_the_manifest_of_another_job_is_found(jobs: ToyJobs) -> None:
    shutil.rmtree(jobs.folder("main-0"))
    shutil.copytree(jobs.folder("main-1"), jobs.folder("main-0"))
    assert damaged() == {"main-0": f"{MANIFEST} is that of main-1"}


def test_a_file_that_a_job_did_not_leave_is_told(jobs: ToyJobs) -> None:
    (jobs.folder("main-1") / "notes.txt").write_text("mine", encoding="utf-8")
    (found,) = problems()
    assert (found.job, found.what, found.damaged) == (
        "main-1",
        "has a file that it did not write: notes.txt",
        False,
    )
    (jobs.folder("main-1") / "below").mkdir()
    (jobs.folder("main-1") / "below/more.txt").touch()
    assert problems()[0].what == "has files that it did not write: below/more.txt, notes.txt"


def test_an_array_that_a_job_did_not_leave_is_damage(jobs: ToyJobs) -> None:
    (jobs.folder("main-1") / "weights.npy").write_bytes(b"x")
    assert damaged() == {"main-1": "has a result file that it did not write: weights.npy"}


def test_a_job_that_is_gone_is_missing(jobs: ToyJobs) -> None:
    shutil.rmtree(jobs.folder("main-1"))
    assert problems() == [Problem("main-1", "scores", "B", "its folder is gone")]


def test_what_did_not_finish_is_told_and_is_no_damage(jobs: ToyJobs) -> None:
    jobs.unrecorded(finished=False)
    jobs.unrecorded(finished=True)
    assert [(each.job, each.damaged) for each in problems()] == [("main-2", False), ("main-3", False)]


def test_a_job_whose_data_lies_in_a_file_that_changed_is_found(jobs: ToyJobs) -> None:
    file = jobs.project / "recording.mat"
    file.write_bytes(bytes(48))
    (content,) = register([file])
    span = {"offset": 0, "shape": [6], "strides": [8], "dtype": "<f8"}
    jobs.make("C", arrays={"data": {"outside": {"name": file.name, "content": content, "span": span}}})
    assert problems() == []
    file.write_bytes(bytes(56))
    assert list(damaged()) == ["main-2"]
    assert "recording.mat, which holds its data" in damaged()["main-2"]
