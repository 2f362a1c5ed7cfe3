"""A run: its jobs, what it tells, in order, whoever listens, and notes of reused jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from jobs_project import empty_project, own_package, write
from jobs_runs import Runs
from refusal import refusal

from shortloop.exax.patches import preload
from shortloop.plan.pipeline import REUSE, Built, Run
from shortloop.plan.planner import Planner
from shortloop.run.executor import earlier_notes
from shortloop.run.progress import Name, Progress
from shortloop.stages.inputs import File
from shortloop.store.inputs import content_of, locate
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)
METHOD = """\
from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options = {"number": 0, "files": [], "partition": None}
jobs = ("first", ["all"])


def synthesis():
    pass
"""


@pytest.fixture
def runs(package: Path) -> Runs:
    for name in ("first", "second"):
        write(package, f"methods/a_{name}.py", METHOD)
    write(package, "a.csv", "1,2")
    return Runs(package)


def pipeline(run: Run) -> Built:
    files = run.files([Path("a.csv").resolve()])
    firsts = [run.build("first", partition=name, files=files) for name in "AB"]
    return run.build("second", all=firsts, number=1)


def test_what_happens_is_told_in_order(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    announced: list[tuple[str, tuple[str, ...]]] = []
    monkeypatch.setattr(preload, "announce", lambda *of: announced.append(of[:2]))
    run = runs.run(pipeline)
    first, second, last = run.jobs
    names = [("first", "A", ""), ("first", "B", ""), ("second", None, "")]
    assert runs.told.events == [(1, 3, 3), names[0], first, names[1], second, names[2], last]
    assert [job.job for job in run.jobs] == ["main-0", "main-1", "main-2"]
    assert all(job.fresh and job.reason == "new" and job.plan == "" for job in run.jobs)
    runs.told.events.clear()
    run = runs.run(pipeline)
    assert [type(event) for event in runs.told.events] == [tuple, *[tuple, Built] * 3]
    assert not any(job.fresh or job.reason for job in run.jobs)
    assert {job.plan for job in run.jobs} == {REUSE}
    assert announced == [("first", ()), ("first", ()), ("second", ())]  # before they are built


def test_a_job_that_refuses_its_input_has_ended(runs: Runs) -> None:
    runs.exax.problems = {"first B": "no such numbers"}
    with refusal("no such numbers"):
        runs.run(pipeline)
    *_, last = runs.told.events
    assert isinstance(last, Built)
    assert (last.job, last.partition, last.rejected) == ("main-1", "B", True)
    runs.exax.problems = {}
    with refusal("no such numbers"):  # the same bytes give the same answer
        runs.run(pipeline)
    assert len(runs.exax.asked) == 2


def test_a_pipeline_may_catch_that_a_job_refused_its_input(runs: Runs) -> None:
    """A plan ends there; what it raises is no error, which the pipeline would take for one of the job."""

    def tolerant(run: Run) -> Built:
        good = []
        for name in "AB":
            try:
                good.append(run.build("first", partition=name))
                good[-1].result()
            except Exception:
                good = good[:1]
        return run.build("second", all=good)

    runs.exax.problems = {"first B": "no such numbers"}
    assert len(runs.run(tolerant).jobs) == 3
    with Store() as store:
        plan = Planner.of(tolerant, store, runs.name)
    assert plan.waits_for is plan.jobs[-1]
    assert [(job.partition, job.rejected) for job in plan.jobs] == [("A", False), ("B", True)]
    assert not any(job.fresh for job in runs.run(tolerant).jobs)


def test_a_display_that_fails_ends_the_run(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: Name, folder: object = None) -> None:
        if name[0] == "second":
            raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr(runs.told, "started", fails)
        with pytest.raises(RuntimeError, match="no"):
            runs.run(pipeline)
    assert [job.fresh for job in runs.run(pipeline).jobs] == [False, False, True]


def test_progress_is_shown(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(runs.plan(pipeline).jobs, {}) as progress:
        runs.run(pipeline, progress)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["[1/3]", "built", "first", "A"],
        ["[2/3]", "built", "first", "B"],
        ["[3/3]", "built", "second", "main-2"],
    ]
    with Progress(runs.plan(pipeline).jobs, {}) as progress:
        runs.run(pipeline, progress)
    assert capsys.readouterr().out == ""


def test_files_are_known_by_content_and_found_again(runs: Runs) -> None:
    """One that cannot be read is named."""
    found: list[File] = []

    def reads(run: Run, name: str = "a.csv") -> Built:
        found.extend([run.file(Path(name).resolve()), *run.files([])])
        return run.build("first", files=found, partition="A")

    runs.run(reads)
    assert found == [File(content_of([Path("a.csv").resolve()])[0], Path("a.csv").resolve(), "a.csv")]
    assert locate(found[0].content) == found[0].path
    ((_, options, _),) = runs.exax.asked
    assert options == {"files": [f"{found[0].content} a.csv"], "partition": "A"}
    with refusal("a file cannot be read") as caught:
        runs.run(lambda run: reads(run, "no.csv"))
    assert str(caught.value.file).endswith("no.csv")
    assert len(runs.exax.asked) == 1


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
