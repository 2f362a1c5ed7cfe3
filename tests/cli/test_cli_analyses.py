"""Analyses are found where they lie, and the command works without any."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import ROOT, shortloop
from toy_jobs import project_of_two_jobs

from shortloop.cli.analyses import find_analyses

TOY = """\
import typer
from shortloop.cli.analyses import Analysis, Compared, Comparison

app = typer.Typer()

@app.command()
def lines() -> None:
    \"\"\"Say how long lines are.\"\"\"
    print("very")

def draw():
    from shortloop.report.style import new_figure
    return new_figure(2.0)

def compare(first, second):
    return Comparison("lines", (Compared("line", "Height (m)", "mean", 1.0, 2.5),), draw)

ANALYSIS = Analysis(app, compare)
"""

folder = pytest.fixture(project_of_two_jobs)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A copy of the frame, without any analysis."""
    copy = tmp_path / "library"
    leave = shutil.ignore_patterns("__pycache__", *find_analyses())
    shutil.copytree(ROOT / "shortloop", copy / "shortloop", ignore=leave)
    return copy


def add_toy(library: Path, text: str) -> None:
    (library / "shortloop" / "toy").mkdir()
    (library / "shortloop" / "toy" / "__init__.py").touch()
    (library / "shortloop" / "toy" / "analysis.py").write_text(text, encoding="utf-8")


def test_the_command_without_an_analysis(folder: Path, library: Path) -> None:
    assert "study" not in shortloop(folder, "--help", library=library).stdout
    for command in (("jobs",), ("show", "main-0"), ("why", "main-1"), ("verify",), ("gc",)):
        done = shortloop(folder, *command, library=library)
        assert done.returncode == 0, done.stderr
    done = shortloop(folder, "compare", "main-0", "main-1", library=library)
    assert done.returncode == 0, done.stderr
    assert "4 values differ" in done.stdout
    assert "figure" not in done.stdout


def test_an_analysis_needs_its_folder_only(folder: Path, library: Path) -> None:
    add_toy(library, TOY)
    assert "Say how long lines are." in shortloop(folder, "--help", library=library).stdout
    assert shortloop(folder, "lines", library=library).stdout == "very\n"
    done = shortloop(folder, "compare", "main-0", "main-1", library=library)
    assert "line   Height (m)  mean   1.000   2.500       1.500" in done.stdout
    assert (folder / "results/compare/main-0_main-1.png").is_file()


def test_the_other_commands_work_whatever_state_an_analysis_is_in(folder: Path, library: Path) -> None:
    add_toy(library, "import no_such_library\n")
    assert shortloop(folder, "jobs", library=library).returncode == 0
    done = shortloop(folder, "--help", library=library)
    assert done.returncode == 1
    assert "no_such_library" in done.stderr
