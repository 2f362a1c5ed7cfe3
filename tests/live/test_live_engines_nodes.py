"""Runs on a cluster whose nodes have not the project: the same files as on slices, each content sent once,
and what happens if nodes or their caches are lost on the way."""

from __future__ import annotations

import re
import shutil
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest
from engine_project import end
from live_project import PATIENCE, served, wait_for
from nodes_project import BIG_SIZE, Nodes, NodesProject, can_hide, nodes_of, ray_nodes_of

pytest.importorskip("distributed", reason="distributed is not installed")
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not can_hide(), reason="to hide folders from processes is not allowed here"),
]
STAGES = ("factors", "fit", "lines", "rows", "sums", "after")
EVERY = [word for stage in STAGES for word in ("--force", stage)]


@pytest.fixture(scope="module")
def project() -> Iterator[NodesProject]:
    with served(NodesProject) as made:
        done = made.go("slices", "n")
        assert done.returncode == 0, done.stdout + done.stderr
        made.first = [*made.jobs()]
        yield made
        shutil.rmtree(f"{made.folder}-out")


@pytest.fixture(scope="module")
def nodes(project: NodesProject) -> Iterator[Nodes]:
    """Two nodes, one of them with two workers."""
    with nodes_of(project, "a", "a.1", "b") as started:
        yield started


def run(nodes: Nodes, *words: str, script: str = "n") -> tuple[str, list[str]]:
    """Run a script; what was said, and the jobs that were built."""
    project = nodes.project
    done = project.shortloop("run", script, *words, SHORTLOOP_ENGINE=f"dask:{nodes.address}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "has read" not in done.stdout
    return done.stdout, re.findall(r"\] built .*? (main-\d+)", done.stdout)


@pytest.mark.slow
def test_the_same_files_as_on_slices_and_each_is_sent_once(project: NodesProject, nodes: Nodes) -> None:
    first = project.by_place(project.first)
    _, jobs = run(nodes, *EVERY)
    now = project.by_place(jobs)
    assert len(now) == len(STAGES) + 1
    for place, job in now.items():
        if place != ("methods.rows", None):  # exax writes names of jobs into datasets
            assert project.files(job) == project.files(first[place]), place
        assert project.same_jobs(job, first[place]), place
    assert {"a", "b"} == {each for each in "ab" if nodes.size(each) > 1_500_000}
    sent = project.sent()
    assert sum(sent.values()) == nodes.size("a") + nodes.size("b")  # also what two jobs need at once
    # The next run sends nothing.
    before = nodes.size("a"), nodes.size("b")
    _, jobs = run(nodes, "--force", "lines")
    assert len(jobs) == 1
    assert {project.sent()[job] for job in jobs} == {0}
    assert (nodes.size("a"), nodes.size("b")) == before
    # Nobody finds anything to build then, whoever is asked.
    done = project.go("slices", "n")
    assert "0 jobs built" in done.stdout, done.stdout


@pytest.mark.slow
def test_the_same_with_ray(project: NodesProject) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    first = project.by_place(project.first)
    with ray_nodes_of(project) as (nodes, variables):
        done = project.shortloop("run", "n", *EVERY, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        jobs = re.findall(r"\] built .*? (main-\d+)", done.stdout)
        for place, job in project.by_place(jobs).items():
            assert project.jobs()[job]["content"] == project.jobs()[first[place]]["content"], place
        assert sum(project.sent().get(job, 0) for job in jobs) == nodes.size("a") > 1_500_000
        done = project.shortloop("run", "n", "--force", "lines", **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        (job, *_) = re.findall(r"\] built .*? (main-\d+)", done.stdout)
        assert project.sent()[job] == 0


@pytest.mark.slow
def test_a_run_on_ray_is_killed_and_the_next_goes_on(project: NodesProject) -> None:
    """Again and again, and the cluster stays; what was done is not computed again."""
    pytest.importorskip("ray", reason="ray is not installed")
    project.ask(factors={"count": 20}, partitions=["killed"])
    try:
        with ray_nodes_of(project) as (nodes, variables):
            token = {name: value for name, value in variables.items() if name != "SHORTLOOP_ENGINE"}
            for unit in (3, 11):
                held = nodes.hold("factors", unit)
                running = project.start(variables["SHORTLOOP_ENGINE"], "n", **token)
                wait_for(lambda unit=unit: f"factors {unit} " in nodes.computed())  # type: ignore[misc]
                time.sleep(1)
                end(running, signal.SIGKILL)
                wait_for(lambda: not project.processes())
                held.unlink()
            done = project.shortloop("run", "n", **variables)
            assert done.returncode == 0, done.stdout + done.stderr
            assert all(process.poll() is None for process in nodes.machines.started.values())
            lines = nodes.computed().splitlines()
        computed = [line.split()[1] for line in lines if line.startswith("factors ")]
        assert {*computed} == {*map(str, range(20))}
        assert len(computed) < 20 + 2 * 6
        (job,) = re.findall(r"\] built factors +killed +(main-\d+)", done.stdout)
        found = project.files(job)
        forced = project.shortloop("run", "n", "--force", "factors")
        assert "came out the same" in forced.stdout, forced.stdout + forced.stderr
        (job,) = re.findall(r"\] built factors +killed +(main-\d+)", forced.stdout)
        assert project.files(job) == found
    finally:
        project.ask()


@pytest.mark.slow
def test_edits_are_what_is_computed_with(project: NodesProject, nodes: Nodes) -> None:
    steps, data = project.folder / "tools/steps.py", project.folder / "data/more.txt"
    texts = {file: file.read_text() for file in (steps, data)}
    try:
        steps.write_text(texts[steps].replace("1.5", "2.5"))
        data.write_text(texts[data].replace("0\n1\n2\n3\n", "0\n1\n7\n3\n", 1))
        _, jobs = run(nodes)
        now = project.by_place(jobs)
        assert ("methods.lines", None) in now
        assert ("methods.factors", "A") in now
        done = project.shortloop("run", "n", "--force", "lines", "--force", "factors")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("came out the same") == 3, done.stdout
    finally:
        for file, text in texts.items():
            file.write_text(text)


def test_a_file_that_nobody_declared_is_named(project: NodesProject, nodes: Nodes) -> None:
    secret = project.folder / "secret.txt"
    secret.write_text("5")
    project.ask(after={"secret": str(secret)})
    try:
        done = project.shortloop("run", "n", SHORTLOOP_ENGINE=f"dask:{nodes.address}")
    finally:
        project.ask()
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert str(secret) in said
    assert "the node of this worker has not the project" in said


@pytest.mark.slow
def test_a_node_is_lost_while_it_is_sent_something(project: NodesProject, nodes: Nodes) -> None:
    done = project.go("slices", "big")
    assert done.returncode == 0, done.stdout + done.stderr
    nodes.kill("b")
    running = project.start(f"dask:{nodes.address}", "big", "--force", "big")
    parts = nodes.cache("a") / "parts"
    wait_for(lambda: any(each.stat().st_size > 1e6 for each in parts.iterdir() if each.is_file()))
    nodes.kill("a")
    nodes.kill("a.1")
    left = sum(each.stat().st_size for each in parts.iterdir() if each.is_file())
    assert 0 < left < BIG_SIZE
    assert BIG_SIZE not in {file.stat().st_size for file in nodes.contents("a").values()}
    nodes.start("a")
    said = "".join(running.communicate(timeout=PATIENCE))
    assert running.returncode == 0, said
    assert "came out the same" in said
    # What it costs is said before, as here it took a moment.
    assert re.search(r"\nbig: sending what it needs to 1 node, 0\.\d GB in all, takes about \d", said), said
    assert BIG_SIZE in {file.stat().st_size for file in nodes.contents("a").values()}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["code", "input"])
def test_what_changes_while_a_job_runs(project: NodesProject, nodes: Nodes, what: str) -> None:
    if "a" not in nodes.machines.started:
        nodes.start("a")
    file = project.folder / ("tools/steps.py" if what == "code" else "data/more.txt")
    text = file.read_text()
    held = nodes.hold("lines", 3)
    before = nodes.computed().count("lines 3")
    running = project.start(f"dask:{nodes.address}", "n", "--force", "lines")
    try:
        wait_for(lambda: nodes.computed().count("lines 3") > before)
        file.write_text(text.replace("1.5", "3.5") if what == "code" else text.replace("1\n2\n", "1\n9\n", 1))
        held.unlink()
        said = "".join(running.communicate(timeout=PATIENCE))
    finally:
        held.unlink(missing_ok=True)
        file.write_text(text)
    if what == "input":
        assert running.returncode == 1
        assert "a file changed while a run went on" in said
        return
    assert running.returncode == 0, said
    assert "is built again" in said
    (*_, job) = re.findall(r"\] built lines .*? (main-\d+)", said)
    assert project.record(job)["arrays"]["sums"]["shape"] == [6]
    sums = np.load(project.folder / "workdirs/main" / job / "sums.npy")
    assert sums.tolist() == [3.5 * (2 * unit + 100) for unit in range(6)]


@pytest.mark.slow
def test_a_node_that_comes_again_with_nothing(project: NodesProject, nodes: Nodes) -> None:
    for node in [each for each in nodes.machines.started if each not in ("scheduler", "a")]:
        nodes.kill(node)
    run(nodes, "--force", "lines")
    nodes.lose("a")
    _, (job, *_) = run(nodes, "--force", "lines")
    assert project.sent()[job] == nodes.size("a") > 1_500_000
