"""Analyses are found where they lie or by entry points, and the command works without any."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cases import first_cases
from command_line import ROOT, assert_one_message, shortloop
from python_process import ended
from toy_jobs import project_of_two_jobs
from without_root import MANY

from shortloop.analyses import find_analyses

TOY = """\
import typer
from shortloop.analyses import Analysis, Compared, Comparison

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


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the frame, without any analysis."""
    copy = tmp_path_factory.mktemp("library")
    leave = shutil.ignore_patterns("__pycache__", *find_analyses())
    shutil.copytree(ROOT / "shortloop", copy / "shortloop", ignore=leave)
    return copy


@pytest.fixture(scope="module")
def with_toy(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Path:
    """A copy of the frame with a toy analysis."""
    copy = tmp_path_factory.mktemp("with_toy") / "library"
    shutil.copytree(library, copy)
    write_toy(copy, TOY)
    return copy


def write_toy(library: Path, text: str) -> None:
    (library / "shortloop" / "toy").mkdir(exist_ok=True)
    (library / "shortloop" / "toy" / "__init__.py").touch()
    (library / "shortloop" / "toy" / "analysis.py").write_text(text, encoding="utf-8")


def several(folder: Path, library: Path | str, *wanted: str) -> list[str]:
    """What several commands print, one after the other in one process."""
    given = {"PYTHONPATH": str(library), "COLUMNS": "200"}
    done = ended(["-c", MANY, json.dumps([each.split() for each in wanted])], folder, **given)
    assert done.returncode == 0, done.stderr
    said = [*map(json.loads, done.stdout.splitlines())]
    assert [status for status, _, _ in said] == [0] * len(wanted), said
    return [out for _, out, _ in said]


COMPARE = "compare main-0 main-1"


def test_the_command_without_an_analysis(folder: Path, library: Path) -> None:
    about, *_, compared = several(folder, library, "--help", "show main-0", "why main-1", COMPARE)
    assert "study" not in about
    assert "4 values differ" in compared
    assert "figure" not in compared


def test_an_analysis_needs_its_folder_only(folder: Path, with_toy: Path) -> None:
    about, lines, compared = several(folder, with_toy, "--help", "lines", COMPARE)
    assert "Say how long lines are." in about
    assert lines == "very\n"
    assert "line   Height (m)  mean   1.000   2.500       1.500" in compared
    assert (folder / "results/compare/main-0_main-1.png").is_file()


def test_the_other_commands_work_whatever_state_an_analysis_is_in(folder: Path, with_toy: Path) -> None:
    write_toy(with_toy, "import no_such_library\n")
    try:
        assert shortloop(folder, "jobs", library=with_toy).returncode == 0
        done = shortloop(folder, "--help", library=with_toy)
    finally:
        write_toy(with_toy, TOY)
    assert done.returncode == 1
    assert "no_such_library" in done.stderr


def install(folder: Path, entry_points: str, **modules: str) -> None:
    """Install a package: its modules, and what pip notes of it."""
    noted = folder / "lines_of_text-1.2.dist-info"
    noted.mkdir(parents=True)
    (noted / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    (noted / "METADATA").write_text("Name: lines_of_text\nVersion: 1.2\n", encoding="utf-8")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


OFFERED = "[console_scripts]\nlines = lines:main\n\n[shortloop.analyses]\n"
SETTINGS = """
from shortloop.analyses import SettingsKind
from shortloop.settings.base import StudySettings

class Lines(StudySettings):
    \"\"\"Lines.\"\"\"

    longest: int = 80
    def in_words(self):
        return f"lines of {self.longest}"

ANALYSIS = Analysis(app, compare, settings=SettingsKind("lines", "lines.Lines", "build_lines"))
"""


def test_an_analysis_of_anybody_needs_an_entry_point(folder: Path, library: Path, tmp_path: Path) -> None:
    """A package of one file, which touches no file of this one."""
    site = tmp_path / "site"
    install(site, f"{OFFERED}text-lines = lines:ANALYSIS\n", lines=TOY + SETTINGS)
    (folder / "lines.toml").write_text('name = "a"\nlongest = 7\n', encoding="utf-8")
    wanted = "--help", "lines", COMPARE, "study --text-lines", "study --text-lines lines.toml"
    about, lines, compared, listed, checked = several(folder, f"{library}:{site}", *wanted)
    assert "Say how long lines are." in about
    assert lines == "very\n"
    for part, text in (("Height (m)", compared), ("longest", listed), ("lines of 7", checked)):
        assert part in text
    assert "frames" in find_analyses()  # as are those of data frames


@first_cases(
    2,
    ("offered", "module", "words"),
    [
        ("text = lines:ANALYSIS", "import no_such_library", ("no_such_library", "lines_of_text 1.2")),
        ("text = lines:NOTHING", TOY, ("AttributeError", "NOTHING", "lines_of_text 1.2")),
        ("text = lines:draw", TOY, ("not an analysis", "function", "shortloop.analyses.Analysis")),
        ("toy = lines:ANALYSIS", TOY, ("of this name", "toy", "lines_of_text 1.2")),
        ("--x y = lines:ANALYSIS", TOY, ("of this name", "--x y")),
    ],
)
def test_what_is_wrong_with_an_entry_point_is_named(
    folder: Path, with_toy: Path, tmp_path: Path, offered: str, module: str, words: tuple[str, ...]
) -> None:
    install(tmp_path / "site", OFFERED + offered + "\n", lines=module)
    assert_one_message(shortloop(folder, "--help", library=f"{with_toy}:{tmp_path / 'site'}"), *words)
