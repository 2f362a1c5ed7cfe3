"""The commands of compose.dask.yaml start a cluster that computes, and lets in only who has a certificate."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import ssl
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deploy_compose import DEPLOY, Machines, free_port, listens, machines, make_certificates, services_of
from python_process import finished

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed"),
]
SETTINGS = {"DASK_CONFIG": str(DEPLOY / "dask.yaml")}  # in a container it lies where Dask looks by itself


class Cluster(NamedTuple):
    machines: Machines
    services: dict[str, Any]
    port: int
    certificates: Path
    others: Path

    @property
    def address(self) -> str:
        return f"tls://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers, with certificates in a folder with a blank in its name."""
    folder = tmp_path_factory.mktemp("cluster")
    project = folder / "my analysis"
    certificates = make_certificates(project / "certificates", "127.0.0.1")
    others = make_certificates(folder / "others", "127.0.0.1")
    port = free_port()
    variables = {
        "SHORTLOOP_PROJECT": str(project),
        "SHORTLOOP_SCHEDULER_HOST": "127.0.0.1",
        "SHORTLOOP_PORT": str(port),
        "SHORTLOOP_DASHBOARD_PORT": str(free_port()),
        "SHORTLOOP_SCHEDULER": f"127.0.0.1:{port}",
        "SHORTLOOP_WORKERS": "1",
        "SHORTLOOP_WORKER_MEMORY": "512MiB",
    }
    services = services_of("compose.dask.yaml", variables)
    with machines(folder) as started:
        made = Cluster(started, services, port, certificates, others)
        assert not started.is_healthy(services["scheduler"])
        assert not started.is_healthy(services["worker"])
        started.start("scheduler", services["scheduler"], SETTINGS)
        for name in ("worker", "another"):
            started.start(name, services["worker"], SETTINGS)
        started.until(lambda: listens("127.0.0.1", port), 60, "the scheduler listens")
        with client_of(made) as client:
            started.until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2, 60, "two workers")
        yield made


def security(certificates: Path, role: str = "client") -> Any:
    import distributed

    return distributed.Security(
        require_encryption=True,
        tls_ca_file=str(certificates / "ca.pem"),
        tls_client_cert=str(certificates / f"{role}.pem"),
        tls_client_key=str(certificates / f"{role}.key"),
    )


@contextlib.contextmanager
def client_of(cluster: Cluster, certificates: Path | None = None, timeout: str = "30s") -> Iterator[Any]:
    import distributed

    with distributed.Client(
        cluster.address,
        security=security(certificates or cluster.certificates),
        timeout=timeout,
        set_as_default=False,
    ) as client:
        yield client


def test_it_computes_on_all_workers(cluster: Cluster) -> None:
    """Which have one thread, and read the settings as the scheduler does."""
    import dask

    asked = "distributed.comm.socket-backlog"
    with client_of(cluster) as client:
        assert client.gather(client.map(pow, range(20), [2] * 20)) == [number**2 for number in range(20)]
        processes = client.run(os.getpid)
        assert set(client.nthreads().values()) == {1}
        assert set(client.run(os.getenv, "OMP_NUM_THREADS").values()) == {"1"}
        assert client.run_on_scheduler(dask.config.get, asked) == 8192
        assert set(client.run(dask.config.get, asked).values()) == {8192}
    assert len(set(processes.values())) == 2
    assert all(address.startswith("tls://127.0.0.1:") for address in processes)
    assert all(map(cluster.machines.is_healthy, cluster.services.values()))


def test_the_check_of_the_page_on_clusters_works(cluster: Cluster) -> None:
    """With the variables it names; and not without the certificate."""
    (code,) = re.findall(
        r"^python -c '(.*)'$", (DEPLOY / "README.md").read_text(encoding="utf-8"), flags=re.M
    )
    files = cluster.certificates
    given = {
        **SETTINGS,
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(files / "ca.pem"),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT": str(files / "client.pem"),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": str(files / "client.key"),
    }
    without = {name: value for name, value in given.items() if not name.endswith("CERT")}
    for variables, works in ((given, True), (without, False)):
        here = code.replace("tls://scheduler.example:8786", cluster.address)
        done = finished([sys.executable, "-c", here], None, cluster.machines.environment(variables))
        assert (done.returncode == 0) == works, done.stderr
        assert ("processes=2 threads=2" in done.stdout) == works


def test_a_client_without_encryption_is_refused_and_trusts_no_other_authority(cluster: Cluster) -> None:
    import distributed

    with pytest.raises(OSError, match=r"(?i)timed out|closed"):
        distributed.Client(f"tcp://127.0.0.1:{cluster.port}", timeout="2s", set_as_default=False)
    with (
        pytest.raises(OSError, match="TLS certificate does not match"),
        client_of(cluster, cluster.others, timeout="5s"),
    ):
        pass


@pytest.mark.parametrize("whose", ["nobody", "another authority"])
def test_a_client_without_its_certificate_is_refused(cluster: Cluster, whose: str) -> None:
    """By the scheduler, even one that trusts it, and not by Dask's client, which does not try."""
    context = ssl.create_default_context(cafile=cluster.certificates / "ca.pem")
    if whose == "another authority":
        context.load_cert_chain(cluster.others / "client.pem", cluster.others / "client.key")
    with (
        socket.create_connection(("127.0.0.1", cluster.port), timeout=10) as plain,
        pytest.raises(ssl.SSLError, match=r"(?i)certificate.required|unknown.ca"),
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        connection.recv(1)


def test_a_worker_of_another_authority_is_refused(cluster: Cluster) -> None:
    before = {*cluster.machines.started}
    service = cluster.services["worker"]
    own, others = str(cluster.certificates), str(cluster.others)
    stranger = {**service, "command": [part.replace(own, others) for part in service["command"]]}
    cluster.machines.start("stranger", stranger, SETTINGS)
    assert cluster.machines.started.pop("stranger").wait(60) != 0
    assert "TLS certificate does not match" in (cluster.machines.folder / "stranger.log").read_text()
    with client_of(cluster) as client:
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2
    assert {*cluster.machines.started} == before
