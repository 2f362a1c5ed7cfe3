"""Clusters of separate processes, from the commands of the compose files, with TLS."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy_compose import DEPLOY, Machines, free_port, listens, machines, make_certificates, services_of
from live_project import ROOT, processes

HOST = "127.0.0.1"


class Cluster:
    """A scheduler or head, and workers, that were there before the run.

    started: their processes.
    address: where a run finds it.
    certificates: folder with the files for TLS.
    """

    def __init__(self, started: Machines, address: str, certificates: Path) -> None:
        self.machines = started
        self.address = address
        self.certificates = certificates

    def kill(self, name: str) -> None:
        """As if its machine had lost its power."""
        process = self.machines.started.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def go_on(self) -> bool:
        """Whether all that was started, and not killed, still runs."""
        return all(process.poll() is None for process in self.machines.started.values())

    def job_processes(self) -> list[int]:
        """Processes of jobs, which the forkservers of its workers have forked."""
        found = self.machines.left()
        servers = {process for process, command in found.items() if "engines.forkserver" in command}
        return [number for number, each in processes().items() if {number, each.parent} <= servers]


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
