"""Ways to start Python that make it compute otherwise are told apart."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from jobs_project import ROOT

PROGRAM = "from shortloop.keys.code import python_here; print(python_here())"
STARTS = f"""
import subprocess, sys
from shortloop.keys.code import pass_on_options
pass_on_options()
subprocess.run([sys.executable, "-c", {PROGRAM!r}], check=True)
"""


def said(*options: str, program: str = PROGRAM, **environment: str) -> str:
    """What a Python says that is started in some way."""
    kept = {name: each for name, each in os.environ.items() if not name.startswith("PYTHON")}
    path = os.pathsep.join([environment.pop("PYTHONPATH", str(ROOT)), str(ROOT)])
    command = [sys.executable, *options, "-c", program]
    done = subprocess.run(
        command, env={**kept, "PYTHONPATH": path, **environment}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_each_way_to_start_is_another(tmp_path: Path) -> None:
    usual = said()
    assert usual == platform.python_version()
    (tmp_path / "sitecustomize.py").write_text("import mine\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text("x = 1\n", encoding="utf-8")
    customized = said(PYTHONPATH=str(tmp_path))
    (tmp_path / "mine.py").write_text("x = 2\n", encoding="utf-8")
    others = [
        said("-O"),
        said(PYTHONOPTIMIZE="2"),
        said("-W", "error"),
        said(PYTHONHASHSEED="0"),
        said(PYTHONHASHSEED="1"),
        customized,
        said(PYTHONPATH=str(tmp_path)),
    ]
    assert len({usual, *others}) == len(others) + 1
    assert said(PYTHONOPTIMIZE="1") == others[0]
    assert said(PYTHONWARNINGS="error") == others[2]
    assert said(PYTHONHASHSEED="random", PYTHONUNBUFFERED="1") == usual


@pytest.mark.parametrize("options", [(), ("-O",), ("-OO", "-W", "error"), ("-X", "dev")])
def test_programs_are_started_the_same_way(options: tuple[str, ...]) -> None:
    assert said(*options, program=STARTS) == said(*options)
