"""What jobs of a real server cost is measured as it is, and kept with them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, ClassVar

import pytest
from live_project import EmptyProject, fixture_of

from shortloop.keys.code import EXTRA_CODE

MB = 2**20

METHOD = f"""\
import os
import time

options = {{"burn": 0.0, "units": 0, "shared": 0, "own": 0, "write": 0}}


def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def prepare():
    from shortloop.units.queue import Units

    burn(options["burn"])
    units = range(options["units"])
    return bytearray(b"x") * (options["shared"] * {MB}), Units([1.0] * len(units), units)


def analysis(sliceno, prepare_res):
    shared, units = prepare_res
    own = bytearray(b"x") * (options["own"] * {MB})
    burn(options["burn"])
    for _ in units.batches():
        time.sleep(0.02)
    time.sleep(1.5 if own else 0)


def synthesis():
    from shortloop.stages.records import write_record

    burn(options["burn"])
    with open("file", "wb") as stream:
        stream.write(bytes(options["write"] * {MB}))
    write_record("hog", None, {{}})
    share = open(".progress").read().split()[0]
    assert float(share) == bool(options["units"])
"""
SCRIPT = """\
from shortloop.run.executor import run_pipeline

CASES = {"idle": {}, "busy": {"burn": 0.25}, "big": {"shared": 60, "own": 30}, "writer": {"write": 40}}
CASES["units"] = {"units": 20}


def main(urd):
    return run_pipeline(urd, pipeline, name="hogs")


def pipeline(run):
    for name, options in CASES.items():
        last = run.build("hog", **options)
    return last
"""


class CostProject(EmptyProject):
    sources: ClassVar = {"methods/a_hog.py": METHOD, "build_scripts/build_hogs.py": SCRIPT}


project = fixture_of(CostProject)


@pytest.fixture(scope="module")
def folders(project: CostProject) -> dict[str, Path]:
    """The folder of each job, by what it does."""
    assert project.run("hogs")  # the last of them, as they have one stage
    assert "0 jobs built, 5 reused" in project.ax("run", "hogs").stdout
    names = ("idle", "busy", "big", "writer", "units")
    return {name: project.job_folder(f"main-{number}") for number, name in enumerate(names, 1)}


def cost(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return dict(manifest["cost"])


def test_costs_are_of_all_phases_and_slices_together(folders: dict[str, Path]) -> None:
    busy = cost(folders["busy"])
    assert 1.0 <= busy["cpu_seconds"] < 1.4
    cores = min(2, len(os.sched_getaffinity(0)))
    # exax's own time for starting the job is in the one and not in the other.
    assert 0 < busy["utilisation"] <= 1.01 * busy["cpu_seconds"] / (busy["seconds"] * cores)
    assert 120 * MB < cost(folders["big"])["peak_bytes"] < 165 * MB
    idle, writer = cost(folders["idle"]), cost(folders["writer"])
    assert 40 * MB <= writer["written_bytes"] < 40.5 * MB
    assert idle["written_bytes"] < 0.5 * MB
    assert writer["bytes"] - idle["bytes"] == pytest.approx(40 * MB, abs=1000)


def test_the_note_on_progress_is_gone_when_the_job_is_done(folders: dict[str, Path]) -> None:
    left = [path.name for folder in folders.values() for path in folder.iterdir()]
    assert {name for name in left if name.startswith(".")} <= {EXTRA_CODE}
    post = json.loads((folders["units"] / "post.json").read_text(encoding="utf-8"))
    assert post["files"] == ["file", "record.json"]
