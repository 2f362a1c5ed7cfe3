"""`shortloop run` goes on without a server where all jobs are there, and does all else as ever."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest
from live_one import unseen_edit
from live_project import PATIENCE, SHORTLOOP, EmptyProject, fixture_of, script, stages

METHODS = stages("""\
# product
from methods.steps import times


@stage
def product(file: File, by: int = 1):
    return {"value": times(float(file.path.read_text()), by)}
""")
HELPER = "def times(value, by):\n    return 2 * value * by\n"
DECORATED = script("""
print("the pipeline is asked")
return run.build("product", file=run.file("number.txt"))
""")
OWN = """\
from pathlib import Path

from shortloop.run.executor import run_pipeline


def main(urd):
    with Path(NAMED).open("a") as stream:
        stream.write("called\\n")
    return run_pipeline(urd, lambda run: run.build("product", file=run.file("number.txt")), name="own")
"""


class Reusing(EmptyProject):
    """One job of a file, by a method with a helper."""

    sources: ClassVar = {
        **METHODS,
        "methods/steps.py": HELPER,
        "build_scripts/build_one.py": DECORATED,
        "number.txt": "3.0",
    }
    run_name = "one"
    forks = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.write("build_scripts/build_own.py", OWN.replace("NAMED", repr(str(folder / "calls"))))

    def go(self, *arguments: str) -> str:
        """What a run says, which must work."""
        done = self.shortloop("run", *(arguments or ("one",))).ok()
        # A busy machine's server may be slow to answer, which is told.
        assert [line for line in done.stderr.splitlines() if "waiting for the exax server" not in line] == []
        return done.stdout

    def value(self) -> float:
        """What the last run has built or found."""
        return float(self.record(self.job("product"))["facts"]["value"])

    def jobs(self) -> set[str]:
        """All folders of exax's jobs, those of build scripts among them."""
        return {each.name for each in (self.folder / "workdirs/main").glob("main-[0-9]*")}


shared = fixture_of(Reusing, server=False)


@pytest.fixture
def project(shared: Reusing) -> Reusing:
    """With its files as they were, whatever the test before did."""
    shared.restore()
    return shared


def test_a_run_that_builds_nothing_asks_exax_for_nothing(project: Reusing) -> None:
    assert "1 job built, 0 reused" in project.go()
    before = project.jobs()
    said = project.go()
    assert "0 jobs built, 1 reused" in said
    assert said.count("the pipeline is asked") == 1  # as where nothing is built on a server
    assert project.jobs() == before
    assert project.value() == 6.0
    runs = sorted((project.folder / "workdirs/.runs").glob("*.json"))
    ended = [json.loads(file.read_text()) for file in runs]
    assert [(each["script"], each["exit"], len(each["jobs"])) for each in ended] == [("build_one", 0, 1)] * 2
    for file in (project.folder / "results/one").iterdir():
        file.unlink()
    project.go()
    assert project.value() == 6.0


HOLD = """\
import sys
from shortloop.store.workdir import only_run
with only_run("another"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_an_edit_while_a_run_waits_for_another_counts(project: Reusing) -> None:
    """The plan is made when the run has the lock."""
    project.go()
    holder = project.popen(sys.executable, "-c", HOLD)
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == "held\n"
    waiting = project.popen(str(SHORTLOOP), "run", "one")
    assert waiting.stdout is not None
    said = ""
    while "waiting for another run to end" not in said:
        line = waiting.stdout.readline()
        assert line, said
        said += line
    project.edit("methods/steps.py", "2 *", "5 *")
    time.sleep(1)
    holder.communicate("\n", timeout=PATIENCE)
    said += waiting.communicate(timeout=PATIENCE)[0]
    assert "1 job built, 0 reused" in said
    assert project.value() == 15.0


def test_what_changes_is_built_however_soon(project: Reusing) -> None:
    helper, number = project.folder / "methods/steps.py", project.folder / "number.txt"
    project.go()
    unseen_edit(helper, HELPER.replace("2", "4"))
    project.go()
    assert project.value() == 12.0
    number.write_text("5.0", encoding="utf-8")
    assert "1 job built" in project.go()
    assert project.value() == 20.0


def test_a_main_of_ones_own_is_called_once(project: Reusing) -> None:
    project.go()
    project.go("own")
    project.go("own")
    assert (project.folder / "calls").read_text() == "called\n" * 2


@pytest.mark.slow
def test_what_is_wrong_is_said_once(project: Reusing) -> None:
    project.go()
    script = project.folder / "build_scripts/build_one.py"
    script.write_text(DECORATED.replace("number.txt", "gone.txt"), encoding="utf-8")
    assert project.shortloop("run", "one").fails().count("gone.txt") == 1
    script.write_text(
        DECORATED.replace("    print", "    raise ValueError('no')\n    print"), encoding="utf-8"
    )
    done = project.shortloop("run", "one")
    assert done.returncode == 1
    assert (done.stdout + done.stderr).count("ValueError: no") == 1
    script.write_text("import nothing_of_that_name\n", encoding="utf-8")
    assert project.shortloop("run", "one").returncode == 1
