"""A project in a folder, run from the shell as a user runs it, and what each run took."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self

from shortloop.frames.measure import cpu_seconds, memory

ROOT = Path(__file__).resolve().parents[1]
BINARIES = Path(sys.executable).parent
AX = str(BINARIES / "ax")
FOLDERS = ("shortloop", "methods", "build_scripts", "dev")
Watch = Literal["", "memory", "processor"]
SAMPLED = 0.2  # s between samples
GRACE = 15  # s that a process has to end what it started


def user_environment() -> dict[str, str]:
    """The environment, without what this process or a test set for itself."""
    ours = ("SHORTLOOP_", "NUMBA_CACHE_LOCATOR", "PYTHONDONTWRITEBYTECODE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours) and not k.endswith("_NUM_THREADS")}
    return {"USER": "benchmark", **kept}


def end(process: subprocess.Popen[Any]) -> None:
    """End a process that leads a session, and what it started there."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            process.send_signal(sent)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
            break
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class Project:
    """A project in a folder, with the commands of an environment."""

    def __init__(self, folder: Path, binaries: Path = BINARIES, **variables: str) -> None:
        self.folder = folder
        self.binaries = binaries
        self.study = folder / "study.toml"
        self._variables = variables
        self._server: subprocess.Popen[bytes] | None = None

    def forget(self) -> None:
        """Empty the workdir and all caches, so that the next run is a cold one."""
        for name in ("workdirs", "results", "urd.db", ".socket.dir"):
            if (self.folder / name).exists():
                shutil.rmtree(self.folder / name)

    @contextmanager
    def server(self, slices: int | None) -> Iterator[None]:
        """Have an exax server run."""
        self.start(slices)
        try:
            yield
        finally:
            self.stop()

    def start(self, slices: int | None = None) -> None:
        """Start the server and wait until it answers; as of `server`."""
        log = self.folder / "server.log"
        with log.open("wb") as stream:
            self._server = self._popen([str(self.binaries / "ax"), "server"], slices, stream)
        asked = [str(self.binaries / "ax"), "status"]
        environment = self._environment(slices)
        while subprocess.run(
            asked, cwd=self.folder, env=environment, capture_output=True, check=False
        ).returncode:
            if self._server.poll() is not None:
                raise RuntimeError(log.read_text(encoding="utf-8"))
            time.sleep(0.1)

    def stop(self) -> None:
        """End the server, which ends its own children."""
        if self._server is not None:
            end(self._server)
            self._server = None

    def run(self, *command: str, slices: int | None = None, watch: Watch = "") -> dict[str, Any]:
        """Run a command of the environment in the folder."""
        with (self.folder / "output.log").open("w+b") as log:
            before = self.processor()
            began = time.perf_counter()
            process = self._popen([str(self.binaries / command[0]), *command[1:]], slices, log)
            try:
                with _watched(watch, [process, self._server]) as samples:
                    _, status, used = os.wait4(process.pid, 0)
                    seconds = time.perf_counter() - began
                    process.returncode = os.waitstatus_to_exitcode(status)
            except BaseException:
                end(process)
                raise
            if process.returncode != 0:
                log.seek(0)
                raise RuntimeError(f"{' '.join(command)}: {log.read()[-4000:].decode(errors='replace')}")
        processor = used.ru_utime + used.ru_stime + self.processor() - before
        return {"seconds": seconds, "processor": processor, **({"samples": samples} if watch else {})}

    def processor(self) -> float:
        """Processor seconds of the server so far, and of all that it started."""
        return 0.0 if self._server is None else cpu_seconds(self._server.pid)

    def built(self) -> list[dict[str, Any]]:
        """Jobs that the last run built, as its summary lists them, with ``folder``."""
        (file,) = (self.folder / "results").glob("*/summary.json")
        jobs = json.loads(file.read_text(encoding="utf-8"))["jobs"]
        return [{**job, "folder": self._job(job["job"])} for job in jobs if job["built"]]

    def _job(self, job: str) -> Path:
        return self.folder / "workdirs" / job.rpartition("-")[0] / job

    def _phases(self, job: str) -> dict[str, float]:
        spent = json.loads((self._job(job) / "post.json").read_text(encoding="utf-8"))["exectime"]
        return {name: spent[name] for name in ("prepare", "analysis", "synthesis", "total")}

    def _environment(self, slices: int | None) -> dict[str, str]:
        found = {**user_environment(), "STUDY": str(self.study), **self._variables}
        return found if slices is None else {**found, "SHORTLOOP_SLICES": str(slices)}

    def _popen(self, command: list[str], slices: int | None, log: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self._environment(slices),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


class ProjectCopy(Project):
    """The files of this project in a new folder; what was compiled from them comes along."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        if folder.exists():
            shutil.rmtree(folder)
        for name in FOLDERS:
            shutil.copytree(ROOT / name, folder / name)  # keeps times, by which compiled code is valid
        shutil.copy(ROOT / "accelerator.conf", folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        shutil.rmtree(self.folder)


@contextmanager
def _watched(
    watch: Watch, processes: list[subprocess.Popen[bytes] | None]
) -> Iterator[list[tuple[float, float]]]:
    """Time and what is watched, of all processes and what they started, until the end."""
    samples: list[tuple[float, float]] = []
    there = [each.pid for each in processes if each is not None]
    over = threading.Event()

    def sample() -> None:
        while not over.wait(SAMPLED):
            if watch == "memory":
                found = sum(memory(each) or 0 for each in there) / 2**20
            else:
                found = sum(map(cpu_seconds, there))
            samples.append((time.time(), found))

    thread = threading.Thread(target=sample)
    if watch:
        thread.start()
    try:
        yield samples
    finally:
        over.set()
        if watch:
            thread.join()
