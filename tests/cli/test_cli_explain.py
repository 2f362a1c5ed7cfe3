"""`shortloop show`, `why` and `compare`: what is known of a job, the cause of it, and how two differ."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import typer
from refusal import refusal
from toy_jobs import ToyJobs, jobs_here, with_code

from shortloop.analyses import Analysis, Compared, Comparison
from shortloop.base.errors import InputError
from shortloop.cli.lookup.compare import compare_jobs
from shortloop.cli.lookup.show import show_job
from shortloop.cli.lookup.why import print_why
from shortloop.plan.explain.causes import DEEPEST
from shortloop.plan.settings_files import SettingsFile
from shortloop.stages.results import Result
from shortloop.store.store import Store
from shortloop.upkeep.deletion import delete
from shortloop.upkeep.inventory import STATES, inventory

if TYPE_CHECKING:
    from matplotlib.figure import Figure
STEP = with_code(steps="def step(x):\n    return x + 2")


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


jobs = pytest.fixture(jobs_here)


@pytest.fixture
def shown(jobs: ToyJobs) -> ToyJobs:
    """Four jobs in one place, of which the second is made from the first."""
    grid = {"grid": {"C": [1, 2]}}
    above = {"features": jobs.make(options={"seed": 1, **grid})}
    jobs.make(options={"seed": 2, **grid}, above=above, previous="main-0", reason="option seed: 1 → 2")
    for seed in (3, 4):
        jobs.make(options={"seed": seed})
    jobs.ended()
    return jobs


def rows_of(job: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    show_job(job)
    rows: dict[str, str] = {}
    for line in capsys.readouterr().out.splitlines():
        name, _, value = re.sub(r"  +|: ", "\t", line, count=1).partition("\t")
        rows.setdefault(name, value.strip())
    return rows


def test_a_job_is_shown_also_when_it_is_deleted(shown: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("main-1", capsys)
    assert rows["main-1"] == "scores of A"
    assert rows["state"] == f"superseded: {STATES['superseded']}"
    assert rows["for"] == "build_toy small"
    assert rows["because"] == "option seed: 1 → 2 (in its place before: main-0)"
    assert rows["cost"] == "time 1.50 s, cpu 2.25 s, peak 3.4 MB, utilisation 75 %"
    assert rows["from features"] == "main-0: scores A"
    assert (rows["option seed"], rows["option grid.C"]) == ("2", "[1, 2]")
    assert "of 2 modules and 1 versions" in rows["key"]
    assert re.search(r"record\.json \(\d+ B\), scores\.npy \(160 B\)", rows["files"])
    with Store() as store:
        delete(store, [each for each in inventory(store) if each.job == "main-1"])
    left = rows_of("main-1", capsys)
    assert left["state"] == f"deleted: {STATES['deleted']}"
    assert "scores.npy" not in left["files"]
    for name in ("main-1", "because", "option seed"):
        assert left[name] == rows[name]


def test_options_of_all_jobs_are_told_where_given(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    made = [jobs.make(None, options={"partition": None, "modules": more}).job for more in ([], ["one"])]
    assert not {"option partition", "option modules"} & rows_of(made[0], capsys).keys()
    rows = rows_of(made[1], capsys)
    assert rows["option modules"] == "['one']"
    assert "option partition" not in rows


@pytest.fixture
def two(jobs: ToyJobs) -> ToyJobs:
    """Two participants and their group, and the same after a change of the code."""
    jobs.make(None, method="group", above={"all": [jobs.make(name) for name in "AB"]})
    new = [jobs.make(name, code=STEP, left=1, previous=f"main-{place}") for place, name in enumerate("AB")]
    jobs.make(None, method="group", above={"all": new}, previous="main-2", reason="2 of 2 differ")
    jobs.ended()
    return jobs


def said(
    capsys: pytest.CaptureFixture[str], what: str, settings: str | None = None, full: bool = False
) -> str:
    print_why(what, settings, full)
    return capsys.readouterr().out


WHY = """\
main-3: scores A
  built for build_toy small: new
  compared with main-0, in its place before
  · code of steps.step (shortloop/steps.py)
      --- main-0: shortloop.steps
      +++ main-3: shortloop.steps
      @@ -1,2 +1,2 @@
       def step(x):
      -    return x + 1
      +    return x + 2
"""


def test_the_cause_of_a_job_is_followed_up(two: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "main-3") == WHY
    text = said(capsys, "main-5")
    assert re.search(r"2 of 2 differ\n(.*\n)*.* all: 2 of 2 jobs .*\n.*main-3 A \(scores\), and 1 more", text)
    assert text.count("+    return x + 2") == 1
    text = said(capsys, "scores")  # jobs with one cause are told once
    assert text.startswith("2 × scores: main-3 A, main-4 B\n")
    assert said(capsys, "scores", settings="small") == text
    assert "there is no older job of its kind" in said(capsys, "main-2")


def test_long_differences_are_cut(two: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    long = with_code(steps="\n".join(f"LINE_{number} = 1" for number in range(100)))
    two.make(code=long, previous="main-0")
    text = said(capsys, "main-6")
    assert re.search(r"LINE_1 = 1\n(.*\n)*.*--full", text)
    assert "LINE_99 = 1" not in text
    assert "LINE_99 = 1" in said(capsys, "main-6", full=True)


def test_a_long_chain_is_followed_some_levels_up(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    """And it is said where it goes on: Python's recursion would not follow chains of any length."""
    length = DEEPEST + 8
    for again in (0, length):
        last = jobs.make("0", options={"a": again}, left=again, previous="main-0" if again else "")
        for number in range(1, length):
            previous = f"main-{number}" if again else ""
            last = jobs.make(str(number), above={"above": last}, left=again, previous=previous)
    jobs.ended()
    text = said(capsys, last.job)
    assert text.count("came out different") == DEEPEST
    job, partition = f"main-{2 * length - 1 - DEEPEST}", length - 1 - DEEPEST
    goes_on = f"{job} {partition} (scores): `shortloop why {job}` continues from here"
    assert text.splitlines()[-1].strip() == goes_on


@pytest.mark.parametrize("variable", ["STUDY", "SHORTLOOP_SETTINGS"])
def test_of_the_file_that_the_environment_names(
    two: ToyJobs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """As `plan`: two files may be run in turn, and only jobs of the one are asked for."""
    here, file = Path.cwd(), Path("large.toml")
    for name in ("small", "large"):
        (here / f"{name}.toml").write_text(f'name = "{name}"\n', encoding="utf-8")
        with Store() as store:
            SettingsFile(name, here / f"{name}.toml", "study", here / "none").note(store.index)
    monkeypatch.setenv(variable, str(file))
    with refusal("no job with these settings", variable, file=here / file, expected="small"):
        print_why("scores", None, False)
    alone = two.make("D", method="alone", pipeline="cells", settings="").job  # of a notebook, say
    two.ended("cells")
    assert said(capsys, "alone").startswith(f"{alone}: alone D\n")
    large = two.make("C", pipeline="build_toy large", settings="large").job
    two.ended("build_toy large")
    assert said(capsys, "scores").startswith(f"{large}: scores C\n")
    assert said(capsys, "scores", settings="small").startswith("2 × scores: main-3 A, main-4 B\n")
    assert said(capsys, "main-3").startswith("main-3: scores A\n")  # it is asked for by its id
    monkeypatch.setenv(variable, "small.toml")
    assert said(capsys, "scores").startswith("2 × scores: main-3 A, main-4 B\n")


@pytest.mark.parametrize(
    ("what", "words"), [("main-70", "no such job"), ("sores", "group, scores"), ("other-1", "job id")]
)
def test_what_is_not_there_is_named(two: ToyJobs, what: str, words: str) -> None:
    with refusal("", words):
        print_why(what, None, False)


@pytest.fixture
def four(jobs: ToyJobs) -> ToyJobs:
    jobs.make(options={"C": 1})
    jobs.make(options={"C": 2}, left=2.5)
    jobs.make(method="other")
    jobs.make(method="other", left=1.0)
    return jobs


def test_two_jobs_of_a_stage_are_compared(four: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    compare_jobs("main-0", "main-1", None, TOYS)
    text = capsys.readouterr().out
    assert "· option C: 1 → 2" in text
    assert "4 values differ" in text
    assert text.count("the same") == 1  # the times
    assert "lines                    main-0  main-1  difference" in text
    assert "line   Height (m)  mean  51.500  54.000       2.500" in text
    figure = four.project / "results/compare/main-0_main-1.png"
    assert f"figure: {figure}" in text
    assert figure.read_bytes()[1:4] == b"PNG"
    compare_jobs("main-0", "main-0", None, TOYS)
    text = capsys.readouterr().out
    assert "same code, options and inputs" in text
    assert text.count("the same") == 2
    with pytest.raises(InputError, match="main-0: scores, main-2: other"):
        compare_jobs("main-0", "main-2", None, TOYS)


@pytest.mark.parametrize(("two", "analyses"), [(("main-0", "main-1"), []), (("main-2", "main-3"), TOYS)])
def test_jobs_that_no_analysis_draws(
    four: ToyJobs, capsys: pytest.CaptureFixture[str], two: tuple[str, str], analyses: list[Analysis]
) -> None:
    compare_jobs(*two, None, analyses)
    text = capsys.readouterr().out
    assert "4 values differ" in text
    assert f"from {two[0]} to {two[1]}:" in text or "same code, options and inputs" in text
    assert "figure" not in text
    assert not (four.project / "results").exists()


def test_the_figure_goes_where_it_is_wanted(four: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    compare_jobs("main-0", "main-1", four.project / "mine.pdf", TOYS)
    assert (four.project / "mine.pdf").read_bytes().startswith(b"%PDF")
    assert not (four.project / "results").exists()
    for name in ("mine.docx", "nowhere/mine.png"):
        with pytest.raises(InputError, match="cannot be written"):
            compare_jobs("main-0", "main-1", four.project / name, TOYS)
