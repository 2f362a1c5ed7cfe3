"""Servers as processes of their own; among them a Ceph cluster with a gateway that speaks S3."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy_compose import free_port
from live_project import PATIENCE, wait_for

PROGRAMS = ("ceph", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
SETTINGS = """\
[global]
fsid = {cluster}
mon host = [v2:127.0.0.1:{monitor}]
public addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
osd objectstore = memstore
run dir = {folder}
log file = {folder}/$name.log
admin socket = {folder}/$name.asok
mon data = {folder}/mon
osd data = {folder}/osd
rgw data = {folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:{gateway}
"""


@contextmanager
def listening(command: list[Any], port: int | None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server, and all that it starts, in a group of processes; it listens at a port, if any."""
    server = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def answers() -> bool:
        assert server.poll() is None
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", port)) == 0

    try:
        if port is not None:
            wait_for(answers)
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def has_ceph() -> bool:
    return all(map(shutil.which, PROGRAMS))


@contextmanager
def ceph_gateway(folder: Path, key: str, secret: str) -> Iterator[int]:
    """A cluster of one monitor and one disk in memory, with one user; yield the port of its gateway."""
    cluster, disk, monitor, port = str(uuid.uuid4()), str(uuid.uuid4()), free_port(), free_port()
    for name in ("mon", "osd", "rgw"):
        (folder / name).mkdir()
    file, table = folder / "ceph.conf", folder / "monitors"
    file.write_text(SETTINGS.format(cluster=cluster, monitor=monitor, gateway=port, folder=folder))

    def call(program: str, *arguments: str) -> None:
        command = [program, "-c", str(file), *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)

    address = f"[v2:127.0.0.1:{monitor}]"
    call("monmaptool", "--create", "--fsid", cluster, "--addv", "a", address, str(table))
    call("ceph-mon", "--mkfs", "-i", "a", "--monmap", str(table))
    with contextlib.ExitStack() as running:
        running.enter_context(listening(["ceph-mon", "-c", file, "-i", "a", "-f"], monitor))
        call("ceph", "osd", "new", disk)
        call("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk)
        running.enter_context(listening(["ceph-osd", "-c", file, "-i", "0", "-f"], None))
        call("ceph", "osd", "crush", "add", "osd.0", "1.0", "root=default", f"host={os.uname().nodename}")
        call(
            *("radosgw-admin", "user", "create", "--uid", "tester", "--display-name", "tester"),
            *("--access-key", key, "--secret-key", secret),
        )
        running.enter_context(listening(["radosgw", "-c", file, "-n", "client.admin", "-f"], port))
        yield port
