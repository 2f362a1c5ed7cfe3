"""A study on a cluster of Dask that was there before, with TLS: the same bits.

Who has no certificate of it is refused in tests/deploy/test_dask_cluster.py; parts of clusters die in
test_live_engines_silent.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from deploy_compose import DEPLOY, Machines, free_port, listens, machines, make_certificates, services_of
from live_project import ROOT, STUDY, LiveProject, served
from random_edits import Found, contents

pytestmark = [
    pytest.mark.slow,  # tests/deploy/test_dask_cluster.py has certificates in each `make test`
    pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed"),
]
HOST = "127.0.0.1"


class Cluster(NamedTuple):
    """A scheduler and workers that were there before the run, where a run finds them, and files for TLS."""

    machines: Machines
    address: str
    certificates: Path


@contextmanager
def dask_cluster() -> Iterator[Cluster]:
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
        given = {"DASK_CONFIG": str(DEPLOY / "dask.yaml"), "PYTHONPATH": str(ROOT)}
        with machines(folder) as started:
            started.start("scheduler", services["scheduler"], given)
            started.until(lambda: listens(HOST, port), 60, "the scheduler listens")
            names = ["one", "two"]
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


def left_by(project: LiveProject) -> Found:
    """What each job of the last run left, but for what says how."""
    jobs = project.summary()["jobs"]
    return contents([[job["stage"], job["participant"], str(project.job_folder(job["job"]))] for job in jobs])


def test_a_study_leaves_the_same_bits() -> None:
    with served(LiveProject) as project:
        project.run()
        expected = left_by(project)
    with dask_cluster() as cluster, served(LiveProject) as project:
        project.write_study(STUDY + TABLE.format(address=cluster.address, folder=cluster.certificates))
        project.ax("run", "build_pipeline").ok()
        found = left_by(project)
        assert found.keys() == expected.keys()
        assert [name for name in found if found[name] != expected[name]] == []
        assert all(process.poll() is None for process in cluster.machines.started.values())
        # The next one has all it needs, and asks nobody.
        project.edit_study(cluster.address, "tls://127.0.0.1:1")
        assert "] built" not in project.ax("run", "build_pipeline").ok().stdout
