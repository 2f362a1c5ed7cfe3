"""The image has pinned libraries, one thread in each process, and no root."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess

import pytest
from deploy_compose import DEPLOY, image_environment
from source_tree import ROOT

from shortloop.stages.threads import VARIABLES

TEXT = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
LINES = re.sub(r"^#.*\n", "", TEXT, flags=re.M).replace("\\\n", " ").splitlines()


def test_processes_have_one_thread() -> None:
    of_macs = {"VECLIB_MAXIMUM_THREADS"}
    assert {name for name, value in image_environment().items() if value == "1"} >= {*VARIABLES} - of_macs


def test_it_does_not_run_as_root() -> None:
    (user,) = [line.split()[1] for line in LINES if line.startswith("USER ")]
    assert user.isdecimal()
    assert int(user) > 0


def test_what_it_copies_is_there() -> None:
    copied = [line.split()[1:-1] for line in LINES if line.startswith("COPY ") and "--from" not in line]
    assert copied
    assert all((ROOT / name).exists() for names in copied for name in names)


def test_it_copies_all_that_is_installed() -> None:
    """The folders of setup.py, or it cannot be installed."""
    folders = ast.literal_eval(
        next(
            node.value
            for node in ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FOLDERS"
        )
    )
    copied = {name for line in LINES if line.startswith("COPY ") for name in line.split()[1:-1]}
    assert {"shortloop", *folders.values()} <= copied


def test_a_change_of_the_project_installs_no_libraries_again() -> None:
    installs = [line.partition("pip install")[2] for line in LINES if "pip install" in line]
    copies = [place for place, line in enumerate(LINES) if "shortloop shortloop" in line]
    libraries = [place for place, line in enumerate(LINES) if "requirements.txt" in line]
    assert len(installs) == 4
    assert max(libraries) < min(copies)
    assert all("requirements.txt" in options or "--no-deps" in options for options in installs)


def test_a_linter_finds_nothing() -> None:
    linter = shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([linter, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
