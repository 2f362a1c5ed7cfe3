"""What a job that was cut off has computed is used by the next one only if that would compute the same."""

from __future__ import annotations

import itertools
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest
from live_one import OneProject, unseen_edit
from live_project import AX, PATIENCE, fixture_of

STAGE = """\
import os
import time
from pathlib import Path

from methods.via import late
from shortloop.exax.method import exax_method
from shortloop.stages.stage import Out, Stage

FOLDER = Path(os.environ["FOLDER"])


class Units(Stage):
    number: int

    def units(self):
        return 3

    def outputs(self):
        return {"x": Out((3,), "i8", "units", "x")}

    def compute(self, unit):
        for what in (f"unit-{unit}", "each"):
            while (FOLDER / f"hold-{what}").exists():
                (FOLDER / f"held-{what}").touch()
                time.sleep(0.005)
        (FOLDER / f"computed-{unit}").touch()
        return {"x": late()}


globals().update(exax_method(Units, __file__))
"""
# What a stage imports is loaded before its job; what that imports in a function is not.
VIA = """def late():
    from methods.deep import late
    return late()
"""
DEEP = """def late():
    from methods.late import K
    return K
"""


class CheckpointsProject(OneProject):
    sources: ClassVar = {
        **OneProject.sources,
        "methods/via.py": VIA,
        "methods/deep.py": DEEP,
        "methods/late.py": "K = 1\n",
        "methods/a_units.py": STAGE,
    }


project = fixture_of(CheckpointsProject)
numbers = itertools.count()


@pytest.fixture
def one(project: OneProject) -> OneProject:
    """A job that was never built, of the code as it was first."""
    project.write("methods/late.py", "K = 1\n")
    computed(project)
    project.order("units", number=next(numbers))
    return project


def computed(one: OneProject) -> list[str]:
    files = sorted(one.folder.glob("computed-*"))
    for file in files:
        file.unlink()
    return [file.name.removeprefix("computed-") for file in files]


def cut_off(one: OneProject, running: subprocess.Popen[str]) -> None:
    """Kill a run in its last unit."""
    one.wait_until_held("unit-2", running)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=PATIENCE)


@contextmanager
def edited_meanwhile(one: OneProject) -> Iterator[subprocess.Popen[str]]:
    """A run whose units were begun with one code, have loaded another, and are held in the last one."""
    with one.held("each"):
        running = one.popen(AX, "run", "one")
        one.wait_until_held("each", running)
        unseen_edit(one.folder / "methods" / "late.py", "K = 2\n")
        with one.held("unit-2"):
            (one.folder / "hold-each").unlink()
            yield running
        (one.folder / "hold-each").touch()


def test_units_of_code_that_was_put_back_are_computed_again(one: OneProject) -> None:
    with edited_meanwhile(one) as running:
        cut_off(one, running)
    assert "0" in computed(one)
    unseen_edit(one.folder / "methods" / "late.py", "K = 1\n")
    assert one.one()[:2] == (1, True)
    assert computed(one) == ["0", "1", "2"]


def test_units_of_a_job_that_is_built_again_are_computed_again(one: OneProject) -> None:
    with edited_meanwhile(one) as running:
        one.wait_until_held("unit-2", running)
        unseen_edit(one.folder / "methods" / "late.py", "K = 1\n")
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    assert "the code of methods.late changed while" in said
    assert one.last() == (1, True)
