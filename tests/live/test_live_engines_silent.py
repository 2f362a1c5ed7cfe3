"""A cluster that grows, freezes, has nobody or no such resource: the run goes on, or says what is wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from deploy_compose import free_port, listens
from live_project import SHORTLOOP, EmptyProject, fixture_of, script, stages, wait_for

from shortloop.base.extras import is_installed

pytest.importorskip("distributed", reason="distributed is not installed")
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
ASKS = {"gpu": "gpus=1", "wide": "cores=2", "large": "memory='900 TB'"}
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

    def begin(
        self, address: str, number: int = 12, seconds: float = 0.3, stage: str = "wait", **engine: object
    ) -> subprocess.Popen[str]:
        """Begin a run of units that nobody has computed yet."""
        self.salt += 1
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

    def worker(self, name: str, *more: str, threads: int = 1) -> None:
        more = (*more, "--nthreads", str(threads), "--local-directory", str(self.folder / name))
        self._start("worker", self.address, "--no-nanny", "--no-dashboard", *more, name=name)

    def _start(self, what: str, *arguments: str, name: str = "") -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_" + what, *arguments]
        log = (self.folder / f"{name or what}.log").open("wb")
        environment = {**os.environ, "SEEN": str(self.seen), "WORKER": name}
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


project = fixture_of(Waiting, server=False)


@pytest.fixture
def cluster(project: Waiting) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        started = Cluster(Path(folder), project.seen)
        yield started
        started.end()


def test_workers_that_come_later_compute(project: Waiting, cluster: Cluster) -> None:
    run = project.begin(cluster.address, when_silent="wait")
    assert run.stdout is not None
    while "has no workers: start some; waiting" not in (line := run.stdout.readline()):
        assert line, "it has ended"
    cluster.workers("one")
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said


def test_a_worker_that_is_stopped_holds_up_nobody(project: Waiting, cluster: Cluster) -> None:
    cluster.workers("one", "two")
    run = project.begin(cluster.address)
    wait_for(project.has_begun)
    cluster.signal(signal.SIGSTOP, "one")
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert "nothing was computed since" not in said


@pytest.mark.parametrize(
    ("when", "status", "expected"),
    [
        ("end", 1, "the job ends"),
        pytest.param("here", 0, "the rest is computed on this machine", marks=pytest.mark.slow),
    ],
)
def test_a_scheduler_that_is_stopped_is_told(
    project: Waiting, cluster: Cluster, when: str, status: int, expected: str
) -> None:
    cluster.workers("one")
    run = project.begin(cluster.address, number=20, when_silent=when)
    wait_for(project.has_begun)
    cluster.signal(signal.SIGSTOP, "scheduler")
    said, _ = run.communicate(timeout=90)
    assert run.returncode == status, said
    assert f"Dask's scheduler at {cluster.address} does not answer; {expected}" in said
    if status:
        assert "Traceback" not in said
        assert "run again: units that are done are kept" in said


@pytest.mark.slow
def test_no_worker_is_heard_of_and_long_units_are_no_silence(project: Waiting, cluster: Cluster) -> None:
    cluster.workers("one", "two")
    run = project.begin(cluster.address, number=2, seconds=12)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert "nothing was computed" not in said
    run = project.begin(cluster.address, number=20)
    wait_for(project.has_begun)
    cluster.signal(signal.SIGSTOP, "one", "two")
    said, _ = run.communicate(timeout=90)
    assert run.returncode == 1
    assert f"no worker of Dask's scheduler at {cluster.address} is heard of" in said


@pytest.mark.slow
def test_a_cluster_that_adapts_grows_from_nobody(project: Waiting, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "workers"
    code = f"""
import distributed, time
if __name__ == "__main__":
    given = dict(n_workers=0, threads_per_worker=1, dashboard_address=None)
    cluster = distributed.LocalCluster(scheduler_port={port}, host={HOST!r}, **given)
    cluster.adapt(minimum=0, maximum=3, interval="500ms", wait_count=20)
    most = 0
    while True:
        most = max(most, len(cluster.scheduler.workers))
        open({str(log)!r}, "w").write(str(most))
        time.sleep(0.2)
"""
    file = tmp_path / "adaptive.py"
    file.write_text(code)
    process = subprocess.Popen([sys.executable, str(file)], start_new_session=True)
    try:
        wait_for(lambda: listens(HOST, port))
        run = project.begin(f"tcp://{HOST}:{port}", number=100, seconds=0.4, silence=60)
        said, _ = run.communicate(timeout=120)
        assert run.returncode == 0, said
        assert int(log.read_text()) == 3
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_unit_that_needs_more_memory_than_its_worker_has_is_named(
    project: Waiting, cluster: Cluster
) -> None:
    project.write("build_scripts/build_hungry.py", script('return run.build("hungry", megabytes=700)'))
    cluster.workers("one", options=["--memory-limit", "500MiB"])
    said = project.shortloop("run", "hungry", SHORTLOOP_ENGINE=f"dask:{cluster.address}").fails()
    assert "u1 of hungry" in said
    assert "and its worker has 524 MB, each time that it was tried" in said


def test_units_that_ask_for_a_gpu_are_where_one_is(project: Waiting, cluster: Cluster) -> None:
    cluster.workers("one")
    run = project.begin(cluster.address, number=4, stage="gpu", when_silent="wait")
    assert run.stdout is not None
    lacking = f"no worker of Dask's scheduler at {cluster.address} has 1 GPU: start some"
    while lacking not in (line := run.stdout.readline()):
        assert line, "it has ended"
    cluster.worker("two", "--resources", "GPU=1", threads=2)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert project.at_a_time() == (1, {"two"})


@pytest.mark.slow
def test_units_that_use_several_cores_have_several_threads(project: Waiting, cluster: Cluster) -> None:
    for name in ("one", "two"):
        cluster.worker(name, threads=2)
    cluster.workers()
    for stage, most in (("wide", 2), ("large", 1)):  # no worker has that much: each has them all
        run = project.begin(cluster.address, number=8, stage=stage)
        said, _ = run.communicate(timeout=60)
        assert run.returncode == 0, said
        assert project.at_a_time()[0] == most


@pytest.mark.slow
@pytest.mark.skipif(not is_installed("ray"), reason="ray is not installed")
def test_ray_counts_what_units_ask_for(project: Waiting) -> None:
    run = project.begin("", number=4, stage="wide", name="ray", workers=2)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert project.at_a_time()[0] == 1
    for stage, lacking in (("gpu", "1 GPU"), ("large", "900,000 GB of memory")):
        run = project.begin("", number=4, stage=stage, name="ray", workers=2)
        said, _ = run.communicate(timeout=60)
        assert run.returncode == 1
        assert f"no node of Ray at this machine has {lacking}, as the stage asks for; the job ends" in said


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (f"tcp://{HOST}:1", "refused: that machine answers, and nothing listens on this port"),
        ("tcp://nobody.invalid:8786", "unknown host"),
    ],
)
def test_why_a_cluster_is_not_reached(project: Waiting, address: str, expected: str) -> None:
    run = project.begin(address)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert f"{address}: {expected}" in said


def test_what_is_missing_for_tls_is_named(project: Waiting, cluster: Cluster) -> None:
    run = project.begin(cluster.address.replace("tcp", "tls"))
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "set ca, certificate, key in the table [engine]" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cpus", "token", "status", "expected"),
    [
        (0, "", 1, "has no CPUs: start a node with some"),
        (1, "ab" * 32, 1, "it asks for another token"),
        (1, "", 0, "1 job built"),
    ],
)
def test_a_head_of_ray(
    project: Waiting, tmp_path: Path, cpus: int, token: str, status: int, expected: str
) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    own = {name: each for name, each in os.environ.items() if not name.startswith("RAY_")}
    own |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token} if token else {"RAY_AUTH_MODE": "disabled"}
    ray, port = Path(sys.executable).with_name("ray"), free_port()
    folder = tempfile.mkdtemp(prefix="sl-")
    command = [str(ray), "start", "--head", "--block", f"--num-cpus={cpus}", f"--port={port}"]
    command += ["--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={folder}"]
    head = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: listens(HOST, port))
        run = project.begin(f"{HOST}:{port}", name="ray", number=3, seconds=0.1, silence=10)
        said, _ = run.communicate(timeout=120)
        assert run.returncode == status, said
        assert expected in said
        assert "Traceback" not in said
    finally:
        head.send_signal(signal.SIGTERM)
        head.wait()
        shutil.rmtree(folder, ignore_errors=True)
