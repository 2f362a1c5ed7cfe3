"""Environments with this package installed from what is published: a wheel or an archive of its sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from live_project import AX, ROOT
from python_process import finished

FOLDERS = ("shortloop", "methods", "build_scripts", "dev")
FILES = ("setup.py", "pyproject.toml", "README.md", "LICENSE")


def sources(folder: Path) -> Path:
    """A copy of what a package is built from, as building leaves files behind."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    return folder


def built(folder: Path, kind: str) -> Path:
    """The package, built from a copy of the sources: ``wheel`` or ``sdist``."""
    code = f"from setuptools.build_meta import build_{kind}; build_{kind}('out')"
    (folder / "out").mkdir()
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
    (found,) = (folder / "out").iterdir()
    return found


@pytest.fixture(scope="module")
def above() -> Iterator[Path]:
    """A short path: addresses of sockets have a limit."""
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def wheel(above: Path) -> Path:
    (above / "for-wheel").mkdir()
    return built(sources(above / "for-wheel"), "wheel")


@pytest.fixture(scope="module")
def environment(above: Path, wheel: Path) -> Environment:
    """With all libraries, and this package from the wheel."""
    made = Environment(above / "env", borrows=True)
    made.install("--no-deps", "--no-index", str(wheel))
    assert "methods" not in {each.name for each in made.library.iterdir()}
    return made


class Environment:
    """A Python of its own."""

    def __init__(self, folder: Path, borrows: bool) -> None:
        """With the libraries of this Python, but not this package, if it borrows them; else with none."""
        venv.create(folder, with_pip=not borrows, symlinks=True)
        self.python = folder / "bin" / "python"
        (self.library,) = (folder / "lib").glob("python*/site-packages")
        if borrows:
            for each in Path(sysconfig.get_path("purelib")).iterdir():
                if "shortloop" not in each.name and each.suffix != ".pth" and each.name != "__pycache__":
                    (self.library / each.name).symlink_to(each)
            command = AX.read_text(encoding="utf-8").partition("\n")[2]
            (folder / "bin" / "ax").write_text(f"#!{self.python}\n{command}", encoding="utf-8")
            (folder / "bin" / "ax").chmod(0o755)

    def install(self, *what: str) -> None:
        subprocess.run(
            [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what],
            check=True,
            capture_output=True,
        )

    def run(self, folder: Path, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command of this environment, e.g. ``"shortloop", "run"``."""
        dropped = ("_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "STUDY")
        kept = {name: each for name, each in os.environ.items() if not name.endswith(dropped)}
        alone = {**kept, "USER": "tester", "SHORTLOOP_SLICES": "2", **environment}
        program = self.python.with_name(str(command[0]))
        return finished([program, *command[1:]], folder, alone, 500)

    def works(self, folder: Path, *command: str | Path) -> str:
        """The same of a command that must work; what it said."""
        done = self.run(folder, *command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> Sequence[str]:
        """Files of this package that are installed, but for bytecode."""
        found = [file for file in (self.library / "shortloop").rglob("*") if file.is_file()]
        return sorted(str(file.relative_to(self.library)) for file in found if file.suffix != ".pyc")
