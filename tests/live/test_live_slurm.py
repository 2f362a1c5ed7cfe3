"""Jobs on the engine of Slurm: tasks of this machine, and where Slurm is installed its own."""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from engine_project import EngineProject, end
from live_project import fixture_of, wait_for

from shortloop.testing import check_engine

pytest.importorskip("submitit", reason="submitit is not installed")
LOCAL = "slurm:local"
TASK = "submitit.core._submit"


class BuiltOnce(EngineProject):
    def prepare(self) -> None:
        self.ask(partitions="A")
        self.go("slices").ok()
        self.built = [*self.jobs()]

    def tasks(self) -> list[int]:
        return [number for number, command in self.processes().items() if TASK in command]


shared = fixture_of(BuiltOnce)


@pytest.fixture
def project(shared: BuiltOnce) -> Iterator[BuiltOnce]:
    shared.mend()
    yield shared
    wait_for(lambda: not shared.processes())
    assert not [*shared.folder.glob("workdirs/.cache/engine/submitit-*")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "engine",
    [LOCAL, pytest.param("slurm", marks=pytest.mark.skipif(not shutil.which("sbatch"), reason="no Slurm"))],
)
def test_it_passes_the_common_tests(engine: str) -> None:
    check_engine(engine)


def test_tasks_leave_the_same_bits(project: BuiltOnce) -> None:
    before = {*project.jobs()}
    project.shortloop("run", "x", "--force", "factors", SHORTLOOP_ENGINE=LOCAL).ok()
    job = project.by_place({*project.jobs()} - before)["methods.factors", "A"]
    assert project.same_jobs(job, project.by_place(project.built)["methods.factors", "A"])
    said = project.record(job)["engine"]
    assert (said["name"], said["where"]) == ("slurm", "local")


def test_an_ended_run_leaves_no_task(project: BuiltOnce) -> None:
    project.ask(partitions="B")
    project.fault("factors", 5, "hold")
    running = project.start(LOCAL)
    wait_for(lambda: "factors 5" in project.computed())
    assert project.tasks()
    status, _ = end(running)
    assert status != 0


@pytest.mark.slow
def test_what_a_killed_task_had_is_computed_again(project: BuiltOnce) -> None:
    project.ask(partitions="C")
    project.fault("factors", 11, "hold")
    running = project.start(LOCAL)
    wait_for(lambda: "factors 11" in project.computed())
    for task in project.tasks():
        os.kill(task, signal.SIGKILL)
    project.mend()
    said = "".join(running.communicate(timeout=300))
    assert running.returncode == 0, said
    assert Counter(project.computed())["factors 11"] == 1
