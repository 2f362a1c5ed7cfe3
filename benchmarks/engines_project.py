"""A project whose jobs are asked for by name and options, on any engine, and the seconds that they take."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.project import AX, ROOT, ProjectCopy
from shortloop.keys.file_state import SETTLED_NS
from shortloop.settings.engine import ENGINE_VARIABLE

ENGINES = {
    "slices": "",
    "joblib": "joblib",
    "joblib:threading": "joblib",
    "dask": "distributed",
    "ray": "ray",
}
"""Library that each engine needs, as it is imported."""
ASKED = "SHORTLOOP_BENCHMARK_JOBS"
MODULES = ("__init__", "engines_decode", "engines_spin", "ours", "thesis_data")

METHOD = '''\
"""Units of work."""

from benchmarks.engines_{name} import {stage}
from shortloop.exax.method import exax_method

globals().update(exax_method({stage}, __file__))
'''
FIT = '''\
"""A regression for each of many groups."""

from shortloop import stage


def groups(count: int, number: int):
    """The units: columns of numbers."""
    import numpy as np

    rng = np.random.default_rng(number)
    for group in range(count):
        yield f"g{group}", rng.standard_normal((40, 4))


@stage(units=groups)
def fit(values):
    """Least squares of one group."""
    import numpy as np

    found = np.linalg.lstsq(values[:, 1:], values[:, 0])[0]
    return {"slope": float(found[0])}
'''
SCRIPT = '''\
"""Jobs that the environment lists."""

import json
import os

from shortloop import pipeline


@pipeline
def main(run):
    """Build one after the other."""
    for stage, options in json.loads(os.environ["SHORTLOOP_BENCHMARK_JOBS"]):
        if "file" in options:
            options["file"] = run.file(options["file"])
        last = run.build(stage, **options)
        last.result()  # the next one is not known before, so none of its units is computed early
    return last
'''


class Job(NamedTuple):
    """A job that was built.

    seconds: from when the server began it to when it was done.
    folder: with what it left.
    """

    seconds: float
    folder: Path


class EngineProject(ProjectCopy):
    """The project with stages of the benchmark's own, and a server with as many slices as are asked for.

    folder: must not exist; short enough for the path of a Unix socket.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in ("methods", "build_scripts", "dev"):
            for file in (folder / name).glob("*.py"):
                if file.name != "__init__.py":
                    file.unlink()
        (folder / "benchmarks").mkdir()
        for name in MODULES:
            text = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
            (folder / "benchmarks" / f"{name}.py").write_text(text, encoding="utf-8")
        methods = {
            "spin": METHOD.format(name="spin", stage="Spin"),
            "decode": METHOD.format(name="decode", stage="Decode"),
            "fit": FIT,
        }
        for name, text in methods.items():
            (folder / "methods" / f"a_{name}.py").write_text(text, encoding="utf-8")
        (folder / "build_scripts" / "build_bench.py").write_text(SCRIPT, encoding="utf-8")
        # As old as a user's: a file that changed a moment ago is read again whenever it counts.
        time.sleep(SETTLED_NS / 1e9)
        self._slices = 0
        self._number = 0

    def build(self, engine: str, workers: int, jobs: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Job]:
        """Build jobs in one run of a pipeline, which starts the engine and ends it."""
        self._serve(workers)
        asked = []
        for stage, options in jobs:
            self._number += 1
            asked.append((stage, {**options, "number": self._number}))
        done = subprocess.run(
            [AX, "run", "bench"],
            cwd=self.folder,
            env={**self._environment(workers), ENGINE_VARIABLE: engine, ASKED: json.dumps(asked)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{engine}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        file = self.folder / "results" / "bench" / "summary.json"
        found = json.loads(file.read_text(encoding="utf-8"))["jobs"]
        if [(job["stage"], job["built"]) for job in found] != [(stage, True) for stage, _ in jobs]:
            raise RuntimeError(f"{engine}: other jobs were built than were asked for: {found}")
        return [self._built(engine, workers, job["job"]) for job in found]

    def _built(self, engine: str, workers: int, job: str) -> Job:
        folder = self._job(job)
        said = json.loads((folder / "record.json").read_text(encoding="utf-8")).get("engine", {})
        used = (said.get("name", "slices"), said.get("workers", workers))
        if used != (engine.partition(":")[0], workers):
            raise RuntimeError(f"{job} was computed by {used}, not by {engine} with {workers} workers")
        return Job(self._phases(job)["total"], folder)

    def _serve(self, slices: int) -> None:
        if slices != self._slices:
            self.stop()
            self.forget()  # arrays of many jobs fill a disk
            self.start(slices)
            self._slices = slices

    def _environment(self, slices: int | None) -> dict[str, str]:
        kept = super()._environment(slices)
        kept.pop(ENGINE_VARIABLE, None)
        # The library and the benchmark are the copy's.
        return {**kept, "PYTHONPATH": str(self.folder)}
