"""Two projects on one workdir: neither lists, nor deletes, what the other needs as if nobody did."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from refusal import refusal
from toy_jobs import PIPELINE, ToyJobs, beside, is_deleted, toy_project

from shortloop.cli.gc import collect_garbage
from shortloop.cli.lookup.jobs import Filter, print_jobs
from shortloop.store.index import Place, Purpose
from shortloop.store.store import Store
from shortloop.upkeep.deletion import idle_project, pipelines_of
from shortloop.upkeep.inventory import check_all, inventory, missing

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that has the workdir inside of it, and is the current folder."""
    folder = tmp_path / "mine"
    monkeypatch.chdir(toy_project(folder))
    return folder


@pytest.fixture
def other(mine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another project with the same pipeline, whose last run is main-1; main-0 was before it."""
    folder = beside(mine, "other")
    monkeypatch.chdir(folder)
    jobs = ToyJobs(mine)
    jobs.make("A")
    jobs.make("A", options={"x": 1})
    jobs.ended()
    monkeypatch.chdir(mine)
    return folder


def states() -> dict[str, str]:
    with Store() as store:
        return {each.job: each.state for each in inventory(store)}


def run_here(mine: Path) -> ToyJobs:
    """A run of this project, whose pipeline has the same name and places."""
    jobs = ToyJobs(mine, 2)
    jobs.make("A", options={"x": 2})
    jobs.make("A", options={"x": 3})
    jobs.ended()
    return jobs


def test_both_see_what_is_current_in_either(mine: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(mine)
    expected = {"main-0": "superseded", "main-1": "current", "main-2": "superseded", "main-3": "current"}
    assert states() == expected
    monkeypatch.chdir(other)
    assert states() == expected
    monkeypatch.chdir(mine)
    collect_garbage(True, None, None, None)
    assert [number for number in range(4) if is_deleted(mine / f"workdirs/main/main-{number}")] == [0, 2]


def test_jobs_of_unended_runs_of_the_other(mine: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though this project's pipeline of that name ran to its end."""
    jobs = run_here(mine)
    monkeypatch.chdir(beside(mine, "third"))
    third = ToyJobs(mine, jobs.number)
    third.make("B", options={"x": 4})
    third.make("B", options={"x": 5})  # killed before it noted what it had built
    monkeypatch.chdir(mine)
    assert (states()["main-4"], states()["main-5"]) == ("needed", "needed")
    for part in (mine / "workdirs/main/.shortloop").glob("main.sqlite*"):
        part.unlink()
    assert states()["main-0"] == "needed"
    jobs.ended()
    # Which project they were built for, they say themselves.
    assert (states()["main-2"], states()["main-4"], states()["main-5"]) == ("superseded", "needed", "needed")


def test_a_place_of_one_is_not_of_the_other(mine: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store() as store:
        place = Place(PIPELINE, "scores", "A", "1")
        assert store.index.in_place(place) == ""
        assert store.index.places() == {}
        store.index.put_in_places({place: "main-0"})
        store.index.finish_pipeline(PIPELINE, [])
    monkeypatch.chdir(other)
    with Store() as store:
        assert store.index.places() == {place: "main-1"}
        assert Purpose(PIPELINE) in store.index.ended_pipelines()


def test_a_moved_or_renamed_project_keeps_its_places(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(mine)
    before = states()
    mine.rename(mine.with_name("renamed"))
    monkeypatch.chdir(mine.with_name("renamed"))
    assert states() == before
    link = mine.with_name("link")
    link.symlink_to(mine.with_name("renamed"))
    monkeypatch.chdir(link)
    assert states() == before


def test_lists_say_whose_a_job_is(
    mine: Path, other: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    run_here(mine)
    print_jobs(Filter(state="current"), "id", False)
    first, second = capsys.readouterr().out.splitlines()[1:3]
    assert f"small of {other}" in first
    assert str(other) not in second
    collect_garbage(False, None, None, None)
    said = capsys.readouterr().out
    assert f"1 job kept for build_toy small of {other}\n" in said
    assert "--forget" not in said


def test_a_project_that_is_still_there_is_not_forgotten_by_another(mine: Path, other: Path) -> None:
    with Store() as store, refusal("another project", str(other)):
        pipelines_of(store, "small")
    (other / "accelerator.conf").write_text("workdirs: ${NO_SUCH_VARIABLE}\n", encoding="utf-8")
    with Store() as store, refusal("still exists"):
        pipelines_of(store, "small")
    run_here(mine)
    with Store() as store:
        assert pipelines_of(store, "small") == [Purpose("build_toy small")]


def remove(other: Path) -> None:
    shutil.rmtree(other)


def use_another_workdir(other: Path) -> None:
    file = other / "accelerator.conf"
    lines = [
        f"\tmain {other / 'own'}" if line.startswith("\tmain") else line
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("leave", [remove, use_another_workdir])
def test_a_project_that_left_the_workdir_can_be_forgotten(
    mine: Path, other: Path, capsys: pytest.CaptureFixture[str], leave: object
) -> None:
    leave(other)  # type: ignore[operator]
    collect_garbage(True, None, None, None)
    assert states() == {"main-0": "deleted", "main-1": "current"}
    assert "--forget small releases" in capsys.readouterr().out
    collect_garbage(True, None, None, "small")
    assert states() == {"main-0": "deleted", "main-1": "deleted"}


def test_verify_reads_the_jobs_of_both(mine: Path, other: Path) -> None:
    jobs = run_here(mine)
    with Store() as store:
        entries = inventory(store)
        assert check_all(entries) == missing(store, entries) == []
    jobs.damage("main-1")
    shutil.rmtree(jobs.folder("main-3"))
    with Store() as store:
        entries = inventory(store)
        assert [(each.job, each.stage) for each in check_all(entries) + missing(store, entries)] == [
            ("main-1", "scores"),
            ("main-3", "scores"),
        ]


OWN = """
import sys
from pathlib import Path
from shortloop.store.crash_repair import own
own({"main": Path(sys.argv[1])})
print("has it", flush=True)
sys.stdin.read()
"""


@contextmanager
def server_of(project: Path, workdir: Path) -> Iterator[None]:
    """What a server of a project does to a workdir before it starts."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWN, str(workdir)],
        cwd=project,
        env={"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "has it\n"
    try:
        yield
    finally:
        process.communicate("")


def test_nothing_is_deleted_while_the_other_has_a_server_there(mine: Path, other: Path) -> None:
    workdir = mine / "workdirs/main"
    running = ToyJobs(mine, 2).unrecorded(finished=False)
    with server_of(other, workdir):
        with refusal("the exax server of another project has the workdir", f"project {other}"):
            collect_garbage(True, None, None, None)
        with Store() as store:
            assert store.tidy() == []  # a run here may not touch it either
    assert not is_deleted(workdir / "main-0")
    assert {file.name for file in (workdir / running).iterdir()} == {"setup.json"}
    with server_of(mine, workdir), idle_project():
        pass  # this project's own
    with Store() as store:
        assert store.tidy() == [f"{running} (scores) did not finish; what it left is deleted"]
