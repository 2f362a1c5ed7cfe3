"""Chains of toy jobs on an exax server: in plain exax, and through this library's layer over it."""

from __future__ import annotations

import ast
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.chains_project import CASES, Chain
from benchmarks.measure import seconds_of
from benchmarks.project import BINARIES, FOLDERS, ROOT
from shortloop.frames.measure import cpu_seconds
from shortloop.keys.file_state import SETTLED_NS

NO_SERVER = "unchanged, no server running"
START_SECONDS = 60
UNCHANGED = CASES[1]

EXAX_TOY = """\
options = {"step": 1}
jobs = ("previous",)


def synthesis():
    value = (jobs.previous.load() if jobs.previous else 0) + options["step"]
    with open(RAN, "a") as ran:
        print(value, file=ran)
    return value
"""
EXAX_BUILD = """\
import json
from pathlib import Path


def main(urd):
    settings = json.loads((Path(__file__).parents[1] / "settings.json").read_text())
    previous = None
    for number in range(settings["jobs"]):
        step = settings["last"] if number == settings["jobs"] - 1 else 1
        previous = urd.build("toy", step=step, previous=previous)
    print(previous.load())
"""

OUR_TOY = """\
from shortloop.exax.method import exax_method
from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values


class Toy(Stage):
    step: int
    previous: Job | None

    def finish(self, out: Outputs) -> Finished:
        value = (int(self.previous.arrays["value"]) if self.previous else 0) + self.step
        with open(RAN, "a") as ran:
            print(value, file=ran)
        return Finished(arrays={"value": Values(value, "", "sum of the steps so far")})


globals().update(exax_method(Toy, __file__))
"""
OUR_BUILD = """\
import json
from pathlib import Path

from shortloop.run.executor import run_pipeline

description = "A chain of toy jobs"


def main(urd):
    return run_pipeline(urd, pipeline, name="chain")


def pipeline(run):
    settings = json.loads((Path(__file__).parents[1] / "settings.json").read_text())
    previous = None
    for number in range(settings["jobs"]):
        step = settings["last"] if number == settings["jobs"] - 1 else 1
        previous = run.build("toy", step=step, previous=previous)
    return previous
"""


class ExaxChain(Chain):
    """A chain in plain exax, in a project as ``ax init`` makes it, whose server runs before a user begins.

    folder: short enough for the path of a Unix socket.
    """

    command = ("ax", "run", "chain")

    def __init__(self, folder: Path, name: str, jobs: int, binaries: Path = BINARIES) -> None:
        super().__init__(folder, name, jobs, binaries)
        self._server: subprocess.Popen[bytes] | None = None
        self.processor = 0.0  # s of the last command, and of the server meanwhile

    def write(self) -> None:
        """Write the project's files into its folder, which is there and empty."""
        self.shell("ax", "init", "--no-git", "--force")
        self._write_chain("dev", "dev", EXAX_TOY, EXAX_BUILD)

    def shell(self, *command: str) -> None:
        """Run a command in the project's folder, and count its processor time and the server's."""
        before = self._spent()
        super().shell(*command)
        self.processor = self._spent() - before

    def _spent(self) -> float:
        children = getrusage(RUSAGE_CHILDREN)
        server = 0.0 if self._server is None else cpu_seconds(self._server.pid)
        return children.ru_utime + children.ru_stime + server

    def works(self) -> dict[tuple[str, str], Callable[[int], float]]:
        """What can be measured once the first of them, a cold run, was done."""
        quick = ("ax", "run", "-q", "chain")
        return {
            **super().works(),
            (f"{self.name} -q", UNCHANGED): lambda run: self.seconds(UNCHANGED, quick),
            (self.name, NO_SERVER): lambda run: self.seconds_without_server(),
        }

    def seconds_without_server(self) -> float:
        """Seconds that a user spends on starting a server, an unchanged run, and ending the server."""
        self.stop()
        spent = seconds_of(self.start) + self.seconds(UNCHANGED) + seconds_of(self.stop)
        self.start()
        return spent

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.folder / "server.log").open("wb") as log:
            self._server = subprocess.Popen(
                ["ax", "server"],
                cwd=self.folder,
                env=self.environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.shell("ax", "status")
            except RuntimeError as error:
                if self._server.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    said = (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")
                    raise RuntimeError(f"{self.name}: no server: {said[-2000:]}") from error
                time.sleep(0.02)

    def stop(self) -> None:
        """End the server, which ends its own children."""
        if self._server is not None:
            self._server.terminate()
            self._server.wait(timeout=30)
            self._server = None

    def _write_chain(self, methods: str, scripts: str, toy: str, build: str) -> None:
        toy = toy.replace("RAN", repr(str(self.folder / "ran")))  # jobs run in folders of their own
        (self.folder / methods / "a_toy.py").write_text(toy, encoding="utf-8")
        (self.folder / scripts / "build_chain.py").write_text(build, encoding="utf-8")


class ShortloopChain(ExaxChain):
    """The same chain through this library, in a copy of a checkout, with all its checks.

    source: the checkout; of another version, the toy is as that one's benchmark writes it.
    """

    def __init__(
        self, folder: Path, name: str, jobs: int, binaries: Path = BINARIES, source: Path = ROOT
    ) -> None:
        super().__init__(folder, name, jobs, binaries)
        self._source = source
        self.toy, self.build = _texts(source)

    def write(self) -> None:
        """Write the project's files into its folder, which is there and empty."""
        for name in FOLDERS:
            shutil.copytree(self._source / name, self.folder / name)
        shutil.copy(self._source / "accelerator.conf", self.folder)
        self._write_chain("methods", "build_scripts", self.toy, self.build)
        # As old as a user's: a file that changed a moment ago is read again whenever it counts.
        time.sleep(SETTLED_NS / 1e9)

    def seconds_without_server(self) -> float:
        """Seconds of ``shortloop run``, which starts a server and ends it."""
        self.stop()
        spent = self.seconds(UNCHANGED, ("shortloop", "run", "chain"))
        self.start()
        return spent

    def environment(self) -> dict[str, str]:
        """The user's environment, in which the library is the copy's."""
        return {**super().environment(), "PYTHONPATH": str(self.folder)}


def _texts(source: Path) -> tuple[str, str]:
    """The toy and its build script, as this module of a checkout has them."""
    tree = ast.parse((source / "benchmarks" / Path(__file__).name).read_text(encoding="utf-8"))
    found = {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("OUR_TOY", "OUR_BUILD")
    }
    return found["OUR_TOY"], found["OUR_BUILD"]
