"""The first commands of the README work as they stand there, in a clone of the repository."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_project import PATIENCE, ROOT
from python_process import finished
from test_live_commands import STUDY

README = (ROOT / "README.md").read_text(encoding="utf-8")
SET_UP = re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)[0]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".socket.dir", "*.egg-info", "results", "main-*", ".cache"
)


@pytest.fixture(scope="module")
def clone() -> Iterator[Path]:
    """A copy of the repository in which `make` has set everything up, and nothing else was done."""
    with tempfile.TemporaryDirectory(prefix="sl-") as above:  # the path of a Unix socket must be short
        folder = Path(above) / "shortloop"
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT, symlinks=True)
        (folder / ".venv").symlink_to(sys.prefix)
        yield folder


def said_in(clone: Path, commands: str, **environment: str) -> str:
    """What commands of a shell say, each of which must work."""
    dropped = ("MAKE", "MFLAGS", "PYTEST", "COVERAGE", "PYTHONDONTWRITEBYTECODE", "STUDY", "SHORTLOOP")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    alone = {**kept, "USER": "tester", "SHORTLOOP_SLICES": "2", **environment}
    done = finished(["bash", "-e", "-c", commands], clone, alone, 2 * PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def command_of(block: str, begin: str) -> str:
    (found,) = [line for line in block.splitlines() if line.startswith(begin)]
    return found


def test_they_are_the_first_that_a_reader_meets() -> None:
    assert [line.split("#")[0].strip() for line in SET_UP.splitlines()] == ["make run", "make test"]
    assert README.count("make run") == 1  # and no other command comes before it


@pytest.mark.parametrize("command", ["make run", "make test"])
def test_they_set_everything_up_first(clone: Path, tmp_path: Path, command: str) -> None:
    """Where nothing is set up yet. That is not done here, as it installs what runs this."""
    shutil.copy(clone / "Makefile", tmp_path)
    for name in ("requirements.txt", "setup.py", "pyproject.toml"):
        (tmp_path / name).touch()
    planned = said_in(tmp_path, f"{command} --dry-run")
    steps = [" -m venv ", "--requirement requirements.txt", "--editable .", "touch .venv/.ready"]
    steps.append("shortloop run build_pipeline" if command == "make run" else "-m pytest")
    assert sorted(map(planned.index, steps)) == [*map(planned.index, steps)]


@pytest.mark.slow
def test_make_run_runs_the_main_pipeline(clone: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"  # the default one takes a minute
    study.write_text(STUDY, encoding="utf-8")
    assert "jobs built, 0 reused" in said_in(clone, command_of(SET_UP, "make run"), STUDY=str(study))
    assert (clone / "results/simulated/report.html").is_file()


@pytest.mark.slow  # as `make test` itself does, in a clone
def test_make_test_checks_and_tests(clone: Path) -> None:
    """With few tests, as it would run this one again."""
    kept = str(ROOT / ".mypy_cache")
    few = {"TESTS": "tests/test_text.py tests/settings", "TESTERS": "1", "MYPY_CACHE_DIR": kept}
    said = said_in(clone, command_of(SET_UP, "make test"), **few)
    assert "All checks passed!" in said  # ruff
    assert "no issues found in" in said  # mypy
    assert re.search(r"\d\d passed", said)
