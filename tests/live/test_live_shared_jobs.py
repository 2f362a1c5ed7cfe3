"""Two build scripts that ask for the same share jobs; what one of them changes, the other does not build."""

from __future__ import annotations

import re
from typing import ClassVar

import pytest
from live_project import EmptyProject, fixture_of

PANEL = """\
from shortloop import File, stage


@stage
def panel(file: File):
    return {"rows": file.path.read_text()}
"""
FIT = """\
from shortloop import Job, stage


@stage
def fit(panel: Job, power: int = 1):
    return {"y": len(panel["rows"]) ** power}
"""
SCRIPT = """\
from shortloop import pipeline


@pipeline
def main(run):
    panel = run.build("panel", file=run.file("panel.csv"))
    return run.build("fit", panel=panel, power=1)
"""


class SharingProject(EmptyProject):
    """Two build scripts that say the same."""

    sources: ClassVar = {
        "methods/a_panel.py": PANEL,
        "methods/a_fit.py": FIT,
        "panel.csv": "1,2,3\n",
        "build_scripts/build_a.py": SCRIPT,
        "build_scripts/build_b.py": SCRIPT,
    }

    def write_script(self, name: str, power: int) -> None:
        self.write(f"build_scripts/build_{name}.py", SCRIPT.replace("power=1", f"power={power}"))

    def go(self, name: str) -> list[str]:
        """Run a build script; what it built, with the reasons."""
        done = self.ax("run", name).ok()
        return [" ".join(line.split()[2:]) for line in done.stdout.splitlines() if "] built" in line]

    def says(self, *command: str) -> str:
        """What a command of ours says, in one line."""
        return " ".join(self.works(*command).split())


project = fixture_of(SharingProject, "function")


def reasons(built: list[str]) -> list[tuple[str, str]]:
    """Stage and reason of each."""
    return [(line.split()[0], re.sub(r"^\S+ main-\d+ \S+ s ", "", line)) for line in built]


@pytest.mark.slow
def test_the_second_reuses_what_the_first_has_built(project: SharingProject) -> None:
    assert "all 2 jobs are cached" not in project.says("plan", "b")
    assert reasons(project.go("a")) == [("panel", "new"), ("fit", "new")]
    assert "all 2 jobs are cached: nothing would be built" in project.says("plan", "b")
    assert project.go("b") == []
    said = project.says("runs")
    assert re.search(r"1 \S+ \S+ build_a 2 0 .* 2 \S+ \S+ build_b 0 2", said)
    assert "fit main-2 reused" in project.says("runs", "2")
    for job in ("main-1", "main-2"):
        said = project.says("show", job)
        assert "for build_a" in said
        assert "used by build_a, build_b" in said
        assert project.says("why", job).endswith("there is no older job of its kind to compare it with")
    assert "panel build_a, build_b" in project.says("jobs")
    assert "2 jobs" in project.says("verify")


@pytest.mark.slow
def test_an_edit_of_the_one_builds_nothing_of_the_other(project: SharingProject) -> None:
    project.go("a")
    project.go("b")
    project.write_script("a", 2)
    assert reasons(project.go("a")) == [("fit", "option power: 1 → 2")]
    assert "all 2 jobs are cached" in project.says("plan", "b")
    assert project.go("b") == []
    assert "used by" not in project.says("show", "main-5")
    assert "used by build_b" in project.says("show", "main-2")  # it was built for the other
    assert "superseded fit" not in project.says("gc")
    # The other goes there too, and on from there: it is compared with its own.
    project.write_script("b", 2)
    assert project.go("b") == []
    project.write_script("b", 3)
    assert reasons(project.go("b")) == [("fit", "option power: 2 → 3")]
    why = project.says("why", "fit")
    assert "built for build_a: option power: 1 → 2 compared with main-2, in its place before" in why
    assert re.search(r"built for build_b: option power: 2 → 3 compared with main-5, in its place before", why)
    assert "superseded fit" in project.says("gc")  # main-2 is in the last run of none


@pytest.mark.slow
def test_both_build_what_changed_for_both_once(project: SharingProject) -> None:
    project.go("a")
    project.go("b")
    project.write("panel.csv", "1,2,3,4\n")
    assert "if the content of its unread files changed" in project.says("plan", "b")
    assert [stage for stage, _ in reasons(project.go("b"))] == ["panel", "fit"]
    assert project.go("a") == []
    said = project.says("why", "panel")
    assert said.count("built for") == 1
    assert "built for build_b: file panel.csv was changed" in said
