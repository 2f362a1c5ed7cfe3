"""Inputs over HTTP, from a server that is a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_project import empty_project

from shortloop.base.errors import InputError
from shortloop.store.remote_files import local_copy

pytest.importorskip("aiohttp", reason="aiohttp is not installed")
project = pytest.fixture(empty_project)
SERVER = """
import http.server, os, sys

class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send_head(self):
        name = self.path.strip("/")
        if name == "moved.txt":
            self.send_response(302)
            self.send_header("Location", "/x.txt")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if name == "secret.txt":
            return self.send_error(403)
        if name == "cut.txt":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.close_connection = True
            if self.command == "GET":
                self.wfile.write(b"half")
            return None
        return super().send_head()

    def end_headers(self):
        if os.path.exists("tag"):
            self.send_header("ETag", open("tag").read())
        super().end_headers()

    def log_message(self, *_):
        open("log", "a").write(f"{self.command} {self.path}\\n")

with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""


class Site:
    def __init__(self, folder: Path) -> None:
        self.folder, self.time = folder, 1_000_000_000.0
        command = [sys.executable, "-c", SERVER]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = f"http://127.0.0.1:{self.process.stdout.readline().strip()}"

    def put(self, content: bytes) -> None:
        """Write the file, at the time that it had before."""
        (self.folder / "x.txt").write_bytes(content)
        os.utime(self.folder / "x.txt", (self.time, self.time))

    def fetched(self) -> int:
        return (self.folder / "log").read_text().count("GET /x.txt")

    def read(self, name: str = "x.txt") -> bytes:
        return local_copy(f"{self.address}/{name}")[0].read_bytes()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def site(project: Path, tmp_path: Path) -> Iterator[Site]:
    (folder := tmp_path / "site").mkdir()
    started = Site(folder)
    yield started
    started.end()


@pytest.mark.parametrize(("tags", "fetched"), [(('"1"', '"2"'), 2), (('W/"1"', 'W/"1"'), 4), (None, 4)])
def test_a_change_is_seen_whatever_the_server_says(
    site: Site, tags: tuple[str, str] | None, fetched: int
) -> None:
    """Size and time are the same; without a tag that tells contents apart, each run fetches the file."""
    for number, content in enumerate((b"one", b"two")):
        if tags:
            (site.folder / "tag").write_text(tags[number])
        site.put(content)
        assert site.read() == content
        assert site.read() == content
    assert site.fetched() == fetched


def test_what_a_server_says_instead_of_a_file(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.put(b"one")
    (site.folder / "folder").mkdir()
    assert site.read("moved.txt") == b"one"
    for name, expected in {
        "none.txt": "an input file does not exist",
        "folder": "an input is not a file",
        "folder/": "an input is not a file",
        "secret.txt": "(?s)cannot be reached.*403",
        "cut.txt": "(?s)cut short.*4 bytes.*100 bytes",
    }.items():
        with pytest.raises(InputError, match=expected):
            site.read(name)
    (site.folder / "x.txt").unlink()  # a copy of it is here
    with pytest.raises(InputError, match="an input file does not exist"):
        site.read("moved.txt")
    site.end()
    assert site.read("moved.txt") == b"one"
    assert "the copy of 20" in capsys.readouterr().err
    with pytest.raises(InputError, match="an input file cannot be reached"):
        site.read("none.txt")
