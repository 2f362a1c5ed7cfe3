"""Links of a report lead to jobs on exax's board, with the servers running that they say."""

from __future__ import annotations

import re
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from browser import opened
from live_project import AX, fixture_of, wait_for
from live_toy import ToyProject

from shortloop.report.page import ADDRESS, BOARD_NOTE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

toy = fixture_of(ToyProject)


@pytest.fixture(scope="module")
def job(toy: ToyProject) -> str:
    """One that was made from others."""
    (*_, job), _ = toy.chain()
    return str(job)


@pytest.fixture(scope="module")
def board(toy: ToyProject, job: str) -> Iterator[str]:
    """Address of the job on a board that is started as the text of the link says."""
    commands = re.findall(r"“ax ([\w-]+)”", BOARD_NOTE)
    assert commands == ["server", "board-server"]
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]

    def listens() -> bool:
        with suppress(ConnectionRefusedError):
            socket.create_connection(("localhost", port), timeout=30).close()
            return True
        return False

    running = toy.popen(AX, commands[-1], f"localhost:{port}")
    wait_for(listens)
    yield f"http://localhost:{port}/job/{job}"
    running.terminate()
    running.communicate(timeout=60)


def test_a_link_leads_to_its_job(board: str, job: str) -> None:
    asked = urllib.request.Request(board, headers={"Accept": "text/html"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert re.search(rf"<h1>\s*{job}\b", answer.read().decode())


def test_a_browser_shows_the_job_and_what_it_was_made_from(board: str, job: str, browser: Browser) -> None:
    with opened(browser, board) as view:
        assert view.page.inner_text("h1").split()[0] == job
        before = view.page.get_attribute("a[href*='/job/']", "href")
        view.page.click("a[href*='/job/']")
        assert view.page.url.endswith(str(before))
        # It asks what each part of a job has printed, and most have printed nothing.
        assert [each for each in view.complaints if not re.match("404: .*/OUTPUT/", each)] == []


def test_it_is_where_the_board_listens_of_itself() -> None:
    done = subprocess.run(
        [str(AX), "board-server", "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert f"default {ADDRESS.removeprefix('http://')}" in " ".join((done.stdout + done.stderr).split())
