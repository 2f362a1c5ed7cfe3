"""A board without a socket: what it answers to a request; and runs as their records and folders have them."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote_to_bytes

from jobs_project import make_job

from shortloop.board.server import Board, Guard

PORT = 8123
TOKEN = "a-token"
HOST = f"127.0.0.1:{PORT}"
BEGAN = 1_700_000_000.0


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode()

    @property
    def words(self) -> str:
        """The text of a page."""
        return " ".join(re.sub(r"<[^>]*>", " ", self.text).split())


class Client:
    """Somebody who asks a board of the project in the current folder."""

    def __init__(self) -> None:
        self.guard = Guard(Board().app(), TOKEN)
        self.guard.port = PORT
        self.cookie = f"{self.guard.cookie}={TOKEN}"

    def get(self, address: str, method: str = "GET", **headers: str) -> Answer:
        """Ask with the cookie and the right name of the host, unless headers say otherwise."""
        path, _, query = address.partition("?")
        said: dict[str, Any] = {}

        def start(status: str, given: list[tuple[str, str]], *error: Any) -> None:
            names = [name for name, _ in given]
            assert len(names) == len({*names}), names
            said.update(status=int(status[:3]), headers=dict(given))

        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(PORT),
            "wsgi.input": BytesIO(),
            "wsgi.errors": StringIO(),
            "wsgi.url_scheme": "http",
            **{
                f"HTTP_{name}": value
                for name, value in {"HOST": HOST, "COOKIE": self.cookie, **headers}.items()
            },
        }
        body = self.guard(environ, cast("Any", start))
        data = b"".join(body)
        if hasattr(body, "close"):
            body.close()
        return Answer(said["status"], said["headers"], data)


def write_run(project: Path, number: int, **fields: Any) -> Path:
    """The record of a run that has ended, or of one that has not, which is locked by whoever lives."""
    folder = project / "workdirs" / ".runs"
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "format": 1,
        "script": "build_toy",
        "pipeline": "build_toy",
        "settings": "",
        "file": "",
        "text": "",
        "part": "",
        "began": BEGAN,
        "script_job": "main-0",
        "exit": 0,
        "seconds": 60.0,
        "error": "",
        "jobs": [],
        "utilisation": None,
        **fields,
    }
    file = folder / f"{number:05d}.json"
    file.write_text(json.dumps(record), encoding="ascii")
    return file


def write_plan(project: Path, number: int, jobs: list[list[Any]], edges: list[list[str]]) -> None:
    """What a run is going to build: stage, partition, job, plan, reason and seconds of each job."""
    file = project / "workdirs" / ".runs" / f".{number:05d}.plan"
    file.write_text(json.dumps({"jobs": jobs, "edges": edges}), encoding="ascii")


def begun_job(project: Path, job: str, stage: str, partition: str, *, age: float = 10.0, **more: Any) -> Path:
    """A job of the script's job main-0, begun some seconds after the run."""
    folder = make_job(project, job, method=stage, options={"partition": partition}, **more)
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    setup |= {"parent": "main-0", "starttime": BEGAN + age, "endtime": BEGAN + age + 1.5}
    if not (folder / "post.json").exists():
        for name in ("starttime", "endtime", "exectime"):
            del setup[name]
    (folder / "setup.json").write_text(json.dumps(setup), encoding="utf-8")
    os.utime(folder / "setup.json", (BEGAN + age, BEGAN + age))
    return folder
