"""`shortloop gc`: says what it would delete, and deletes only when it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_jobs import ToyJobs, is_deleted, toy_project

from shortloop.base.errors import InputError
from shortloop.cli.gc import collect_garbage

DAY = 86_400


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    """Of three jobs in one place, the last is current."""
    monkeypatch.chdir(toy_project(tmp_path))
    made = ToyJobs(tmp_path)
    for age in (40, 20, 10):
        made.make(options={"age": age}, age=age * DAY, large=1_000_000)
    made.ended()
    return made


def deleted(jobs: ToyJobs) -> list[int]:
    return [number for number in range(jobs.number) if is_deleted(jobs.folder(f"main-{number}"))]


def said(
    capsys: pytest.CaptureFixture[str],
    really: bool = False,
    older: str | None = None,
    to: str | None = None,
    settings: str | None = None,
) -> str:
    collect_garbage(really, older, to, settings)
    return capsys.readouterr().out


def test_it_only_says_what_it_would_do(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys)
    assert text.splitlines()[1].split() == ["superseded", "scores", "2", "2.0", "MB", "20", "d", "40", "d"]
    assert "2 of 3 jobs would be deleted: 2.0 MB of 3.0 MB" in text
    assert "--delete" in text
    assert deleted(jobs) == []


def test_it_deletes_when_it_is_told_to(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert "deleted 2 jobs: 2.0 MB freed, 1.0 MB left" in said(capsys, really=True)
    assert deleted(jobs) == [0, 1]
    assert "0 of 3 jobs would be deleted" in said(capsys)


def test_a_study_that_is_not_needed_any_more(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert "3 of 3 jobs would be deleted" in said(capsys, settings="small")
    assert "2 of 3 jobs would be deleted" in said(capsys)
    said(capsys, really=True, settings="small")
    assert deleted(jobs) == [0, 1, 2]
    with pytest.raises(InputError, match="no run with settings of this name"):
        said(capsys, settings="large")
