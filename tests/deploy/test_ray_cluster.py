"""The commands of compose.ray.yaml start a cluster that computes, and lets in only who has a certificate."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deploy_compose import Machines, free_port, listens, machines, make_certificates, services_of

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed"),
]

# As a process of its own: Ray reads its variables once in the life of a process.
DRIVER = """
import json, sys
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

ray.init(address=sys.argv[1], logging_level="ERROR", log_to_driver=False)

@ray.remote(num_cpus=1)
def square(number):
    import os
    return number**2, ray.get_runtime_context().get_node_id(), os.environ["OMP_NUM_THREADS"]

nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
asked = [
    square.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(number)
    for number, node in enumerate(nodes, 2)
]
print(json.dumps([nodes, ray.get(asked, timeout=60)]))
"""

# Addresses of this machine alone. Ray would replace 127.0.0.1 by an address that others can reach.
HEAD, WORKER = "127.0.0.2", "127.0.0.3"
# The kind of message with which both sides of HTTP/2, and so of gRPC, begin.
SETTINGS = b"\x04"


class Cluster(NamedTuple):
    machines: Machines
    services: dict[str, Any]
    port: int
    certificates: Path

    @property
    def address(self) -> str:
        return f"{HEAD}:{self.port}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A head and a second node, with certificates in a folder with a blank in its name."""
    folder = tmp_path_factory.mktemp("cluster")
    project = folder / "my analysis"
    port = free_port()
    # Names of sockets may have 107 characters, and Ray takes 60 of them.
    short = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    variables = {
        "SHORTLOOP_PROJECT": str(project),
        "SHORTLOOP_PORT": str(port),
        "SHORTLOOP_HEAD": f"{HEAD}:{port}",
        "SHORTLOOP_HEAD_CPUS": "1",
        "SHORTLOOP_CPUS": "1",
        "SHORTLOOP_OBJECT_STORE": "80000000",
        "SHORTLOOP_RAY_FOLDER": str(short),
    }
    certificates = make_certificates(project / "certificates", HEAD, WORKER)
    services = {
        name: services_of("compose.ray.yaml", {**variables, "SHORTLOOP_NODE": node})[name]
        for name, node in (("head", HEAD), ("worker", WORKER))
    }
    try:
        with machines(folder) as started:
            made = Cluster(started, services, port, certificates)
            started.start("head", services["head"])
            started.until(lambda: listens(HEAD, port), 60, "the head listens")
            started.until(lambda: started.is_healthy(services["head"]), 60, "the head answers")
            started.start("worker", services["worker"])
            started.until(lambda: nodes_of(made) == 2, 90, "two nodes")
            yield made
    finally:
        shutil.rmtree(short, ignore_errors=True)


def nodes_of(cluster: Cluster) -> int:
    return asked(cluster, ["ray", "status", "--address", cluster.address]).stdout.count(" node_")


def asked(
    cluster: Cluster, command: list[str], more: dict[str, str] | None = None, seconds: float = 90
) -> subprocess.CompletedProcess[str]:
    environment = cluster.machines.environment(
        cluster.services["worker"]["environment"] if more is None else more
    )
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds)


def test_it_computes_on_all_nodes(cluster: Cluster) -> None:
    done = asked(cluster, [sys.executable, "-c", DRIVER, cluster.address])
    assert done.returncode == 0, done.stderr + cluster.machines.said()
    nodes, found = json.loads(done.stdout.splitlines()[-1])
    assert len(nodes) == 2
    assert found == [[number**2, node, "1"] for number, node in enumerate(nodes, 2)]


def test_who_has_a_certificate_is_let_in_and_nobody_else(cluster: Cluster, tmp_path: Path) -> None:
    assert cluster.machines.is_healthy(cluster.services["worker"])
    others = make_certificates(tmp_path / "others", HEAD)
    said = {}
    for whose, folder in {"own": cluster.certificates, "no": None, "other": others}.items():
        context = ssl.create_default_context(cafile=cluster.certificates / "ca.pem")
        if folder:
            context.load_cert_chain(folder / "worker.pem", folder / "worker.key")
        said[whose] = answered(cluster, context)
    assert said.pop("own").startswith(SETTINGS)
    assert said == {"no": b"", "other": b""}
    assert SETTINGS not in answered(cluster, None)  # who does not encrypt


def answered(cluster: Cluster, context: ssl.SSLContext | None) -> bytes:
    """The first bytes of what the head says to who greets as Ray does."""
    with contextlib.ExitStack() as opened:
        connection = opened.enter_context(socket.create_connection((HEAD, cluster.port), timeout=10))
        try:
            if context:
                context.set_alpn_protocols(["h2"])
                connection = opened.enter_context(context.wrap_socket(connection, server_hostname=HEAD))
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
            said = b""
            while len(said) < 9 and (more := connection.recv(1000)):
                said += more
        except (ssl.SSLError, ConnectionError):
            return b""
    return said[3:]
