"""Build scripts of one function: which settings they take, and where their results go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_project import EmptyProject, served

pytestmark = pytest.mark.live

COUNT = '''\
"""Counts."""

from shortloop import stage


@stage
def count(to: int, words: str = ""):
    return {"numbers.txt": " ".join(map(str, range(to))), "words": words}
'''
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
    """A stage, and scripts that build it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "methods" / "a_count.py").write_text(COUNT, encoding="utf-8")
        self.begin()

    def begin(self) -> None:
        """One script and its settings, whatever was there."""
        self.write_script("build_scripts/build_counts.py", SCRIPT)
        self.write_settings("counts.toml", 3)

    def write_script(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def write_settings(self, name: str, to: int) -> None:
        (self.folder / name).write_text(f"to = {to}\n", encoding="utf-8")

    def results(self) -> dict[str, str]:
        found = (self.folder / "results").glob(f"*/{TEXT}")
        return {file.parent.name: file.read_text(encoding="utf-8") for file in found}


@pytest.fixture(scope="module")
def shared() -> Iterator[Scripts]:
    with served(Scripts) as made:
        yield made


@pytest.fixture
def project(shared: Scripts) -> Scripts:
    shared.begin()
    return shared


def test_scripts_and_settings_have_folders_of_their_own(project: Scripts) -> None:
    """Neither a second script nor second settings take away what the first delivered."""
    project.write_script("dev/build_trial.py", SCRIPT.replace("settings.to)", 'settings.to, words="x")'))
    project.write_script("dev/build_alone.py", SCRIPT.replace('(settings="counts.toml")', "").replace(
        ", settings: Counts", "").replace("settings.to", "2"))  # fmt: skip
    project.write_settings("more.toml", 5)
    wanted = {}
    for script, more, folder, text in (
        ("counts", (), "counts", "0 1 2"),
        ("trial", (), "trial-counts", "0 1 2"),
        ("counts", ("--settings", "more.toml"), "counts-more", "0 1 2 3 4"),
        ("alone", (), "alone", "0 1"),
    ):
        done = project.shortloop("run", script, *more)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"results: results/{folder}: {TEXT}" in done.stdout
        wanted[folder] = text
        assert project.results() == wanted


def test_a_script_that_is_not_there(project: Scripts) -> None:
    """`ax run` looks for it in all packages, also in the first of the configuration, and says so."""
    for command in ("run", "plan"):
        done = project.shortloop(command, "nosuch")
        assert done.returncode == 1
        assert "no such build script" in done.stderr
        assert "nosuch" in done.stderr
        assert "build_counts" in done.stderr
        assert "Traceback" not in done.stderr
    done = project.ax("run", "nosuch")
    assert done.returncode != 0
    assert 'No build script "build_nosuch" found in {' in done.stdout + done.stderr


@pytest.mark.parametrize(
    "taken",
    [
        "run",
        pytest.param("run, settings", marks=pytest.mark.slow),
        pytest.param("run, settings: int", marks=pytest.mark.slow),
        "run, other, settings: Counts",
    ],
)
def test_a_script_says_which_settings_it_takes(project: Scripts, taken: str) -> None:
    project.write_script("build_scripts/build_counts.py", SCRIPT.replace("run, settings: Counts", taken))
    done = project.shortloop("run", "counts")
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "main of a build script has no annotated settings parameter" in said
    assert "build_counts.py" in said
    assert "def main(run, settings: Analysis)" in said
    assert "Traceback" not in said
