"""How many notes reused jobs have is kept, and counted again where that is not known or cannot be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from jobs_project import empty_project

from shortloop.plan.pipeline import Built
from shortloop.run.executor import earlier_notes

project = pytest.fixture(empty_project)


class Noted(Built):
    """A job that says how often its notes were read."""

    def notes(self) -> list[str]:
        read.append(self.job)
        return ["it rained"] if self.job == "main-1" else []


read: list[str] = []
JOBS = [Noted(f"main-{number}", "toy", None, content=f"c{number}") for number in range(3)]
SAID = ["1 note of earlier runs: shortloop show main-1"]


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"main-0 c0": "x", "main-1 c1": 1, "main-2 c2": 0}'])
def test_notes_are_counted_once(project: Path, kept: str) -> None:
    file = project / "workdirs/.cache/notes/counts.json"
    file.parent.mkdir(parents=True)
    file.write_text(kept, encoding="utf-8")
    read.clear()
    assert earlier_notes(JOBS) == SAID
    assert read == ["main-0", "main-1", "main-2"]
    assert earlier_notes(JOBS) == SAID
    assert earlier_notes(JOBS[:2]) == SAID
    assert len(read) == 3


def test_a_job_that_came_out_different_is_counted_again(project: Path) -> None:
    earlier_notes(JOBS)
    read.clear()
    assert earlier_notes([JOBS[0], replace(JOBS[1], content="other")]) == SAID
    assert "main-1" in read
