"""A project of units that wait, and a cluster of Dask whose processes can be signalled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from deploy_compose import free_port, listens
from live_project import SHORTLOOP, EmptyProject, stages, wait_for

HOST = "127.0.0.1"
METHODS = """\
# hungry
def each():
    return {f"u{n}": n for n in range(3)}

@stage(units=each)
def hungry(n, megabytes: int):
    import numpy as np, time
    values = np.ones(megabytes * 125_000 if n == 1 else 10)
    time.sleep(0.3)
    return {"y": float(values[0]) + n}
# wait
def each(number: int):
    return {f"u{n}": n for n in range(number)}

@stage(units=each)
def wait(n, number: int, seconds: float, salt: int):
    import time
    time.sleep(seconds)
    return {"y": n + salt}
"""
ASKING = """\
# {name}
def each(number: int):
    return {{f"u{{n}}": n for n in range(number)}}

@stage(units=each, {asks})
def {name}(n, number: int, seconds: float, salt: int):
    import os, time
    began = time.time()
    time.sleep(seconds)
    with open(os.environ["SEEN"], "a") as stream:
        stream.write(f"{{began}} {{time.time()}} {{os.environ.get('WORKER', '')}}\\n")
    return {{"y": n + salt}}
"""
ASKS = {"noted": "", "gpu": "gpus=1", "wide": "cores=2", "large": "memory='900 TB'"}
SCRIPT = """\
from shortloop import Settings, pipeline

class Waits(Settings):
    stage: str
    number: int
    seconds: float
    salt: int

@pipeline(settings="waits.toml")
def main(run, settings: Waits):
    return run.build(settings.stage, number=settings.number, seconds=settings.seconds, salt=settings.salt)
"""


HIDDEN = """\
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "shortloop":
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Hidden())
"""
"""A `sitecustomize` with which a process finds no Shortloop."""


class Waiting(EmptyProject):
    sources: ClassVar = {
        **stages("\n".join([METHODS, *(ASKING.format(name=name, asks=each) for name, each in ASKS.items())])),
        "build_scripts/build_waits.py": SCRIPT,
    }
    salt = 0
    before: set[Path]

    @property
    def seen(self) -> Path:
        """Beginnings and ends of units of stages that ask for something, and their workers."""
        return self.folder / ".seen"

    def environment(self, **more: str) -> dict[str, str]:
        return {**super().environment(**more), "SEEN": str(self.seen)}

    def at_a_time(self) -> tuple[int, set[str]]:
        """Return how many units were computed at a time, at most, and their workers; forget what was seen."""
        rows = [line.split(" ") for line in self.seen.read_text().splitlines()]
        self.seen.unlink()
        spans = [(float(began), float(ended)) for began, ended, _ in rows]
        most = max(sum(each[0] <= began < each[1] for each in spans) for began, _ in spans)
        return most, {worker for _, _, worker in rows}

    def engine(self) -> int:
        """Process of the engine of the latest run."""
        note = json.loads((self.folder / "workdirs/.cache/engine/run.json").read_text())
        return int(note["process"])

    def computed_by(self, worker: str = "") -> int:
        """How often a unit of a stage that asks for something was computed, by a worker or by all."""
        rows = self.seen.read_text().splitlines() if self.seen.exists() else []
        return sum(row.endswith(f" {worker}") if worker else 1 for row in rows)

    def begin(
        self, address: str, number: int = 12, seconds: float = 0.3, stage: str = "wait", **engine: object
    ) -> subprocess.Popen[str]:
        """Begin a run of units that nobody has computed yet."""
        self.salt += 1
        self.seen.unlink(missing_ok=True)
        self.before = {*self.progress()}
        table = {"name": "dask", **({"address": address} if address else {}), "silence": 4, **engine}
        lines = [
            f"stage = {stage!r}",
            f"number = {number}",
            f"seconds = {seconds}",
            f"salt = {self.salt}",
            "[engine]",
        ]
        lines += [f"{name} = {each!r}" for name, each in table.items()]
        self.write("waits.toml", "\n".join(lines) + "\n")
        return self.popen(SHORTLOOP, "run", "waits")

    def progress(self) -> list[Path]:
        return [*self.folder.glob("workdirs/main/main-*/.progress")]

    def has_begun(self) -> bool:
        """True if a tenth of the units of the latest run is done."""
        (newest,) = {*self.progress()} - self.before or [None]
        return newest is not None and float((newest.read_text().split() or ["0"])[0]) > 0.1


class Cluster:
    """A scheduler of Dask, and workers without a nanny, each a process."""

    def __init__(self, folder: Path, seen: Path) -> None:
        self.seen = seen
        self.folder, self.port = folder, free_port()
        self.address = f"tcp://{HOST}:{self.port}"
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        self._start("scheduler", "--host", HOST, "--port", str(self.port), "--no-dashboard")
        wait_for(lambda: listens(HOST, self.port))

    def worker(
        self, name: str, *more: str, threads: int = 1, environment: Mapping[str, str] = os.environ
    ) -> None:
        more = (*more, "--nthreads", str(threads), "--local-directory", str(self.folder / name))
        self._start(
            "worker", self.address, "--no-nanny", "--no-dashboard", *more, name=name, environment=environment
        )

    def _start(
        self, what: str, *arguments: str, name: str = "", environment: Mapping[str, str] = os.environ
    ) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_" + what, *arguments]
        log = (self.folder / f"{name or what}.log").open("wb")
        environment = {**os.environ, "SEEN": str(self.seen), "WORKER": name, **environment}
        self.started[name or what] = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def workers(self, *names: str, options: Sequence[str] = ()) -> None:
        for name in names:
            self.worker(name, *options)
        for name in names:
            log = self.folder / f"{name}.log"
            wait_for(lambda log=log: b"Registered to" in log.read_bytes())  # type: ignore[misc]

    def signal(self, number: signal.Signals, *names: str) -> None:
        for name in names:
            os.kill(self.started[name].pid, number)

    def end(self) -> None:
        for process in self.started.values():
            process.kill()  # also one that is stopped
            process.wait()
