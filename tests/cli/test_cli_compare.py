"""`shortloop compare`: what differs between two jobs, and a figure of both."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project

from shortloop.cli.compare import compare_jobs
from shortloop.errors import InputError


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    monkeypatch.chdir(toy_project(tmp_path))
    made = ToyJobs(tmp_path)
    made.make(options={"C": 1})
    made.make(options={"C": 2}, left=2.5)
    made.make(method="other")
    return made


def test_two_jobs_of_a_stage(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    compare_jobs("main-0", "main-1", None)
    text = capsys.readouterr().out
    assert "· option C: 1 → 2" in text
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert rows["scores"][:1] == ["scores"]
    assert "4 values differ" in text
    assert text.count("the same") == 1  # the times
    assert "over time  Score (%)  mean  51.500  54.000       2.500" in text
    figure = jobs.project / "results/compare/main-0_main-1.png"
    assert f"figure: {figure}" in text
    assert figure.read_bytes()[1:4] == b"PNG"


def test_the_figure_goes_where_it_is_wanted(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    compare_jobs("main-0", "main-1", jobs.project / "mine.pdf")
    assert (jobs.project / "mine.pdf").read_bytes().startswith(b"%PDF")
    assert not (jobs.project / "results").exists()
    for name in ("mine.docx", "nowhere/mine.png"):
        with pytest.raises(InputError, match="cannot be written"):
            compare_jobs("main-0", "main-1", jobs.project / name)


def test_the_same_job_twice(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    compare_jobs("main-0", "main-0", None)
    text = capsys.readouterr().out
    assert "made of the same" in text
    assert text.count("the same") == 3


def test_jobs_of_different_stages_are_refused(jobs: ToyJobs) -> None:
    with pytest.raises(InputError, match="main-0: scores, main-2: other"):
        compare_jobs("main-0", "main-2", None)
