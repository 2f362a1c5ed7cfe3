"""What compose files say, and their commands as processes on this machine."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from source_tree import ROOT

DEPLOY = ROOT / "deploy"
MARK = "SHORTLOOP_TEST_CLUSTER"
START = re.compile(r"\$(?:(\$)|\{(\w+)(:-|:\?|\}))")


class MissingVariable(Exception):
    """A variable without which compose stops."""


def services_of(name: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """Services of a compose file, with variables put in."""
    import yaml

    said = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
    found: dict[str, Any] = filled(said, variables)["services"]
    return found


def filled(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, variables) for each in value]
    return substituted(value, variables) if isinstance(value, str) else value


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """A string with its variables put in, as compose does: `${A}`, `${A:-default}`, `${A:?message}`, `$$`."""
    found = START.search(text)
    if not found:
        return text
    before, rest = text[: found.start()], text[found.end() :]
    dollar, name, sign = found.groups()
    if dollar:
        return before + "$" + substituted(rest, variables)
    value = variables.get(name, "")
    if sign != "}":
        other, rest = up_to_its_brace(rest)
        if not value and sign == ":?":
            raise MissingVariable(f"{name}: {other}")
        value = value or substituted(other, variables)
    return before + value + substituted(rest, variables)


def up_to_its_brace(text: str) -> tuple[str, str]:
    depth = 1
    for place, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return text[:place], text[place + 1 :]
    raise ValueError(f"no closing brace: {text}")


def image_environment() -> dict[str, str]:
    """Variables that the image sets, but for those that say where things are in it."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    last = [line for line in text.splitlines() if line.startswith("ENV ")][-1]
    found = dict(pair.split("=", 1) for pair in shlex.split(last)[1:])
    return {name: value for name, value in found.items() if name not in ("PATH", "HOME", "USER", "LOGNAME")}


def free_port() -> int:
    """A port that nobody listens at, below those that the system gives to whoever asks for any."""
    taken = range(20_000, 30_000)
    start = (os.getpid() * 37 + time.monotonic_ns() // 1000) % len(taken)
    for port in (*taken[start:], *taken[:start]):
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")


def listens(host: str, port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((host, port)) == 0


def make_certificates(folder: Path, *hosts: str, options: Sequence[str] = ()) -> Path:
    done = subprocess.run(
        [DEPLOY / "certificates.sh", *options, folder, *hosts], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


class Machines:
    """Containers as processes of this machine: with the same commands and variables, without a container."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.started: dict[str, subprocess.Popen[bytes]] = {}

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        own = ("RAY_", "DASK_", "SHORTLOOP_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
        return {**kept, **image_environment(), "PATH": path, MARK: self.mark, **(more or {})}

    def start(self, name: str, service: Mapping[str, Any], more: Mapping[str, str] | None = None) -> None:
        environment = self.environment({**service.get("environment", {}), **(more or {})})
        with (self.folder / f"{name}.log").open("wb") as log:
            self.started[name] = subprocess.Popen(
                service["command"],
                cwd=service["working_dir"],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def is_healthy(self, service: Mapping[str, Any]) -> bool:
        first, *command = service["healthcheck"]["test"]
        assert first == "CMD"
        environment = self.environment(service.get("environment", {}))
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
        return done.returncode == 0

    def until(self, holds: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait, and say what the processes said when it is in vain."""
        end = time.monotonic() + seconds
        while not holds():
            ended = [name for name, process in self.started.items() if process.poll() is not None]
            assert not ended, f"{ended} ended\n{self.said()}"
            assert time.monotonic() < end, f"{what}: not within {seconds} s\n{self.said()}"
            time.sleep(0.2)

    def said(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {log.stem}\n{log.read_text(errors='replace')[-4000:]}" for log in logs)

    def stop(self, seconds: float = 30) -> set[str]:
        """Ask all to end, the last one first; what did not and had to be killed."""
        for process in reversed(self.started.values()):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds / 3)
        end = time.monotonic() + seconds
        while (left := self.left()) and time.monotonic() < end:
            for process in self.started.values():
                process.poll()
            time.sleep(0.1)
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        for process in self.started.values():
            process.wait(10)
        return set(left.values())

    def left(self) -> dict[int, str]:
        """Processes that came from what was started here: they have its mark in their environment."""
        mark = f"{MARK}={self.mark}".encode()
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        return found


@contextlib.contextmanager
def machines(folder: Path) -> Iterator[Machines]:
    """Machines whose processes all end; fails where one did not by itself."""
    made = Machines(folder)
    try:
        yield made
    except BaseException:
        made.stop()
        raise
    left = made.stop()
    assert left == set(), f"these had to be killed: {left}\n{made.said()}"
