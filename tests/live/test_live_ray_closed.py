"""Ray on this machine is for this user alone: nobody reaches it from elsewhere, or without its token."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("ray")
pytestmark = pytest.mark.live

# Starts the engine as a run does, looks for what listens, and calls it.
CODE = """
import json, os, socket, subprocess, sys
from pathlib import Path

from shortloop.engines.registry import open_engine
from shortloop.settings.engine import EngineSettings

def below(parent):
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [parent, *(each for child in children for each in below(child))]

def sockets(process):
    for each in Path(f"/proc/{process}/fd").iterdir():
        try:
            link = os.readlink(each)
        except OSError:
            continue
        if link.startswith("socket:["):
            yield link[8:-1]

def address(text):
    place, port = text.split(":")
    packed = b"".join(bytes.fromhex(place[at:at + 8])[::-1] for at in range(0, len(place), 8))
    family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return socket.inet_ntop(family, packed), int(port, 16)

def answers(host, port):
    try:
        socket.create_connection((host, port), 2).close()
    except OSError:
        return False
    return True

engine = open_engine(EngineSettings(name="ray"), 1)
import ray
twice = ray.remote(lambda value: 2 * value)
found = {"computed": ray.get(twice.remote(21))}
own = {inode for process in below(os.getpid()) for inode in sockets(process)}
tables = [Path(f"/proc/net/{kind}").read_text().splitlines()[1:] for kind in ("tcp", "tcp6")]
rows = [line.split() for table in tables for line in table]
found["listening"] = [address(row[1]) for row in rows if row[3] == "0A" and row[9] in own]
# Of this machine, as others call it.
elsewhere = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
found["elsewhere"] = elsewhere
ports = [port for _, port in found["listening"]]
found["answering"] = [[host, port] for host in elsewhere for port in ports if answers(host, port)]
head = ray.get_runtime_context().gcs_address
found["usage"] = os.environ["RAY_USAGE_STATS_ENABLED"]
other = "import ray; ray.init(address=%r, log_to_driver=False); print('joined')" % head
environ = {name: each for name, each in os.environ.items() if not name.startswith("RAY_AUTH")}
environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
joining = subprocess.run([sys.executable, "-c", other], env=environ, capture_output=True, text=True)
found["joining"] = joining.stdout + joining.stderr
print("FOUND" + json.dumps(found), flush=True)
engine.close()
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("r")
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert "FOUND" in done.stdout, done.stderr
    what: dict[str, Any] = json.loads(done.stdout.partition("FOUND")[2].splitlines()[0])
    return what


def test_it_computes_and_tells_nobody(found: dict[str, Any]) -> None:
    assert found["computed"] == 42
    assert found["usage"] == "0"


def test_it_listens_on_the_loopback_address_alone(found: dict[str, Any]) -> None:
    hosts = {host for host, _ in found["listening"]}
    assert len(found["listening"]) > 3
    assert hosts <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_a_connection_from_another_address_is_refused(found: dict[str, Any]) -> None:
    if not found["elsewhere"]:
        pytest.skip("this machine has no other address")
    assert found["answering"] == []


def test_who_has_not_its_token_cannot_join(found: dict[str, Any]) -> None:
    assert "joined" not in found["joining"]
    assert "InvalidAuthToken" in found["joining"]
