"""A copy of the project with a workdir of its own, run from the shell as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from benchmarks.memory import Watch

__all__ = ["ProjectCopy"]

ROOT = Path(__file__).resolve().parents[1]
AX = str(Path(sys.executable).with_name("ax"))
FOLDERS = ("shortloop", "methods", "build_scripts", "dev")

WARM_UP = """\
name = "warm-up"
participants = ["A", "B", "C"]
classes = ["left", "right"]
phases = {train = "study", decode = "test"}
input = {format = "simulated", channels = 8, trials = 24}
features.amplitude = {bins = 6, bin_samples = 20}
permutations = {count = 39}
"""


class ProjectCopy:
    """The project's files in a new folder; what was compiled from them comes along.

    Parameters
    ----------
    folder : Path
        What is left there of a benchmark that was interrupted goes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists():
            shutil.rmtree(folder)
        for name in FOLDERS:
            shutil.copytree(ROOT / name, folder / name)  # keeps times, by which compiled code is valid
        shutil.copy(ROOT / "accelerator.conf", folder)
        self.study = folder / "study.toml"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.folder)

    def warm_up(self) -> None:
        """Run a small study and forget its results: libraries are then compiled and in the page cache."""
        self.study.write_text(WARM_UP, encoding="utf-8")
        self.run(None)
        self.forget()

    def forget(self) -> None:
        """Empty the workdir and all caches, so that the next run is a cold one."""
        for name in ("workdirs", "results", "urd.db", ".socket.dir"):
            if (self.folder / name).exists():
                shutil.rmtree(self.folder / name)

    @contextmanager
    def server(self, slices: int | None) -> Iterator[None]:
        """A running exax server.

        Parameters
        ----------
        slices : int or None
            Worker processes; None: as many as cores.

        Raises
        ------
        RuntimeError
            If it ends; its output is the message.
        """
        log = self.folder / "server.log"
        with log.open("w", encoding="utf-8") as stream:
            server = subprocess.Popen(
                [AX, "server"],
                cwd=self.folder,
                env=self._environment(slices),
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        try:
            asked = [AX, "status"]
            while subprocess.run(asked, cwd=self.folder, capture_output=True, check=False).returncode != 0:
                if server.poll() is not None:
                    raise RuntimeError(log.read_text(encoding="utf-8"))
                time.sleep(0.1)
            yield
        finally:
            server.terminate()
            server.wait()

    def ax_run(self) -> dict[str, Any]:
        """`ax run build_pipeline` on the study file, on a running server.

        Returns
        -------
        dict
            The run's summary, with ``command_seconds`` and ``phases``: seconds of each job that was built, by
            ``prepare``, ``analysis`` and ``synthesis``.

        Raises
        ------
        RuntimeError
            If the run fails; its output is the message.
        """
        return self._timed([AX, "run", "build_pipeline"], None, False)

    def run(self, slices: int | None, watch: bool = False) -> dict[str, Any]:
        """`shortloop run` on the study file, which starts a server and ends it.

        Parameters
        ----------
        slices : int or None
            Worker processes; None: as many as cores.
        watch : bool, default False
            Sample the memory of all processes meanwhile.

        Returns
        -------
        dict
            As of `ax_run`, and ``memory`` when watched.

        Raises
        ------
        RuntimeError
            If the run fails; its output is the message.
        """
        return self._timed([sys.executable, "-m", "shortloop", "run"], slices, watch)

    def _environment(self, slices: int | None) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
        kept.pop("SHORTLOOP_SLICES", None)
        if slices is not None:
            kept["SHORTLOOP_SLICES"] = str(slices)
        return {"USER": "benchmark", **kept, "STUDY": str(self.study)}

    def _timed(self, command: list[str], slices: int | None, watch: bool) -> dict[str, Any]:
        with (self.folder / "output.log").open("w+", encoding="utf-8") as log:
            start = time.perf_counter()
            process = subprocess.Popen(
                command, cwd=self.folder, env=self._environment(slices), stdout=log, stderr=log
            )
            memory = None
            if watch:
                with Watch(process.pid) as watched:
                    process.wait()
                memory = watched.peak
            else:
                process.wait()
            seconds = time.perf_counter() - start
            if process.returncode != 0:
                log.seek(0)
                raise RuntimeError(log.read())
        (file,) = (self.folder / "results").glob("*/summary.json")
        summary: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        built = [job for job in summary["jobs"] if job["built"]]
        return {
            **summary,
            "command_seconds": seconds,
            "phases": [{"stage": job["stage"], **self._phases(job["job"])} for job in built],
            "memory": memory,
        }

    def _phases(self, job: str) -> dict[str, float]:
        folder = self.folder / "workdirs" / job.rpartition("-")[0] / job
        spent = json.loads((folder / "post.json").read_text(encoding="utf-8"))["exectime"]
        return {name: spent[name] for name in ("prepare", "analysis", "synthesis", "total")}
