"""A chain of toy jobs as a project in a folder, run by a tool's own command, and what each run must do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from benchmarks.chains_tools import Tool
from benchmarks.measure import seconds_of
from benchmarks.project import user_environment

CASES = ("cold", "unchanged", "last job changed")
COLD, UNCHANGED, LAST = CASES
SETTLED = 2.5  # s after which a file no longer counts as being edited
TIMEOUT_SECONDS = 3600


class Chain(ABC):
    """What projects of all tools have in common.

    folder: is made by `forget`.
    name: what the tool is called in results.
    jobs: length of the chain.
    binaries: folder of the tool's commands.
    """

    command: tuple[str, ...]

    def __init__(self, folder: Path, name: str, jobs: int, binaries: Path) -> None:
        self.folder = folder
        self.name = name
        self.jobs = jobs
        self._binaries = binaries
        self._last = 1

    def __enter__(self) -> Chain:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @abstractmethod
    def write(self) -> None:
        """Write the project's files into its folder, which is there and empty."""

    def start(self) -> None:  # noqa: B027
        """Start what is running before a user begins; nothing for most tools."""

    def stop(self) -> None:  # noqa: B027
        """End what `start` started."""

    def works(self) -> dict[tuple[str, str], Callable[[int], float]]:
        """What can be measured once the first of them, a cold run, was done."""
        return {(self.name, case): lambda run, case=case: self.seconds(case) for case in CASES}  # type: ignore[misc]

    def seconds(self, case: str, command: tuple[str, ...] = ()) -> float:
        """Bring the project into the state that a case begins with, run it, check what it did."""
        if case == COLD:
            self.forget()
        if case == LAST:
            self._last += 1
        self._write_settings()
        seconds = seconds_of(lambda: self.shell(*(command or self.command)))
        self._check(case)
        return seconds

    def forget(self) -> None:
        """Start anew, with nothing computed."""
        self.stop()
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True)
        self._write_settings()
        self.write()
        time.sleep(SETTLED)
        self.start()

    def shell(self, *command: str) -> None:
        """Run a command in the project's folder."""
        with (self.folder / "output.log").open("w+", encoding="utf-8") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            watch = threading.Timer(TIMEOUT_SECONDS, process.kill)  # Python's own way looks every 50 ms
            watch.start()
            status = process.wait()
            watch.cancel()
            if status != 0:
                log.seek(0)
                raise RuntimeError(f"{self.name}: {' '.join(command)}: {log.read()[-2000:]}")

    def environment(self) -> dict[str, str]:
        """The user's environment, with the tool's commands first and nobody told of their use."""
        kept = user_environment()
        caches = str(self.folder / ".caches")
        return {
            **kept,
            "PATH": f"{self._binaries}:{kept.get('PATH', os.defpath)}",
            "XDG_CACHE_HOME": caches,
            "DVC_SITE_CACHE_DIR": caches,
            "DVC_NO_ANALYTICS": "1",
            "HAMILTON_TELEMETRY_ENABLED": "false",
        }

    def _write_settings(self) -> None:
        settings = {"jobs": self.jobs, "last": self._last}
        text = json.dumps(settings) + "\n"
        file = self.folder / "settings.json"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")

    def _check(self, case: str) -> None:
        file = self.folder / "ran"
        ran = file.read_text(encoding="utf-8").split() if file.exists() else []
        file.unlink(missing_ok=True)
        expected = {COLD: self.jobs, UNCHANGED: 0, LAST: 1}[case]
        if len(ran) != expected:
            raise RuntimeError(f"{self.name}, {case}: {len(ran)} jobs ran, not {expected}")
        if ran and int(ran[-1]) != self.jobs - 1 + self._last:
            raise RuntimeError(f"{self.name}, {case}: the last job made {ran[-1]}")


class ChainProject(Chain):
    """A chain in one of the tools that are a command and nothing else."""

    def __init__(self, folder: Path, name: str, jobs: int, binaries: Path, tool: Tool) -> None:
        super().__init__(folder, name, jobs, binaries)
        self._tool = tool
        self.command = tool.command

    def write(self) -> None:
        """Write the project's files into its folder, which is there and empty."""
        (self.folder / "out").mkdir()
        (self.folder / "start").write_text("0\n", encoding="utf-8")
        for name, text in {**self._tool.files, **self._tool.stages(self.jobs)}.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        if self._tool.setup:
            self.shell(*self._tool.setup)
