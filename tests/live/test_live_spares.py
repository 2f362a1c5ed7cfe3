"""Jobs that follow others of their method run in processes forked before, and are what they would be."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import ClassVar

from cases import first_cases
from live_project import PATIENCE, SHORTLOOP, EmptyProject, fixture_of, processes, wait_for

LINK = """\
import os
import time
from pathlib import Path
from typing import Any

from methods.shared import VALUE
from shortloop import Job, stage

IMPORTED, PROCESS = time.time(), os.getpid()
print("imported by", PROCESS)


@stage
def link(number: int, run: int, of: Job | None = None):
    board = Path(os.environ["BOARD"])
    (board / f"began-{number}").touch()
    while (board / f"hold-{number}").exists():
        time.sleep(0.01)
    print("link", number)
    return {"imported": IMPORTED, "is_own": PROCESS == os.getpid(), "value": VALUE}
"""
CHAIN = """\
import shortloop.prepare  # noqa: F401
from shortloop import pipeline


@pipeline
def main(run):
    last = None
    for number in range(5):
        last = run.build("link", number=number, run=RUN, of=last)
    return last
"""


class Project(EmptyProject):
    """A chain of jobs of one method."""

    sources: ClassVar = {"methods/a_link.py": LINK, "methods/shared.py": "VALUE = 1\n"}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.board = folder / "board"
        self.board.mkdir()

    def begin(self, number: int) -> subprocess.Popen[str]:
        """Start a run of a new chain."""
        self.write("build_scripts/build_chain.py", CHAIN.replace("RUN", str(number)))
        return self.popen(SHORTLOOP, "run", "chain")

    def processes(self) -> list[str]:
        """Those that work in the project, but for exax's board, which outlives a server that is killed."""
        return [each.command for each in processes(self.folder).values() if "board" not in each.command]


def built(said: str) -> list[str]:
    return re.findall(r"\] built link +(main-\d+) ", said)


project = fixture_of(Project, "function")


def test_later_jobs_of_a_chain_were_begun_before_and_have_imported_their_method_themselves(
    project: Project,
) -> None:
    said, _ = project.begin(1).communicate(timeout=PATIENCE)
    jobs = built(said)
    assert len(jobs) == 5, said
    early = 0
    for number, job in enumerate(jobs):
        folder, facts = project.folder / "workdirs/main" / job, project.record(job)["facts"]
        post = json.loads((folder / "post.json").read_text(encoding="utf-8"))
        early += facts["imported"] < post["starttime"]
        assert facts["is_own"] is True
        assert (folder / "OUTPUT/synthesis").read_text(encoding="utf-8") == f"link {number}\n"
    assert early >= 2


def test_code_edited_while_the_next_job_is_begun_is_noticed(project: Project) -> None:
    (project.board / "hold-2").touch()
    run = project.begin(2)
    wait_for((project.board / "began-2").exists)
    project.write("methods/shared.py", "VALUE = 2\n")
    (project.board / "hold-2").unlink()
    said, _ = run.communicate(timeout=PATIENCE)
    assert "was edited while" in said
    jobs = built(said)
    assert [project.record(job)["facts"]["value"] for job in jobs] == [1, 1, 2, 2, 2], said
    said, _ = project.begin(2).communicate(timeout=PATIENCE)
    assert {project.record(job)["facts"]["value"] for job in built(said)} == {2}
    last = (project.folder / "workdirs/main/main-LATEST").resolve().name
    assert project.record(last)["facts"]["value"] == 2


@first_cases(1, "how", [signal.SIGKILL, signal.SIGTERM])
def test_none_outlives_its_server(project: Project, how: int) -> None:
    (project.board / "hold-3").touch()
    run = project.begin(3)
    wait_for((project.board / "began-3").exists)
    server = project.server
    assert server is not None
    os.kill(server.pid, how)
    run.communicate(timeout=PATIENCE)
    wait_for(lambda: not project.processes())
