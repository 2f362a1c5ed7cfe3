"""Runs on a cluster of Dask that was there before, with TLS: the same bits, and what happens if a part of it
dies. Who has no certificate of it is refused in tests/deploy/test_dask_cluster.py."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deploy_compose import DEPLOY, Machines, free_port, listens, machines, make_certificates, services_of
from engine_project import EngineProject
from live_project import PATIENCE, ROOT, STUDY, LiveProject, fixture_of, served, wait_for
from random_edits import Found, contents

pytest.importorskip("distributed", reason="distributed is not installed")
pytestmark = pytest.mark.slow  # tests/deploy/test_dask_cluster.py has certificates in each `make test`
HOST = "127.0.0.1"


class Cluster:
    """A scheduler or head, and workers, that were there before the run.

    started: their processes.
    address: where a run finds it.
    certificates: folder with the files for TLS.
    """

    def __init__(self, started: Machines, address: str, certificates: Path) -> None:
        self.machines, self.address = started, address
        self.certificates = certificates

    def kill(self, name: str) -> None:
        """As if its machine had lost its power."""
        process = self.machines.started.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def go_on(self) -> bool:
        """Whether all that was started, and not killed, still runs."""
        return all(process.poll() is None for process in self.machines.started.values())


@contextmanager
def dask_cluster(workers: int = 2, **environment: str) -> Iterator[Cluster]:
    """A scheduler and workers of Dask, each worker a machine of its own."""
    # In a path that is short: names of sockets may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="sl-") as name:
        folder, port = Path(name), free_port()
        certificates = make_certificates(folder / "certificates", HOST)
        variables = {
            "SHORTLOOP_PROJECT": str(folder),
            "SHORTLOOP_SCHEDULER_HOST": HOST,
            "SHORTLOOP_PORT": str(port),
            "SHORTLOOP_DASHBOARD_PORT": str(free_port()),
            "SHORTLOOP_SCHEDULER": f"{HOST}:{port}",
            "SHORTLOOP_WORKERS": "1",
            "SHORTLOOP_WORKER_MEMORY": "2GiB",
        }
        services = services_of("compose.dask.yaml", variables)
        given = {"DASK_CONFIG": str(DEPLOY / "dask.yaml"), "PYTHONPATH": str(ROOT), **environment}
        with machines(folder) as started:
            started.start("scheduler", services["scheduler"], given)
            started.until(lambda: listens(HOST, port), 60, "the scheduler listens")
            names = [f"worker{number}" for number in range(workers)]
            for each in names:
                started.start(each, services["worker"], given)
            for each in names:
                log = folder / f"{each}.log"
                started.until(lambda log=log: "Registered to" in log.read_text(), 60, f"{each} is there")  # type: ignore[misc]
            yield Cluster(started, f"tls://{HOST}:{port}", certificates)


TABLE = """
[engine]
name = "dask"
address = "{address}"
ca = "{folder}/ca.pem"
certificate = "{folder}/client.pem"
key = "{folder}/client.key"
"""
toy = fixture_of(EngineProject)


@pytest.fixture(scope="module")
def cluster(toy: EngineProject) -> Iterator[Cluster]:
    """One that goes on after each of the runs."""
    with dask_cluster(FAULTS=str(toy.faults)) as started:
        yield started
        assert started.go_on(), started.machines.said()


@pytest.fixture
def own_cluster(toy: EngineProject) -> Iterator[Cluster]:
    with dask_cluster(FAULTS=str(toy.faults)) as started:
        yield started


@pytest.fixture
def new_jobs(toy: EngineProject) -> Iterator[EngineProject]:
    """Jobs that nobody has built yet."""
    toy.mend()
    number = len(toy.first)
    toy.first.append("")
    toy.ask(partitions=[f"P{number}"], fit={"groups": 20 + 12 * number})
    yield toy
    wait_for(lambda: not toy.processes())


def begun(project: EngineProject, cluster: Cluster, unit: int) -> subprocess.Popen[str]:
    """A run that is held at a unit; it knows the certificates by Dask's own variables."""
    project.fault("factors", unit, "hold")
    names = {"CA_FILE": "ca.pem", "CLIENT__CERT": "client.pem", "CLIENT__KEY": "client.key"}
    given = {
        f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(cluster.certificates / file)
        for name, file in names.items()
    }
    running = project.start(f"dask:{cluster.address}", **given)
    wait_for(lambda: f"factors {unit}" in project.computed())
    return running


def factors(project: EngineProject) -> Counter[str]:
    return Counter(each for each in project.computed() if each.startswith("factors"))


def left_by(project: LiveProject) -> Found:
    """What each job of the last run left, but for what says how."""
    jobs = project.summary()["jobs"]
    return contents([[job["stage"], job["participant"], str(project.job_folder(job["job"]))] for job in jobs])


def test_a_study_leaves_the_same_bits(cluster: Cluster) -> None:
    with served(LiveProject) as project:
        project.run()
        expected = left_by(project)
    with served(LiveProject) as project:
        project.write_study(STUDY + TABLE.format(address=cluster.address, folder=cluster.certificates))
        project.ax("run", "build_pipeline").ok()
        found = left_by(project)
        assert found.keys() == expected.keys()
        assert [name for name in found if found[name] != expected[name]] == []
        assert cluster.go_on()
        # The next one has all it needs, and asks nobody.
        project.edit_study(cluster.address, "tls://127.0.0.1:1")
        assert "] built" not in project.ax("run", "build_pipeline").ok().stdout


def test_a_worker_dies(new_jobs: EngineProject, own_cluster: Cluster) -> None:
    running = begun(new_jobs, own_cluster, 2)
    own_cluster.kill("worker0")
    (new_jobs.faults / "factors-2").unlink()
    said = "".join(running.communicate(timeout=PATIENCE))
    assert running.returncode == 0, said
    assert len(factors(new_jobs)) == 12
    assert own_cluster.go_on()


def test_the_scheduler_dies(new_jobs: EngineProject, own_cluster: Cluster) -> None:
    running = begun(new_jobs, own_cluster, 11)
    time.sleep(1)
    before = factors(new_jobs)
    own_cluster.kill("scheduler")
    started = time.monotonic()
    said = "".join(running.communicate(timeout=PATIENCE))
    assert time.monotonic() - started < 30
    assert running.returncode == 1
    assert "the connection to Dask's scheduler is lost" in said, said
    assert "Traceback" not in said
    new_jobs.mend()
    new_jobs.go("slices").ok()
    after = factors(new_jobs)
    assert "factors 11" in after
    assert len(after) + len(before) <= 12 + 4  # what had no answer yet, and no more
