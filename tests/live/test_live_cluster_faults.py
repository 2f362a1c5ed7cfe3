"""Faults of clusters at random: the run goes on or says what is wrong, and nothing that is done is lost.

CLUSTERS says how many, SEED which; ``make soak`` asks for many. docs/engines.md has the table that it prints.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, NamedTuple

import pytest
from deploy_compose import listens
from live_project import PATIENCE, served, stages, wait_for
from waiting_project import HIDDEN, HOST, Cluster, Waiting

CLUSTERS = int(os.environ.get("CLUSTERS", "8"))
SEED = int(os.environ.get("SEED") or 0)
NUMBER, SECONDS = 40, 0.3  # units of a run, and how long each takes
NODE = "SHORTLOOP_TEST_NODE"  # of the environment of all processes of a node
LOGGED = """\
# logged
def each(number: int):
    return {f"u{n}": n for n in range(number)}

@stage(units=each)
def logged(n, number: int, seconds: float, salt: int):
    import os, time
    time.sleep(seconds)
    if n == int(os.environ.get("HUNGRY", -1)):
        import numpy as np

        held = np.ones(90_000_000)
        time.sleep(1)
    with open(os.environ["SEEN"], "a") as stream:
        stream.write(f"{salt} {n}\\n")
    return {"y": n + salt}
"""


class Fault(NamedTuple):
    """What happens, to whom, and what the run says then; nothing: it goes on."""

    what: str
    said: str = ""
    signal: int = signal.SIGKILL
    hit: tuple[str, ...] = ()
    joins: str = ""  # worker or node that comes 3 s later
    begins: tuple[str, ...] = ("one", "two")  # workers or nodes that are there


LACKS = "a worker cannot compute units"
DASK = (
    Fault("scheduler stopped", "Dask's scheduler at .* does not answer", signal.SIGSTOP, ("scheduler",)),
    Fault("scheduler killed", "connection to Dask's scheduler is lost", hit=("scheduler",)),
    Fault("a worker stopped", signal=signal.SIGSTOP, hit=("one",)),
    Fault("all workers stopped", "no worker of .* is heard of", signal.SIGSTOP, ("one", "two")),
    Fault("a worker killed", hit=("one",)),
    Fault("all workers killed", "has no workers", hit=("one", "two")),
    Fault("all workers killed, one joins", hit=("one", "two"), joins="three"),
    Fault("no workers, one joins", begins=(), joins="three"),
    Fault("a worker without Shortloop joins", LACKS, joins="lacking", begins=("one",)),
    Fault("a unit above the memory limit", "and its worker has", begins=("hungry",)),
    Fault("run killed", hit=("run",)),
)
RAY = (
    Fault("a node killed", hit=("one",)),
    Fault("all nodes killed", "has no CPUs", hit=("one", "two")),
    Fault("all nodes killed, one joins", hit=("one", "two"), joins="three"),
    Fault("no nodes, one joins", begins=(), joins="three"),
    Fault("head killed", "ray at .* does not answer|connection to Ray is lost", hit=("head",)),
    Fault("head stopped", "ray at .* does not answer|connection to Ray is lost", signal.SIGSTOP, ("head",)),
    Fault("a node stopped", signal=signal.SIGSTOP, hit=("one",)),
    Fault("a node without Shortloop joins", LACKS, joins="lacking", begins=("one",)),
    Fault("run killed", hit=("run",)),
)


class Logged(Waiting):
    sources: ClassVar = {**Waiting.sources, **stages(LOGGED)}
    run_name = "waits"

    def computed(self) -> list[str]:
        """Units of the latest run, each as often as it was computed."""
        lines = self.seen.read_text().splitlines() if self.seen.exists() else []
        return [line.split()[1] for line in lines if line.startswith(f"{self.salt} ")]


class DaskCluster(Cluster):
    """A scheduler, and workers by name."""

    joined = "Registered to"

    def __init__(self, folder: Path, seen: Path) -> None:
        super().__init__(folder, seen)
        (folder / "hidden").mkdir()
        (folder / "hidden/sitecustomize.py").write_text(HIDDEN, encoding="utf-8")
        self.hidden = {"PYTHONPATH": str(folder / "hidden"), "PYTHONSAFEPATH": "1"}

    def wait(self, name: str) -> None:
        wait_for(lambda: self.joined in (self.folder / f"{name}.log").read_text())

    def join(self, name: str) -> None:
        if name == "hungry":
            self.worker(name, "--memory-limit", "500MiB", environment={"HUNGRY": "20"})
        elif name == "lacking":
            self.worker(name, "--nanny", environment=self.hidden)
        else:
            self.worker(name)

    def hit(self, number: int, names: tuple[str, ...]) -> None:
        self.signal(signal.Signals(number), *names)


class RayCluster(DaskCluster):
    """A head without CPUs, and nodes by name."""

    joined = "Ray runtime started"

    def _start(self, what: str, *arguments: str, name: str = "", **given: object) -> None:
        assert what == "scheduler", "only the head is started as one"
        self.address = f"{HOST}:{self.port}"
        head = ["--head", f"--port={self.port}", "--num-cpus=0", f"--temp-dir={self.folder}/ray"]
        self._ray("head", *head, "--include-dashboard=false")
        self.wait("head")

    def _ray(self, name: str, *arguments: str, **environment: str) -> None:
        command = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--disable-usage-stats"]
        command += [f"--node-ip-address={HOST}", "--object-store-memory=100000000", *arguments]
        own = {
            "SEEN": str(self.seen),
            "RAY_AUTH_MODE": "disabled",
            NODE: f"{self.port} {name}",
            **environment,
        }
        log = (self.folder / f"{name}.log").open("wb")
        self.started[name] = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **own})

    def join(self, name: str) -> None:
        more = self.hidden if name == "lacking" else {}
        self._ray(name, f"--address={self.address}", "--num-cpus=1", **more)

    def hit(self, number: int, names: tuple[str, ...]) -> None:
        for name in names:
            for process in filter(str.isdecimal, os.listdir("/proc")):
                with contextlib.suppress(OSError):
                    if (
                        f"{NODE}={self.port} {name}\0".encode()
                        in Path(f"/proc/{process}/environ").read_bytes()
                    ):
                        os.kill(int(process), number)

    def end(self) -> None:
        self.hit(signal.SIGKILL, tuple(self.started))
        super().end()


@contextmanager
def cluster_of(engine: str, project: Logged) -> Iterator[DaskCluster]:
    folder = tempfile.mkdtemp(prefix="sl-")
    started = (DaskCluster if engine == "dask" else RayCluster)(Path(folder), project.seen)
    try:
        wait_for(lambda: listens(HOST, started.port))
        yield started
    finally:
        started.end()
        shutil.rmtree(folder, ignore_errors=True)


class Outcome(NamedTuple):
    seconds: float  # until it was told, or the run had ended
    lost: int  # units that were computed more than once


def meets(engine: str, fault: Fault, project: Logged, rng: random.Random) -> Outcome:
    """Run units on a new cluster, let the fault happen, and go on without the cluster."""
    lines: list[tuple[float, str]] = []
    with cluster_of(engine, project) as cluster:
        for name in fault.begins:
            cluster.join(name)
            cluster.wait(name)
        when = "wait" if fault.joins and not fault.said else "end"
        run = project.begin(
            cluster.address, NUMBER, SECONDS, "logged", name=engine, when_silent=when, silence=5
        )

        def read() -> None:
            assert run.stdout is not None
            lines.extend((time.monotonic(), line) for line in run.stdout)

        reader = threading.Thread(target=read)
        reader.start()
        if fault.begins:
            wait_for(lambda: len(project.computed()) > 2 or run.poll() is not None)
            time.sleep(rng.uniform(0, 2))
        happened = time.monotonic()
        if fault.hit == ("run",):
            run.kill()
        else:
            cluster.hit(fault.signal, fault.hit)
        if fault.joins:
            time.sleep(3 if fault.hit or not fault.begins else 0)
            cluster.join(fault.joins)
        try:
            run.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            run.kill()
            raise AssertionError(f"it has not ended: {''.join(line for _, line in lines)}") from None
        reader.join()
    said = "".join(line for _, line in lines)
    assert "Traceback" not in said, said
    if not fault.said and fault.hit != ("run",):
        assert run.returncode == 0, said
    elif fault.hit != ("run",):
        assert run.returncode == 1, said
        assert re.search(fault.said, said), said
    told = [at for at, line in lines if fault.said and re.search(fault.said, line)]
    ended = (told or [lines[-1][0] if lines else happened])[0]
    time.sleep(0.5)  # units that were computed when all ended
    project.shortloop("run", "waits", SHORTLOOP_ENGINE="slices").ok()
    assert sorted(project.last_result("logged")["y"]) == [n + project.salt for n in range(NUMBER)]
    computed = project.computed()
    assert {*computed} == {*map(str, range(NUMBER))}
    return Outcome(max(ended - happened, 0.0), len(computed) - NUMBER)


@pytest.mark.slow
def test_a_node_of_ray_that_is_stopped_holds_up_nobody() -> None:
    """Ray waits for ever for a node that was stopped when it was asked to take tasks."""
    pytest.importorskip("ray", reason="ray is not installed")
    (fault,) = [each for each in RAY if each.what == "a node stopped"]
    with served(Logged) as project:
        meets("ray", fault, project, random.Random(0))


@pytest.mark.skipif("CLUSTERS" not in os.environ, reason="takes minutes: `make soak` does it")
def test_faults_at_random() -> None:
    rng, found = random.Random(SEED), defaultdict[tuple[str, str], list[Outcome]](list)
    wrong: list[str] = []
    print(f"SEED={SEED}")
    each = [("dask", fault) for fault in DASK]
    each += [("ray", fault) for fault in RAY if find_spec("ray")]
    order = [fault for _ in range(CLUSTERS // len(each) + 1) for fault in rng.sample(each, len(each))]
    with served(Logged) as project:
        for engine, fault in order[:CLUSTERS]:
            try:
                outcome = meets(engine, fault, project, rng)
            except AssertionError as error:
                wrong.append(f"{engine}, {fault.what}: {error}")
                print(wrong[-1], flush=True)
                continue
            print(f"{engine}, {fault.what}: {outcome.seconds:.1f} s, {outcome.lost} lost", flush=True)
            found[engine, fault.what].append(outcome)
    print("| engine | fault | times | the run | seconds, median (most) | units lost, most |")
    print("|---|---|---|---|---|---|")
    for (engine, what), outcomes in sorted(found.items()):
        (fault,) = [fault for name, fault in each if (name, fault.what) == (engine, what)]
        ends = "ends, and says so" if fault.said else "resumes" if fault.hit == ("run",) else "goes on"
        seconds, lost = zip(*outcomes, strict=True)
        took = "–" if ends == "resumes" else f"{statistics.median(seconds):.1f} ({max(seconds):.1f})"
        print(f"| {engine} | {what} | {len(outcomes)} | {ends} | {took} | {max(lost)} |")
    assert not wrong
