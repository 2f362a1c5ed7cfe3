"""Where the time of a toy job goes: the same chain, whose build script measures what this library does."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.chains_exax import ShortloopChain

JOBS = 200
PARTS = {
    "plan": "looking through the pipeline before the first job",
    "key": "code, options and content of inputs, before and after the job",
    "look-up": "whether a job is there, and why it is built",
    "fork": "exax: the request, its server, forks, and the end of the job's processes",
    "job": "in the job's process, from `prepare` or `synthesis` on, as exax says",
    "evidence": "what its processes loaded and read, against the key",
    "seal": "sizes and hashes of what it left",
    "other": "all else of a run, progress and the wait for the background at the end",
    "manifest, in the background": "writing it",
    "fsync, in the background": "of what the job left, of the manifest, of the folders",
    "index, in the background": "its row",
}
"""What is measured, and what is in it."""

# Each part without those that are called on the way.
TIMING = """

import os
import threading
import time
from collections import defaultdict

from shortloop.run import executor
from shortloop.run import build_job
from shortloop.exax import client
from shortloop.plan.planner import Lookup
from shortloop.plan.planner import Planner
from shortloop.plan.request import Request
from shortloop.store import store
from shortloop.store.index import Index

spent = defaultdict(float)
below = threading.local()


def timed(owner, name, part):
    original = getattr(owner, name)

    def wrapped(*arguments, **more):
        outer, below.seconds = getattr(below, "seconds", 0.0), 0.0
        started = time.perf_counter()
        try:
            return original(*arguments, **more)
        finally:
            seconds = time.perf_counter() - started
            spent[part] += seconds - below.seconds
            below.seconds = outer + seconds

    setattr(owner, name, wrapped)


untimed, fsync = main, os.fsync
timed(Planner, "build", "plan")
timed(Request, "parts", "key")
timed(build_job.Order, "code", "key")
timed(client, "is_loaded_as_now", "key")
timed(Lookup, "request", "key")
timed(Lookup, "find", "look-up")
timed(Lookup, "reason", "look-up")
timed(client, "build", "fork")
timed(build_job, "evidence_of", "evidence")
timed(build_job, "_manifest", "seal")
timed(store, "write_manifest", "manifest, in the background")
timed(os, "fsync", "fsync, in the background")
timed(Index, "insert", "index, in the background")


def main(urd):
    started = time.perf_counter()
    status = untimed(urd)
    there = {"seconds": time.perf_counter() - started, **spent}
    (Path(__file__).parents[1] / "parts.json").write_text(json.dumps(there))
    return status
"""


class _TimedChain(ShortloopChain):
    def write(self) -> None:
        super().write()
        with (self.folder / "build_scripts" / "build_chain.py").open("a", encoding="utf-8") as script:
            script.write(TIMING)


def measure_parts(runs: int, jobs: int = JOBS) -> dict[str, Any]:
    """Measure what each job of a chain costs, built for the first time."""
    found: dict[str, list[float]] = {part: [] for part in PARTS}
    with (  # the path of a server's socket must be short
        tempfile.TemporaryDirectory(prefix="sl-") as folder,
        _TimedChain(Path(folder) / "ours", "parts", jobs) as chain,
    ):
        for _ in range(runs):
            chain.seconds("cold")
            for part, seconds in _parts_of(chain.folder).items():
                found[part].append(1000 * seconds / jobs)
    return {"jobs": jobs, "ms": found}


def _parts_of(project: Path) -> dict[str, float]:
    spent: dict[str, float] = json.loads((project / "parts.json").read_text(encoding="utf-8"))
    setups = [
        json.loads(file.read_text(encoding="utf-8"))
        for file in project.glob("workdirs/main/main-[0-9]*/setup.json")
    ]
    spent["job"] = sum(each["exectime"]["total"] for each in setups if each["method"] == "toy")
    spent["fork"] -= spent["job"]
    run = spent.pop("seconds")
    spent["other"] = run - sum(seconds for part, seconds in spent.items() if "background" not in part)
    return {part: spent.get(part, 0.0) for part in PARTS}


def table_of_parts(measured: dict[str, Any]) -> dict[str, Any]:
    """What was measured, as a table of the benchmark's page."""
    return {
        "title": "Where the time of a toy job goes",
        "columns": ["part", "ms a job", "what it is"],
        "rows": [[part, f"{statistics.median(ms):.1f}", PARTS[part]] for part, ms in measured["ms"].items()],
        "note": f"A chain of {measured['jobs']} jobs, built for the first time on a running server.",
    }
