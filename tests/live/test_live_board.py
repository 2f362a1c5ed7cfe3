"""Links of a report lead to jobs on exax's board, with the servers running that they say."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from live_project import AX
from live_toy import ToyProject

from shortloop.report.board import ADDRESS, board_link

pytestmark = pytest.mark.live


@pytest.fixture
def toy() -> Iterator[ToyProject]:
    """Not in tmp_path: the path of a Unix socket must be short."""
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        made = ToyProject(Path(folder))
        made.start_server()
        try:
            yield made
        finally:
            made.stop_server()


def get(port: int, path: str) -> tuple[int, str]:
    asking = http.client.HTTPConnection("localhost", port, timeout=30)
    asking.request("GET", path, headers={"Accept": "text/html"})
    answer = asking.getresponse()
    return answer.status, answer.read().decode()


def test_a_link_leads_to_its_job(toy: ToyProject) -> None:
    (*_, job), _ = toy.chain()
    link = board_link(job, "the end of the chain")
    assert link.text.startswith("the end of the chain, and")
    commands = re.findall(r"“ax ([\w-]+)”", link.text)
    assert commands == ["server", "board-server"]
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    command = [str(AX), commands[-1], f"localhost:{port}"]
    with subprocess.Popen(command, cwd=toy.folder, env=toy.environment(), stdout=subprocess.DEVNULL) as board:
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    status, page = get(port, urlsplit(link.path).path)
                    break
                except ConnectionRefusedError:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
        finally:
            board.terminate()
    assert status == 200
    assert re.search(rf"<h1>\s*{job}\b", page)


def test_it_is_where_the_board_listens_of_itself() -> None:
    done = subprocess.run(
        [str(AX), "board-server", "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert f"default {ADDRESS.removeprefix('http://')}" in " ".join((done.stdout + done.stderr).split())
