"""Build scripts of one function: which settings they take, and where their results go."""

from __future__ import annotations

from typing import ClassVar

import pytest
from cases import first_cases
from live_project import EmptyProject, fixture_of, stages

METHODS = stages("""\
# count
@stage
def count(to: int, words: str = ""):
    return {"numbers.txt": " ".join(map(str, range(to))), "words": words}
""")
SCRIPT = """\
from shortloop import Settings, pipeline


class Counts(Settings):
    to: int


@pipeline(settings="counts.toml")
def main(run, settings: Counts):
    return run.build("count", to=settings.to)
"""
TEXT = "numbers.txt"


class Scripts(EmptyProject):
    """A stage, and a script that builds it with its settings."""

    sources: ClassVar = {**METHODS, "build_scripts/build_counts.py": SCRIPT, "counts.toml": "to = 3\n"}

    def results(self) -> dict[str, str]:
        found = (self.folder / "results").glob(f"*/{TEXT}")
        return {file.parent.name: file.read_text(encoding="utf-8") for file in found}


shared = fixture_of(Scripts)


@pytest.fixture
def project(shared: Scripts) -> Scripts:
    shared.restore()
    return shared


def test_scripts_and_settings_have_folders_of_their_own(project: Scripts) -> None:
    """Neither a second script nor second settings take away what the first delivered."""
    project.write("dev/build_trial.py", SCRIPT.replace("settings.to)", 'settings.to, words="x")'))
    project.write("dev/build_alone.py", SCRIPT.replace('(settings="counts.toml")', "").replace(
        ", settings: Counts", "").replace("settings.to", "2"))  # fmt: skip
    project.write("more.toml", "to = 5\n")
    wanted = {}
    for script, more, folder, text in (
        ("counts", (), "counts", "0 1 2"),
        ("trial", (), "trial-counts", "0 1 2"),
        ("counts", ("--settings", "more.toml"), "counts-more", "0 1 2 3 4"),
        ("alone", (), "alone", "0 1"),
    ):
        assert f"results: results/{folder}: {TEXT}" in project.works("run", script, *more)
        wanted[folder] = text
        assert project.results() == wanted


@first_cases(2, "taken", ["run", "run, other, settings: Counts", "run, settings", "run, settings: int"])
def test_a_script_says_which_settings_it_takes(project: Scripts, taken: str) -> None:
    project.write("build_scripts/build_counts.py", SCRIPT.replace("run, settings: Counts", taken))
    said = project.shortloop("run", "counts").fails()
    assert "main of a build script has no annotated settings parameter" in said
    assert "build_counts.py" in said
    assert "def main(run, settings: Analysis)" in said
    assert "Traceback" not in said
