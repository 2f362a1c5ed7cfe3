"""``@stage`` makes a method of the file that it stands in, and leaves the function as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from jobs_project import empty_project

project = pytest.fixture(empty_project)

FUNCTION = '''\
"""A method."""

from shortloop import Job, stage


@stage
def double(numbers: Job, factor: float = 2.0):
    """Doubles."""
    return {"doubled": factor}
'''
UNITS = '''\
"""A method."""

from shortloop import Job, stage


def parts(numbers: Job):
    return {}


@stage(units=parts)
def double(part, factor: float):
    return {"doubled": factor * part}
'''
CLASS = '''\
"""A method."""

from shortloop import Job, Stage, stage


@stage
class Double(Stage):
    """Doubles."""

    numbers: Job
    factor: float = 2.0
'''


def said(project: Path, text: str, code: str, file: str = "methods/a_double.py") -> str:
    path = project / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    module = file.removesuffix(".py").replace("/", ".")
    done = subprocess.run(
        [sys.executable, "-c", f"import {module} as m\n{code}"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stdout + done.stderr).strip()


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (FUNCTION, "['numbers'] None Doubles. ['synthesis']"),
        (UNITS, "['numbers'] None double ['analysis', 'prepare', 'synthesis']"),
        (CLASS, "['numbers'] None Doubles. ['synthesis']"),
    ],
)
def test_a_file_becomes_a_method(project: Path, text: str, has: str) -> None:
    code = (
        "names = [name for name in ('analysis', 'prepare', 'synthesis') if hasattr(m, name)]\n"
        "print([*m.jobs], m.options['factor'], m.description, names)"
    )
    assert said(project, text, code) == has


def test_the_function_can_be_called(project: Path) -> None:
    assert said(project, FUNCTION, "print(m.double(None, 3))") == "{'doubled': 3}"
    assert said(project, UNITS, "print(m.double(2, 3))") == "{'doubled': 6}"


def test_a_file_of_another_name_is_no_method(project: Path) -> None:
    assert said(project, FUNCTION, "print(hasattr(m, 'synthesis'))", "methods/steps.py") == "False"


def test_two_stages_in_a_file_are_refused(project: Path) -> None:
    found = said(project, FUNCTION + FUNCTION.replace("double", "triple"), "")
    assert "a method is made of one stage" in found
    assert "double and triple" in found
