"""Ray on this machine is for this user alone: nobody reaches it from elsewhere, or without its token."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec
from typing import Any

import pytest
from python_process import finished

pytestmark = [
    pytest.mark.slow,  # as all that start Ray
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed"),
    pytest.mark.skipif(not all(map(shutil.which, ("unshare", "ip", "nsenter"))), reason="needs networks"),
]

# Two networks with a cable between them: the command runs in one, and another process is in the other.
NETWORKS = """
ip link set lo up
unshare -n sleep 600 & NEIGHBOUR=$!
trap 'kill $NEIGHBOUR' EXIT
for try in 1 2 3 4 5 6 7 8 9 10; do
    [ "$(readlink /proc/$NEIGHBOUR/ns/net)" = "$(readlink /proc/$$/ns/net)" ] && sleep 0.2
done
ip link add near type veth peer name far netns $NEIGHBOUR || exit 77
ip addr add 10.77.0.1/24 dev near && ip link set near up || exit 77
nsenter -t $NEIGHBOUR -n sh -c 'ip addr add 10.77.0.2/24 dev far && ip link set far up' || exit 77
ip route add default via 10.77.0.2 || exit 77  # by which Ray finds its own address
export NEIGHBOUR
"$@"
"""
NO_NETWORKS = 77
# Starts the engine as a run does, looks for what listens, and calls it.
CODE = '''
import json, os, socket, subprocess, sys
from pathlib import Path

from shortloop.engines.engine import open_engine
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

CALL = """
import socket, sys
for port in sys.argv[1:]:
    try:
        socket.create_connection(("10.77.0.1", int(port)), 2).close()
        print(port)
    except OSError:
        pass
"""

def answering(ports):
    """Ports that answer a process in another network."""
    enter = ["nsenter", "-t", os.environ["NEIGHBOUR"], "-n", sys.executable, "-c", CALL]
    return subprocess.run([*enter, *map(str, ports)], capture_output=True, text=True).stdout.split()

engine = open_engine(EngineSettings(name="ray"), 1)
import ray
twice = ray.remote(lambda value: 2 * value)
found = {"computed": ray.get(twice.remote(21))}
own = {inode for process in below(os.getpid()) for inode in sockets(process)}
tables = [Path(f"/proc/net/{kind}").read_text().splitlines()[1:] for kind in ("tcp", "tcp6")]
rows = [line.split() for table in tables for line in table]
found["listening"] = [address(row[1]) for row in rows if row[3] == "0A" and row[9] in own]
with socket.create_server(("0.0.0.0", 0)) as all_of_them:
    port = str(all_of_them.getsockname()[1])
    found["open"] = answering([port]) == [port]
found["answering"] = answering(port for _, port in found["listening"])
head = ray.get_runtime_context().gcs_address
found["usage"] = os.environ["RAY_USAGE_STATS_ENABLED"]
other = "import ray; ray.init(address=%r, log_to_driver=False); print('joined')" % head
environ = {name: each for name, each in os.environ.items() if not name.startswith("RAY_AUTH")}
environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
joining = subprocess.run([sys.executable, "-c", other], env=environ, capture_output=True, text=True)
found["joining"] = joining.stdout + joining.stderr
print("FOUND" + json.dumps(found), flush=True)
engine.close()
'''


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = ["unshare", "-rn", "sh", "-c", NETWORKS, "sh", sys.executable, "-c", CODE]
    done = finished(command, tmp_path_factory.mktemp("r"), timeout=300)
    if done.returncode == NO_NETWORKS or done.stderr.startswith("unshare:"):
        pytest.skip("no networks can be made here, which need unshare, ip and nsenter")
    assert "FOUND" in done.stdout, done.stderr
    what: dict[str, Any] = json.loads(done.stdout.partition("FOUND")[2].splitlines()[0])
    return what


def test_it_computes_and_tells_nobody(found: dict[str, Any]) -> None:
    assert (found["computed"], found["usage"]) == (42, "0")


def test_it_listens_on_the_loopback_address_alone(found: dict[str, Any]) -> None:
    hosts = {host for host, _ in found["listening"]}
    assert len(found["listening"]) > 3
    assert hosts <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_a_connection_from_another_address_is_refused(found: dict[str, Any]) -> None:
    assert found["open"]  # one to what listens everywhere is not
    assert found["answering"] == []


def test_who_has_not_its_token_cannot_join(found: dict[str, Any]) -> None:
    assert "joined" not in found["joining"]
    assert "InvalidAuthToken" in found["joining"]
