"""Files at addresses of fsspec and of the web are fetched once for each version, and used without it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from jobs_project import empty_project

from shortloop.base.errors import InputError
from shortloop.panel.formats.csv import CsvInput
from shortloop.plan.pipeline import Built, Call, Run
from shortloop.plan.request import named_files
from shortloop.stages.inputs import File
from shortloop.store import remote_files
from shortloop.store.inputs import register
from shortloop.store.remote_files import address_of, local_copy

project = pytest.fixture(empty_project)


class Finding(Run):
    """A run that registers files, and builds nothing."""

    def ask(self, stage: str, partition: str | None, call: Call) -> Built:
        raise NotImplementedError

    def files(self, paths: Any) -> list[File]:
        placed = self.placed(paths)
        return named_files(register(placed), placed, self.addresses)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of files that were fetched."""
    found: list[str] = []
    original = remote_files.RemoteFiles.fetch

    def fetch(files: remote_files.RemoteFiles, path: str, file: Path) -> None:
        found.append(path)
        original(files, path, file)

    monkeypatch.setattr(remote_files.RemoteFiles, "fetch", fetch)
    return found


@pytest.fixture(params=["file", "memory"])
def address(request: pytest.FixtureRequest, project: Path, tmp_path: Path) -> Iterator[str]:
    path = f"{tmp_path}/remote/a b.txt" if request.param == "file" else "/remote/a b.txt"
    yield f"{request.param}://{path.removeprefix('/' * (request.param == 'memory'))}"
    MemoryFileSystem.store.clear()


def write(address: str, content: bytes) -> None:
    with fsspec.open(address, "wb", auto_mkdir=True) as stream:
        stream.write(content)


def test_each_version_is_fetched_once_and_known_by_its_content(address: str, fetched: list[str]) -> None:
    write(address, b"one")
    first = Finding("x").file(address)
    assert first.path.read_bytes() == b"one"
    assert first.path.name == "a b.txt"
    assert first.name == address
    assert Finding("x").file(Path(address)) == first  # though a path has one slash
    assert len(fetched) == 1
    write(address, b"two")
    second = Finding("x").file(address)
    assert (second.path.read_bytes(), second.name) == (b"two", first.name)
    assert second.content != first.content
    assert first.path.read_bytes() == b"one"  # of which another run may be
    write(address, b"three")
    assert Finding("x").file(address).path.read_bytes() == b"three"
    assert not first.path.exists()
    run = Finding("x")
    before = run.file(address)
    write(address, b"four")
    assert run.file(address) == before  # all of a run reads one version
    assert len(fetched) == 3


@pytest.mark.parametrize("says", [("mtime", "size"), ("size",), ()])
def test_contents_of_one_second_are_told_apart(
    project: Path, tmp_path: Path, fetched: list[str], monkeypatch: pytest.MonkeyPatch, says: tuple[str, ...]
) -> None:
    """Also where a store says nothing of a file that changes with its content."""
    original, address = LocalFileSystem.info, f"file://{tmp_path}/x.txt"

    def info(files: LocalFileSystem, path: Any, **more: Any) -> dict[str, Any]:
        found = original(files, path, **more)
        return {name: int(each) for name, each in found.items() if name in says} | {"type": found["type"]}

    monkeypatch.setattr(LocalFileSystem, "info", info)
    for ago in (0, 60):
        written = int(time.time()) - ago
        for content in (b"one", b"two"):
            (tmp_path / "x.txt").write_bytes(content)
            os.utime(tmp_path / "x.txt", (written, written))
            if not ago:
                assert Finding("x").file(address).path.read_bytes() == content
        Finding("x").file(address)
    before = len(fetched)
    assert Finding("x").file(address).path.read_bytes() == b"two"
    assert len(fetched) == before + ("mtime" not in says)


def test_without_its_store_the_copy_counts(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(address, b"one")
    first = Finding("x").file(address)

    def down(*_: object, **__: object) -> None:
        raise ConnectionError("the network is down")

    for kind in (LocalFileSystem, MemoryFileSystem):
        monkeypatch.setattr(kind, "info", down)
    assert Finding("x").file(address) == first
    assert (
        "cannot be reached (ConnectionError: the network is down): the copy of 20" in capsys.readouterr().err
    )
    with pytest.raises(InputError, match="an input file cannot be reached") as refused:
        Finding("x").file(f"{address}.gz")
    assert "no copy is here" in str(refused.value)
    assert "ConnectionError: the network is down" in str(refused.value)


def test_a_store_that_does_not_answer_is_not_waited_for(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_files, "PATIENCE", 0.3)
    for kind in (LocalFileSystem, MemoryFileSystem):
        monkeypatch.setattr(kind, "info", lambda *_, **__: threading.Event().wait())
    with pytest.raises(InputError, match="no answer for 0 s"):
        Finding("x").file(address)


def test_what_is_no_file_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="an input file does not exist") as refused:
        Finding("x").file(address)
    assert address in str(refused.value)
    write(address, b"one")
    with pytest.raises(InputError, match="an input is not a file"):
        Finding("x").file(address.rpartition("/")[0])


def test_a_file_that_changes_while_it_is_fetched_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(address, b"one")
    original = remote_files.RemoteFiles.fetch

    def fetch(files: remote_files.RemoteFiles, path: str, file: Path) -> None:
        original(files, path, file)
        write(address, b"longer")

    monkeypatch.setattr(remote_files.RemoteFiles, "fetch", fetch)
    with pytest.raises(InputError, match="changes while it is fetched"):
        Finding("x").file(address)
    monkeypatch.undo()
    assert Finding("x").file(address).path.read_bytes() == b"longer"


def test_a_password_is_nowhere_to_be_seen(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files.RemoteFiles, "_place", lambda files: (fsspec.filesystem("memory"), "/d"))
    write("memory://d/x.txt", b"one")
    copy, name = local_copy("memory://me:secret@host/d/x.txt")
    assert name == "memory://host/d/x.txt"
    assert "secret" not in str(copy)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://bucket/a/b.npy", "s3://bucket/a/b.npy"),
        (Path("s3://bucket/a/b.npy"), "s3://bucket/a/b.npy"),
        (Path("file:///a/b"), "file:///a/b"),
        ("https://host:80/x?y=1", "https://host:80/x?y=1"),
        ("data/x.npy", ""),
        ("/data/s3:/x.npy", ""),
        ("c:/x.npy", ""),
    ],
)
def test_addresses_are_told_from_paths(path: str | Path, expected: str) -> None:
    assert address_of(path) == expected


def test_a_panel_file_may_name_an_address(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(address, b"one")
    protocol, _, place = address.partition("://")
    monkeypatch.setenv("PLACE", place)
    file = CsvInput(format="csv", file=f"{protocol}://${{PLACE}}").path(tmp_path / "panel.toml")
    assert Finding("x").file(file).name == address


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
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
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
