"""`shortloop verify`: names what is damaged, and takes it out of use only when it is told to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project

from shortloop.cli.verify import verify_jobs
from shortloop.keys import file_state as filestate
from shortloop.project.project import FINISHED, SET_ASIDE
from shortloop.store.inputs import keep_hashes, register


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    monkeypatch.chdir(toy_project(tmp_path))
    made = ToyJobs(tmp_path)
    for name in "ABC":
        made.make(name, large=100_000)
    made.ended()
    return made


def test_whole_jobs(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify_jobs(False) == 0
    text = capsys.readouterr().out
    assert text.startswith("3 jobs, 3")
    assert "KB, read in " in text
    assert text.splitlines()[0].endswith("all are as they were recorded")
    assert "OUTPUT/" in text.splitlines()[-1]  # what is left out


def test_a_damaged_job_is_named_and_left(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.damage("main-1")
    for _ in range(2):
        assert verify_jobs(False) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[1].split() == ["main-1", "scores", "B", "scores.npy", "was", "altered"]
        assert "1 damaged or missing" in lines[2]
        assert "--set-aside" in lines[3]
    assert (jobs.folder("main-1") / FINISHED).is_file()


def test_a_damaged_job_is_set_aside(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.damage("main-1")
    assert verify_jobs(True) == 1
    assert {file.name for file in jobs.folder("main-1").iterdir()} >= {SET_ASIDE, "scores.npy"}
    capsys.readouterr()
    assert verify_jobs(False) == 0
    assert "main-1  scores  B          found damaged, and set aside" in capsys.readouterr().out


def test_a_job_that_is_gone_is_named_until_it_is_known(
    jobs: ToyJobs, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(jobs.folder("main-2"))
    assert verify_jobs(False) == 1
    assert verify_jobs(True) == 1
    assert "its folder is gone" in capsys.readouterr().out
    assert verify_jobs(False) == 0


def test_an_input_file_that_changed_unnoticed_is_named(
    jobs: ToyJobs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filestate, "SETTLED_NS", -1)  # what is known of it is kept at once
    file = jobs.project / "recording.mat"
    file.write_bytes(b"data")
    register([file])
    keep_hashes()
    store = jobs.project / "workdirs/.cache/inputs/blake3.json"
    (entry,) = json.loads(store.read_text(encoding="utf-8")).values()
    store.write_text(json.dumps({str(file): [*entry[:-1], "0" * 64]}), encoding="utf-8")
    assert verify_jobs(False) == 1
    said = capsys.readouterr().out
    assert f"{file} changed since it was read" in said
    assert "1 input file changed unnoticed: the next run reads" in said
    assert "all are as they were recorded" in said
    assert verify_jobs(False) == 0
