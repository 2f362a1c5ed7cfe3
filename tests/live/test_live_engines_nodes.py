"""Runs on a cluster whose nodes have not the project: the same files as on slices, each content sent once,
also after a run that was killed."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pytest
from deploy_compose import Machines, free_port, listens, machines
from engine_project import SCRIPT, EngineProject, end
from live_project import ROOT, served, stages, wait_for

from shortloop.units.node_cache import machine

HOST = "127.0.0.1"
METHODS = stages("""\
# lines
from tools.steps import scaled


@stage
class Lines(Stage):
    inside: File
    outside: File
    count: int = 6

    def open(self):
        self.files = [file.path.open() for file in (self.inside, self.outside)]
        self.lines = [file.read().split() for file in self.files]

    def units(self):
        return self.count

    def outputs(self):
        return {"sums": Out((self.count,), "f8", "lines", "sums")}

    def compute(self, unit):
        from tools.faults import meet

        meet("lines", unit)
        return {"sums": scaled(sum(float(lines[unit]) for lines in self.lines))}

# after
from shortloop.exax.method import exax_method

WORDS = Path(__file__).parent / "words.txt"
depend_extra = [str(WORDS)]


class After(Stage):
    fit: Job
    factors: list[Job]
    lines: Job

    def units(self):
        return 3

    def outputs(self):
        return {"sums": Out((3,), "f8", "jobs", "sums")}

    def compute(self, unit):
        above = self.factors[0].ancestor(self.factors[0].inputs["numbers"])
        names = [each for each in self.factors[0].files.values() if each.read_text()]
        found = (self.fit["line"], self.factors[-1].arrays["values"], self.lines["sums"])[unit]
        return {"sums": found.sum() + len(names) + len(above.stage) + len(WORDS.read_text())}


made = exax_method(After, __file__)
made["depend_extra"] = [*made["depend_extra"], *depend_extra]
globals().update(made)
""")
WITH_LINES = SCRIPT.replace(
    "    sums = ",
    """\
    outside = run.file(asked["outside"])
    lines = run.build("lines", inside=run.file("data/more.txt"), outside=outside, **asked.get("lines", {}))
    sums = """,
).replace(
    'return run.build("page", fit=fit, factors=parts, sums=sums)',
    'return run.build("after", fit=fit, factors=parts, lines=lines)',
)


class NodesProject(EngineProject):
    """Stages that read files, jobs, a dataset, and a file that the method declares."""

    sources: ClassVar = {
        **EngineProject.sources,
        **METHODS,
        "methods/words.txt": "some words",
        "build_scripts/build_n.py": WITH_LINES,
        "data/more.txt": "\n".join(map(str, range(300_000))),
    }

    def ask(self, **asked: object) -> None:
        outside = Path(f"{self.folder}-out")
        outside.mkdir(exist_ok=True)
        (outside / "numbers of others.txt").write_text("\n".join(map(str, range(100, 200))))
        super().ask(**asked, outside=str(outside / "numbers of others.txt"))

    def sent(self) -> dict[str, int]:
        """Bytes that were sent for each job, by its id."""
        found = {}
        for job in self.jobs():
            if (self.folder / "workdirs/main" / job / "record.json").exists():
                found[job] = int((self.record(job).get("engine") or {}).get("sent_bytes", 0))
        return found


def can_hide() -> bool:
    """Whether this process may hide folders from others that it starts."""
    if os.geteuid() or not shutil.which("unshare"):
        return False
    hide = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(hide, capture_output=True, check=False).returncode == 0


class Nodes:
    """A scheduler of Dask, and nodes that have not a project.

    started: Processes.
    project: what they have not.
    """

    def __init__(self, started: Machines, project: NodesProject) -> None:
        self.machines = started
        self.folder = started.folder
        self.project = project
        self.port = free_port()
        self.address = f"tcp://{HOST}:{self.port}"

    def environment(self, node: str) -> dict[str, str]:
        faults = self.folder / "faults"
        faults.mkdir(exist_ok=True)
        own = {"SHORTLOOP_NODE_CACHE": str(self.cache(node).parent), "FAULTS": str(faults)}
        return {"PYTHONPATH": str(ROOT), "HOME": str(self.folder), **own}

    def cache(self, node: str) -> Path:
        return self.folder / f"cache of {node.partition('.')[0]}" / machine()

    def hidden(self, command: list[str]) -> list[str]:
        """A command for which the project's folder is empty."""
        folders = [str(self.project.folder), f"{self.project.folder}-out"]
        mounts = "".join(f"mount -t tmpfs none '{each}' && " for each in folders)
        return ["unshare", "-m", "sh", "-c", f'{mounts}exec "$@"', "sh", *command]

    def start(self, *nodes: str) -> None:
        """Start a worker of each node; ``"a.1"`` is one more on the node ``"a"``."""
        for node in nodes:
            command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
            command += ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", node]
            command += ["--local-directory", str(self.folder / f"local {node}")]
            service = {"command": self.hidden(command), "working_dir": str(self.folder)}
            self.machines.start(node, service, self.environment(node))
        for node in nodes:
            log = self.folder / f"{node}.log"
            self.machines.until(lambda log=log: "Registered to" in log.read_text(), 60, f"{node} is there")  # type: ignore[misc]

    def hold(self, stage: str, unit: int) -> Path:
        """Have a unit wait until the file is gone."""
        file = self.folder / "faults" / f"{stage}-{unit}"
        file.write_text("hold")
        return file

    def computed(self) -> str:
        """Units that were begun."""
        file = self.folder / "faults" / "computed"
        return file.read_text() if file.exists() else ""

    def size(self, node: str) -> int:
        """Bytes that a node has of what it was sent."""
        return sum(file.stat().st_size for file in (self.cache(node) / "contents").glob("*/*"))


@contextmanager
def ray_nodes_of(project: NodesProject) -> Iterator[tuple[Nodes, dict[str, str]]]:
    """A head of Ray, which computes nothing, and a node; with them what a run needs to find them."""
    ray = str(Path(sys.executable).with_name("ray"))
    with tempfile.TemporaryDirectory(prefix="sl-") as name, machines(Path(name)) as started:
        found = Nodes(started, project)
        # Nobody else may have anything computed there.
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        given = {**found.environment("a"), **token}
        command = [ray, "start", "--block", "--disable-usage-stats", "--object-store-memory=100000000"]
        command += [f"--node-ip-address={HOST}"]
        head = [*command, "--head", f"--port={found.port}", "--num-cpus=0", f"--temp-dir={name}/ray"]
        head += ["--include-dashboard=false"]
        started.start("head", {"command": head, "working_dir": name}, given)
        started.until(lambda: listens(HOST, found.port), 60, "the head listens")
        node = found.hidden([*command, f"--address={HOST}:{found.port}", "--num-cpus=2"])
        started.start("a", {"command": node, "working_dir": name}, given)
        log = found.folder / "a.log"
        started.until(lambda: "Ray runtime started" in log.read_text(), 60, "the node is there")
        yield found, {**token, "SHORTLOOP_ENGINE": f"ray:{HOST}:{found.port}"}


@contextmanager
def nodes_of(project: NodesProject, *names: str) -> Iterator[Nodes]:
    """A scheduler and nodes, of one worker each."""
    with tempfile.TemporaryDirectory(prefix="sl-") as name, machines(Path(name)) as started:
        found = Nodes(started, project)
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", HOST]
        command += ["--port", str(found.port), "--no-dashboard"]
        started.start("scheduler", {"command": command, "working_dir": name}, {"PYTHONPATH": str(ROOT)})
        started.until(lambda: listens(HOST, found.port), 60, "the scheduler listens")
        found.start(*names)
        yield found


pytestmark = [
    pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed"),
    pytest.mark.slow,  # in each `make test`, tests/engines and tests/units have nodes within one process
    pytest.mark.skipif(not can_hide(), reason="to hide folders from processes is not allowed here"),
]
STAGES = ("factors", "fit", "lines", "rows", "sums", "after")
EVERY = [word for stage in STAGES for word in ("--force", stage)]


@pytest.fixture(scope="module")
def project() -> Iterator[NodesProject]:
    with served(NodesProject) as made:
        made.go("slices", "n").ok()
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
    done = nodes.project.shortloop("run", script, *words, SHORTLOOP_ENGINE=f"dask:{nodes.address}").ok()
    assert "has read" not in done.stdout
    return done.stdout, re.findall(r"\] built .*? (main-\d+)", done.stdout)


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


def test_the_same_with_ray(project: NodesProject) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    first = project.by_place(project.first)
    with ray_nodes_of(project) as (nodes, variables):
        done = project.shortloop("run", "n", *EVERY, **variables).ok()
        jobs = re.findall(r"\] built .*? (main-\d+)", done.stdout)
        for place, job in project.by_place(jobs).items():
            assert project.jobs()[job]["content"] == project.jobs()[first[place]]["content"], place
        assert sum(project.sent().get(job, 0) for job in jobs) == nodes.size("a") > 1_500_000
        done = project.shortloop("run", "n", "--force", "lines", **variables).ok()
        (job, *_) = re.findall(r"\] built .*? (main-\d+)", done.stdout)
        assert project.sent()[job] == 0


def test_a_run_on_ray_is_killed_and_the_next_goes_on(project: NodesProject) -> None:
    """Again and again, and the cluster stays; what was done is not computed again."""
    pytest.importorskip("ray", reason="ray is not installed")
    project.mend()
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
            done = project.shortloop("run", "n", **variables).ok()
            assert all(process.poll() is None for process in nodes.machines.started.values())
            lines = nodes.computed().splitlines()
        computed = [line.split()[1] for line in lines if line.startswith("factors ")]
        # The last ones may be few enough for the job's own process.
        computed += [each.split()[1] for each in project.computed() if each.startswith("factors ")]
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
