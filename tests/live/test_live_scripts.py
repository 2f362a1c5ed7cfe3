"""Build scripts and methods with a common mistake get one message; what goes well is said as it is. Which
settings a script of one function takes, and where its results go.

All in a folder whose name would be a pattern.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import ClassVar

from cases import first_cases
from live_project import SHORTLOOP, EmptyProject, fixture_of, script, stages

METHODS = stages("""\
# frames
@stage
def frames(number: int):
    import pandas as pd
    import polars as pl

    return {"old": pd.DataFrame({"x": [number]}), "new": pl.DataFrame({"x": [number]})}

# sums
@stage
def sums(of: Job):
    print("a line")
    return {"sum": int(of["old"]["x"].sum() + of["new"]["x"].sum())}

# text
@stage
def text(file: File):
    return {"said": open(file.path).read()}

# greedy
@stage
def greedy():
    import numpy as np

    return {"sum": np.ones((10**7, 10**7)).sum()}

# count
@stage
def count(to: int, words: str = ""):
    return {"numbers.txt": " ".join(map(str, range(to))), "words": words}
""")
SCRIPT = script("{}")
COUNTS = """\
from shortloop import Settings, pipeline


class Counts(Settings):
    to: int


@pipeline(settings="counts.toml")
def main(run, settings: Counts):
    return run.build("count", to=settings.to)
"""
TEXT = "numbers.txt"


class Mistakes(EmptyProject):
    """Stages, and a build script that is written anew for each test."""

    sources: ClassVar = {**METHODS, "build_scripts/build_counts.py": COUNTS, "counts.toml": "to = 3\n"}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "paper [v2] *{a,b}?")

    def write_pipeline(self, *lines: str) -> None:
        self.write("build_scripts/build_work.py", SCRIPT.format("\n    ".join(lines)))

    def said(self, status: int, *command: str) -> str:
        done = self.shortloop(*(command or ("run", "work")))
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
        return done.stdout + done.stderr

    def results(self) -> dict[str, str]:
        found = (self.folder / "results").glob(f"*/{TEXT}")
        return {file.parent.name: file.read_text(encoding="utf-8") for file in found}


project = fixture_of(Mistakes)


def test_a_folder_whose_name_is_a_pattern(project: Mistakes) -> None:
    project.write_pipeline("return run.build('sums', of=run.build('frames', number=4))")
    assert "2 jobs built, 0 reused" in project.said(0)
    assert '"sum": 8' in (project.folder / "results/work/summary.json").read_text(encoding="utf-8")
    assert "0 jobs built, 2 reused" in project.said(0)
    assert "all are as they were recorded" in project.said(0, "verify")
    assert "build_work" in project.ax("script").stdout
    assert "sums" in project.ax("method").stdout


@first_cases(
    2,
    ("end", "found"),
    [
        ("run.build('frames', number=1)", "main returns nothing"),
        ("return [run.build('frames', number=1)]", "main returns an object of the type list"),
    ],
)
def test_a_pipeline_that_returns_no_job(project: Mistakes, end: str, found: str) -> None:
    """Nothing is built for it."""
    project.write_pipeline(end)
    for command in ("run", "plan"):
        said = project.said(1, command, "work")
        assert all(each in said for each in (found, "build_scripts/build_work.py"))
        assert "built frames" not in said


@first_cases(
    1,
    "text",
    [
        METHODS["methods/a_text.py"].replace("@stage\n", ""),
        "from shortloop import Stage\n\n\nclass text(Stage):\n    pass\n",
        "import math\n",
    ],
)
def test_a_method_without_a_stage(project: Mistakes, text: str) -> None:
    project.write_pipeline("return run.build('text', file=run.file('accelerator.conf'))")
    project.write("methods/a_text.py", text)
    try:
        for command in ("run", "plan"):
            said = project.said(1, command, "work")
            assert all(each in said for each in ("the method has no stage", "methods/a_text.py", "`@stage`"))
    finally:
        project.restore()


def test_ends_of_lines_in_files(project: Mistakes) -> None:
    """Of what a run prints, and of what its jobs print."""
    project.write_pipeline("return run.build('sums', of=run.build('frames', number=5))")
    for command in ("run", "plan"):
        done = subprocess.run(
            [str(SHORTLOOP), command, "work"],
            cwd=project.folder,
            env=project.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=True,
        )
        assert done.stdout.endswith(b"\n")
        assert b"\r" not in done.stdout
    printed = [file.read_bytes() for file in (project.folder / "workdirs/main").glob("*/OUTPUT/*")]
    assert b"a line\n" in printed
    assert not any(b"\r" in each for each in printed)


def test_the_line_that_needs_too_much_memory_is_named(project: Mistakes) -> None:
    project.write_pipeline("return run.build('greedy')")
    said = project.shortloop("run", "work").fails()
    assert "np.ones((10**7, 10**7))" in said
    assert "there is not enough memory" in said


def test_scripts_and_settings_have_folders_of_their_own(project: Mistakes) -> None:
    """Neither a second script nor second settings take away what the first delivered."""
    project.write("dev/build_trial.py", COUNTS.replace("settings.to)", 'settings.to, words="x")'))
    project.write("dev/build_alone.py", COUNTS.replace('(settings="counts.toml")', "").replace(
        ", settings: Counts", "").replace("settings.to", "2"))  # fmt: skip
    project.write("more.toml", "to = 5\n")
    wanted = {}
    for name, more, folder, text in (
        ("counts", (), "counts", "0 1 2"),
        ("trial", (), "trial-counts", "0 1 2"),
        ("counts", ("--settings", "more.toml"), "counts-more", "0 1 2 3 4"),
        ("alone", (), "alone", "0 1"),
    ):
        assert f"results: results/{folder}: {TEXT}" in project.works("run", name, *more)
        wanted[folder] = text
        assert project.results() == wanted


@first_cases(2, "taken", ["run", "run, other, settings: Counts", "run, settings", "run, settings: int"])
def test_a_script_says_which_settings_it_takes(project: Mistakes, taken: str) -> None:
    project.write("build_scripts/build_counts.py", COUNTS.replace("run, settings: Counts", taken))
    said = project.said(1, "run", "counts")
    assert "main of a build script has no annotated settings parameter" in said
    assert "build_counts.py" in said
    assert "def main(run, settings: Analysis)" in said
    project.restore()
