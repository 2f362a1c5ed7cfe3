"""`shortloop why`: the cause as its reader sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project, with_code

from shortloop.base.errors import InputError
from shortloop.cli.why import print_why
from shortloop.plan.settings_files import SettingsFile
from shortloop.store.store import Store

STEP = with_code(steps="def step(x):\n    return x + 2")


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    """Two participants and their group, and the same after a change of the code."""
    monkeypatch.chdir(toy_project(tmp_path))
    made = ToyJobs(tmp_path)
    old = [made.make(name) for name in "AB"]
    made.make(None, method="group", above={"all": old})
    new = [made.make(name, code=STEP, left=1, previous=f"main-{place}") for place, name in enumerate("AB")]
    made.make(None, method="group", above={"all": new}, previous="main-2", reason="2 of 2 differ")
    made.ended()
    return made


def said(
    capsys: pytest.CaptureFixture[str], what: str, settings: str | None = None, full: bool = False
) -> str:
    print_why(what, settings, full)
    return capsys.readouterr().out


def test_a_job(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        said(capsys, "main-3")
        == """\
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
    )


def test_a_job_is_followed_up(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "main-5")
    assert "built for build_toy small: 2 of 2 differ" in text
    assert "· all: 2 of 2 jobs came out different" in text
    assert "main-3 A (scores), and 1 more like it" in text
    assert text.count("+    return x + 2") == 1


def test_the_jobs_of_a_stage_with_one_cause_are_told_once(
    jobs: ToyJobs, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "scores")
    assert text.startswith("2 × scores: main-3 A, main-4 B\n")
    assert "main-3 is compared with main-0, in its place before" in text
    assert said(capsys, "scores", settings="small") == text


def test_the_first_job_of_its_kind(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no older job of its kind" in said(capsys, "main-2")


def test_long_differences_are_cut(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    long = with_code(steps="\n".join(f"LINE_{number} = 1" for number in range(100)))
    jobs.make(code=long, previous="main-0")
    text = said(capsys, "main-6")
    assert "LINE_1 = 1" in text
    assert "LINE_99 = 1" not in text
    assert "more lines; `shortloop why --full` prints them" in text
    assert "LINE_99 = 1" in said(capsys, "main-6", full=True)


@pytest.mark.parametrize("variable", ["STUDY", "SHORTLOOP_SETTINGS"])
def test_of_the_file_that_the_environment_names(
    jobs: ToyJobs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """As `plan`: two files may be run in turn, and only jobs of the one are asked for."""
    here, file = Path.cwd(), Path("large.toml")
    for name in ("small", "large"):
        (here / f"{name}.toml").write_text(f'name = "{name}"\n', encoding="utf-8")
        with Store() as store:
            SettingsFile(name, here / f"{name}.toml", "study", here / "none").note(store.index)
    monkeypatch.setenv(variable, str(file))
    with pytest.raises(InputError, match="the stage has no job with these settings") as caught:
        print_why("scores", None, False)
    assert caught.value.file == str(here / file)
    assert variable in str(caught.value.found)
    assert caught.value.expected == "small"
    alone = jobs.make("D", method="alone", pipeline="cells", settings="").job  # of a notebook, say
    jobs.ended("cells")
    assert said(capsys, "alone").startswith(f"{alone}: alone D\n")
    large = jobs.make("C", pipeline="build_toy large", settings="large").job
    jobs.ended("build_toy large")
    assert said(capsys, "scores").startswith(f"{large}: scores C\n")
    assert said(capsys, "scores", settings="small").startswith("2 × scores: main-3 A, main-4 B\n")
    assert said(capsys, "main-3").startswith("main-3: scores A\n")  # it is asked for by its id
    monkeypatch.setenv(variable, "small.toml")
    assert said(capsys, "scores").startswith("2 × scores: main-3 A, main-4 B\n")


@pytest.mark.parametrize(
    ("what", "words"),
    [("main-70", "no such job"), ("sores", "group, scores"), ("other-1", "job id")],
)
def test_what_is_not_there_is_named(jobs: ToyJobs, what: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        print_why(what, None, False)
    assert words in caught.value.message
