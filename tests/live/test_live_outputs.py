"""What jobs print is kept with them and shown, by one process for all of them."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import ClassVar

import pytest
from cases import first_cases
from live_project import Done, EmptyProject, fixture_of, processes, wait_for

LOUD = """\
import os
import subprocess
import sys

options = {"number": 0, "lines": 1, "fails": False}


def prepare(job):
    print("prepare", os.getppid())


def analysis(sliceno):
    for line in range(options["lines"]):
        print(f"slice {sliceno} line {line:06}")
    subprocess.run([sys.executable, "-c", f"print('program of slice {sliceno}')"], check=True)


def synthesis():
    print("synthesis é", file=sys.stderr)
    if options["fails"]:
        raise ValueError("as asked")
"""
SILENT = """\
options = {"number": 0}


def synthesis():
    return options["number"]
"""
SCRIPT = """\
import json
from pathlib import Path


def main(urd):
    here = Path(__file__).parents[1]
    for number, (method, options) in enumerate(json.loads((here / "jobs.json").read_text())):
        job = urd.build(method, number=number, force_build=True, **options)
        (here / "last").write_text(str(job.path))
"""


class LoudProject(EmptyProject):
    """Jobs that print."""

    sources: ClassVar = {
        "methods/a_loud.py": LOUD,
        "methods/a_silent.py": SILENT,
        "build_scripts/build_loud.py": SCRIPT,
    }

    def go(self, *jobs: tuple[str, dict[str, object]]) -> Done:
        self.write("jobs.json", json.dumps(jobs))
        return self.ax("run", "loud")

    def printed(self) -> dict[str, str]:
        """What the last job printed, by its part."""
        folder = Path((self.folder / "last").read_text(encoding="utf-8")) / "OUTPUT"
        found = (
            {file.name: file.read_bytes().decode() for file in folder.iterdir()} if folder.is_dir() else {}
        )
        return {name: text.replace("\r\n", "\n") for name, text in found.items()}

    def keepers(self) -> list[int]:
        """Processes that keep what jobs of this project print."""
        found = processes(self.folder)
        return [number for number, each in found.items() if each.command.rstrip() == "output of jobs"]


project = fixture_of(LoudProject)


def is_whole(printed: dict[str, str], lines: int) -> bool:
    slices = [
        "".join(f"slice {number} line {line:06}\n" for line in range(lines)) + f"program of slice {number}\n"
        for number in range(2)
    ]
    return [printed["0"], printed["1"], printed["synthesis"]] == [*slices, "synthesis é\n"]


def test_each_part_is_kept_and_shown(project: LoudProject) -> None:
    project.go(("loud", {"lines": 20_000})).ok()
    printed = project.printed()
    assert printed.keys() == {"prepare", "0", "1", "synthesis"}
    assert is_whole(printed, 20_000)
    assert "slice 1 line 000000" in (project.folder / "server.log").read_text(encoding="utf-8")
    assert len(project.keepers()) == 1
    shown = project.ax("job", "-O", (project.folder / "last").read_text().rpartition("/")[2]).stdout
    assert "slice 0 line 019999" in shown
    project.go(("silent", {})).ok()
    assert not (Path((project.folder / "last").read_text(encoding="utf-8")) / "OUTPUT").exists()


def test_a_job_that_fails_has_said_why(project: LoudProject) -> None:
    said = project.go(("loud", {}), ("loud", {"fails": True})).fails()
    assert "as asked" in said
    newest = max((project.folder / "workdirs/main").glob("main-[0-9]*/setup.json"), key=os.path.getmtime)
    assert "ValueError: as asked" in (newest.parent / "OUTPUT/synthesis").read_text(encoding="utf-8")


@first_cases(2, "number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_output_is_kept_whatever_becomes_of_that_process(project: LoudProject, number: int) -> None:
    (keeper,) = project.keepers()
    os.kill(keeper, number)
    if number == signal.SIGKILL:
        wait_for(lambda: keeper not in project.keepers())
    project.go(("loud", {}), ("silent", {}), ("loud", {"lines": 3})).ok()
    assert is_whole(project.printed(), 3)
    assert len(project.keepers()) == (number != signal.SIGKILL)


@pytest.mark.slow
def test_another_one_comes_with_the_methods_and_none_is_left(project: LoudProject) -> None:
    method = project.folder / "methods" / "a_silent.py"
    method.write_text(f"{SILENT}\n\nx = 1\n", encoding="utf-8")
    project.go(("silent", {}), ("loud", {})).ok()
    assert len(project.keepers()) == 1
    project.stop_server()
    wait_for(lambda: not project.keepers())  # it ends with those whose output it keeps
    project.start_server()
