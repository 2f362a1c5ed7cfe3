"""A project whose inputs and jobs nodes of a cluster have not: for each its folder is another, empty one."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from deploy_compose import Machines, free_port, listens, machines
from engine_project import SCRIPT, EngineProject
from live_project import ROOT

from shortloop.units.node_cache import machine

HOST = "127.0.0.1"
LINES = '''\
"""Lines of files, one in the project and one that is not; a unit is a line."""

from shortloop import File
from shortloop.exax.method import exax_method
from shortloop.stages.stage import Out, Stage
from tools.steps import scaled


class Lines(Stage):
    """Sums of lines."""

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


globals().update(exax_method(Lines, __file__))
'''
AFTER = '''\
"""What all of them left, where they were made; a unit is a job."""

from pathlib import Path

from shortloop import Job
from shortloop.exax.method import exax_method
from shortloop.stages.stage import Out, Stage

WORDS = Path(__file__).parent / "words.txt"
depend_extra = [str(WORDS)]


class After(Stage):
    """Sums of jobs."""

    fit: Job
    factors: list[Job]
    lines: Job
    secret: str = ""

    def units(self):
        return 3

    def outputs(self):
        return {"sums": Out((3,), "f8", "jobs", "sums")}

    def compute(self, unit):
        if self.secret:
            try:
                return {"sums": float(Path(self.secret).read_text())}
            except Exception:  # what comes of that would be another result
                return {"sums": 0.0}
        above = self.factors[0].ancestor(self.factors[0].inputs["numbers"])
        names = [each for each in self.factors[0].files.values() if each.read_text()]
        found = (self.fit["line"], self.factors[-1].arrays["values"], self.lines["sums"])[unit]
        return {"sums": found.sum() + len(names) + len(above.stage) + len(WORDS.read_text())}


made = exax_method(After, __file__)
made["depend_extra"] = [*made["depend_extra"], *depend_extra]
globals().update(made)
'''
BIG = '''\
"""A large file; a unit is a part of it."""

from shortloop import File
from shortloop.exax.method import exax_method
from shortloop.stages.stage import Out, Stage


class Big(Stage):
    """Sums of bytes."""

    file: File

    def units(self):
        return 4

    def outputs(self):
        return {"sums": Out((4,), "i8", "parts", "sums")}

    def compute(self, unit):
        with self.file.path.open("rb") as stream:
            stream.seek(unit * 10_000_000)
            return {"sums": sum(stream.read(1000))}


globals().update(exax_method(Big, __file__))
'''
BIG_SCRIPT = """\
from shortloop import pipeline


@pipeline
def main(run):
    return run.build("big", file=run.file("data/big.bin"))
"""
BIG_SIZE = 150_000_000
WITH_LINES = SCRIPT.replace(
    "    sums = ",
    """\
    outside = run.file(asked["outside"])
    lines = run.build("lines", inside=run.file("data/more.txt"), outside=outside, **asked.get("lines", {}))
    sums = """,
).replace(
    'return run.build("page", fit=fit, factors=parts, sums=sums)',
    'return run.build("after", fit=fit, factors=parts, lines=lines, **asked.get("after", {}))',
)


class NodesProject(EngineProject):
    """Stages that read files, jobs, a dataset, and a file that the method declares."""

    sources: ClassVar = {
        **EngineProject.sources,
        "methods/a_lines.py": LINES,
        "methods/a_after.py": AFTER,
        "methods/a_big.py": BIG,
        "methods/words.txt": "some words",
        "build_scripts/build_n.py": WITH_LINES,
        "build_scripts/build_big.py": BIG_SCRIPT,
        "data/more.txt": "\n".join(map(str, range(300_000))),
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with (folder / "data" / "big.bin").open("wb") as stream:  # it takes no room here
            stream.write(b"beginning")
            stream.truncate(BIG_SIZE)

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

    def kill(self, node: str) -> None:
        process = self.machines.started.pop(node)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def lose(self, node: str) -> None:
        """A node is killed, and comes again with nothing of what it was sent."""
        self.kill(node)
        shutil.rmtree(self.cache(node))
        self.start(node)

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
        return sum(file.stat().st_size for file in self.contents(node).values())

    def contents(self, node: str) -> dict[str, Path]:
        """What a node was sent, by its hash."""
        return {each.name: each for each in (self.cache(node) / "contents").glob("*/*")}


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
