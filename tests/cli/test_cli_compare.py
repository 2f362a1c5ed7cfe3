"""`shortloop compare`: what differs between two jobs, and what their analysis shows of both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import typer
from toy_jobs import ToyJobs, toy_project

from shortloop.analyses import Analysis, Compared, Comparison
from shortloop.base.errors import InputError
from shortloop.cli.compare import compare_jobs
from shortloop.stages.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def toy_comparison(first: Result, second: Result) -> Comparison | None:
    """Of lines, which only one stage makes."""
    lines = [np.asarray(each.arrays["scores"]) for each in (first, second)]

    def draw() -> Figure:
        from shortloop.report.style import new_figure

        figure = new_figure(2.0)
        for line in lines:
            figure.subplots().plot(line)
        return figure

    number = Compared("line", "Height (m)", "mean", *(float(line.mean()) for line in lines))
    return Comparison("lines", (number,), draw) if first.stage == "scores" else None


TOYS = [Analysis(typer.Typer(), lambda first, second: None), Analysis(typer.Typer(), toy_comparison)]


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    monkeypatch.chdir(toy_project(tmp_path))
    made = ToyJobs(tmp_path)
    made.make(options={"C": 1})
    made.make(options={"C": 2}, left=2.5)
    made.make(method="other")
    made.make(method="other", left=1.0)
    return made


def test_two_jobs_of_a_stage(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    compare_jobs("main-0", "main-1", None, TOYS)
    text = capsys.readouterr().out
    assert "· option C: 1 → 2" in text
    assert "4 values differ" in text
    assert text.count("the same") == 1  # the times
    assert "lines                    main-0  main-1  difference" in text
    assert "line   Height (m)  mean  51.500  54.000       2.500" in text
    figure = jobs.project / "results/compare/main-0_main-1.png"
    assert f"figure: {figure}" in text
    assert figure.read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(("two", "analyses"), [(("main-0", "main-1"), []), (("main-2", "main-3"), TOYS)])
def test_jobs_that_no_analysis_draws(
    jobs: ToyJobs, capsys: pytest.CaptureFixture[str], two: tuple[str, str], analyses: list[Analysis]
) -> None:
    compare_jobs(*two, None, analyses)
    text = capsys.readouterr().out
    assert "4 values differ" in text
    assert f"from {two[0]} to {two[1]}:" in text or "same code, options and inputs" in text
    assert "figure" not in text
    assert not (jobs.project / "results").exists()


def test_the_figure_goes_where_it_is_wanted(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    compare_jobs("main-0", "main-1", jobs.project / "mine.pdf", TOYS)
    assert (jobs.project / "mine.pdf").read_bytes().startswith(b"%PDF")
    assert not (jobs.project / "results").exists()
    for name in ("mine.docx", "nowhere/mine.png"):
        with pytest.raises(InputError, match="cannot be written"):
            compare_jobs("main-0", "main-1", jobs.project / name, TOYS)


def test_the_same_job_twice(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    compare_jobs("main-0", "main-0", None, TOYS)
    text = capsys.readouterr().out
    assert "same code, options and inputs" in text
    assert text.count("the same") == 2


def test_jobs_of_different_stages_are_refused(jobs: ToyJobs) -> None:
    with pytest.raises(InputError, match="main-0: scores, main-2: other"):
        compare_jobs("main-0", "main-2", None, TOYS)
