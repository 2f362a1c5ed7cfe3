"""What tells jobs from those that come to have their ids."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from jobs_project import CONFIGURATION

from shortloop.exax.unit_processes import states_of_jobs


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "accelerator.conf").write_text(CONFIGURATION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "workdirs/main"


def finish(folder: Path, started: float) -> None:
    folder.mkdir(parents=True)
    (folder / "setup.json").write_text("{}", encoding="utf-8")
    (folder / "post.json").write_text(json.dumps({"starttime": started}), encoding="utf-8")


def test_a_job_of_the_same_id_is_another_one(workdir: Path) -> None:
    one, two = workdir / "main-1", workdir / "main-2"
    finish(one, 1.0)
    finish(two, 2.0)
    before = states_of_jobs([str(one), [str(two)], None])
    assert before == states_of_jobs([[str(one), str(two)], None, []])
    assert len({str(each) for each in before}) == 2
    assert states_of_jobs(["main-1/default", ["main-2/rows"]]) == before  # of datasets
    shutil.rmtree(one)
    assert states_of_jobs([str(one), [str(two)], None]) != before
    finish(one, 1.0)
    os.utime(one / "post.json", ns=(0, 0))
    after = states_of_jobs([str(one), [str(two)], None])
    assert after[0] != before[0]
    assert after[1] == before[1]
