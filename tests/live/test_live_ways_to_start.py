"""Commands do the same however they are started: installed, as a module, from a subfolder, with `ax run`."""

from __future__ import annotations

import re
import sys
from typing import ClassVar

import pytest
from cases import first_cases
from live_project import SHORTLOOP, fixture_of
from powers_project import PowersProject

MODULE = [sys.executable, "-m", "shortloop"]
WAYS = {
    "installed": (".", [str(SHORTLOOP)]),
    "installed, below": ("notes", [str(SHORTLOOP)]),
    "a module, below": ("notes", MODULE),
}
"""From which folder, and as what."""
ASK = ("plan powers", "why square", "show main-2", "runs", "compare main-2 main-5")


class Powers(PowersProject):
    """With a folder that has a module of the helper's name."""

    forks = False
    sources: ClassVar = {
        **PowersProject.sources,
        "notes/helper.py": "raise SystemExit('of another folder')\n",
    }

    def prepare(self) -> None:
        self.ax("run", "powers").ok()
        self.edit("powers.toml", "2", "3")
        self.said("installed", "run powers")

    def environment(self, **more: str) -> dict[str, str]:
        return {name: value for name, value in super().environment(**more).items() if name != "STUDY"}

    def said(self, way: str, command: str, status: int = 0) -> str:
        folder, start = WAYS[way]
        done = self.shell(*start, *command.split(), below=folder, COLUMNS="300")
        said = done.stdout + done.stderr
        assert done.returncode == status, said
        assert "of another folder" not in said
        return said


project = fixture_of(Powers)


@first_cases(4, "command", ASK)
def test_a_question_has_one_answer(project: Powers, command: str) -> None:
    answers = {way: _without_times(project.said(way, command)) for way in WAYS}
    assert len({*answers.values()}) == 1, answers


@first_cases(1, "way", WAYS)
def test_nothing_is_edited_in_a_sweep(project: Powers, way: str) -> None:
    """Each combination runs once, and rows are of the code as it is."""
    said = project.said(way, f"sweep --script powers --set power=1,{2 + [*WAYS].index(way)}")
    assert "edited" not in said
    assert re.findall(r"^(\d) of 2: ", said, re.M) == ["1", "2"], said


@pytest.mark.slow
def test_a_run_takes_what_another_way_has_built(project: Powers) -> None:
    """Also after an edit of the helper, which is in the key in all of them."""
    for number, way in enumerate([*WAYS, "ax"], 3):
        project.edit("helper.py", f"{number - 2} *", f"{number - 1} *")
        said = project.ax("run", "powers").stdout if way == "ax" else project.said(way, "run powers")
        assert "2 jobs built, 0 reused" in said, f"{way}: {said}"
        for other in WAYS:
            assert "0 jobs built, 2 reused" in project.said(other, "run powers"), f"{way}, {other}"


def _without_times(said: str) -> str:
    """Without the columns' widths too, which depend on the times in them."""
    return re.sub(" +", " ", re.sub(r"\d[\d.]* (s|min|minutes?|seconds?)\b( ago)?", "TIME", said))


@first_cases(3, "command", ["jobs", "show {job}", "gc", "verify", "runs"])
def test_looking_at_a_project_runs_no_code_of_it(project: Powers, command: str) -> None:
    job = next(each.parent.name for each in project.folder.glob("workdirs/main/main-[0-9]*/record.json"))
    traps = [project.folder / f"{name}.py" for name in ("json", "numpy", "pydantic", "statistics")]
    try:
        for file in traps:
            file.write_text("raise SystemExit('of another folder')\n", encoding="utf-8")
        assert project.said("installed", command.format(job=job))
    finally:
        for file in traps:
            file.unlink()
