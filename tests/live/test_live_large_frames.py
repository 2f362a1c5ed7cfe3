"""Units that are rows of a large frame: no worker holds the whole frame, and every bit is as on slices."""

from __future__ import annotations

import os
import tempfile
from typing import Any, ClassVar

import pytest
from engine_project import EngineProject
from live_project import fixture_of, script, stages

pytestmark = pytest.mark.slow  # tests/units/test_shared_units.py has smaller ones
ENGINES = ["joblib", "dask", "ray"]
ROWS, COLUMNS = 400_000, 7
FRAME = 8 * ROWS * (COLUMNS + 1)  # bytes of numbers, beside texts
LIBRARIES = 60e6  # bytes

PANEL = f"""\
from shortloop import stage


@stage
def panel():
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(3)
    frame = pd.DataFrame({{f"x{{number}}": rng.standard_normal({ROWS}) for number in range({COLUMNS})}})
    frame["firm"] = rng.integers(0, 60, {ROWS})
    frame["kind"] = pd.Categorical.from_codes(rng.integers(0, 2, {ROWS}), ["a", "b", "none"])
    frame["text"] = np.array(["some", "text"])[rng.integers(0, 2, {ROWS})]
    return {{"rows": frame}}
"""
METHODS = stages("""\
# by_pandas
def firms(panel: Job):
    return panel["rows"].groupby("firm")


@stage(units=firms)
def by_pandas(rows, unit: str):
    import numpy as np

    from tools.memory import note

    note("by_pandas")
    found = rows[["x0", "x1"]].to_numpy().T @ rows[["x2", "x3", "x4"]].to_numpy()
    rows["x5"] += 1  # its own
    means = rows.groupby(["kind", "text"], observed=False)[["x5", "x6"]].mean().reset_index()
    return {"products": found, "sum": rows["x5"].sum(), "means": means, "who": f"{unit}"}

# by_polars
def firms(panel: Job):
    import polars as pl

    frame = pl.from_pandas(panel["rows"])
    return {name: rows for (name,), rows in frame.sort("x0").group_by("firm", maintain_order=True)}


@stage(units=firms)
def by_polars(rows):
    from tools.memory import note

    note("by_polars")
    return {"sums": rows.select("x0", "x1").sum(), "product": (rows["x2"] * rows["x3"]).sum()}

# by_state
SCALE = {}


def firms(panel: Job):
    rows = panel["rows"]
    SCALE["mean"] = rows["x1"].mean()
    return rows.groupby("firm")


@stage(units=firms)
def by_state(rows):
    return {"scaled": rows["x1"].sum() * SCALE["mean"]}
""")
MEMORY = """\
import os
from pathlib import Path


def note(stage):
    said = Path("/proc/self/status").read_text()
    private = next(line for line in said.splitlines() if line.startswith("RssAnon"))
    with (Path(os.environ["FAULTS"]) / f"memory-{stage}").open("a") as stream:
        stream.write(f"{os.getpid()} {1024 * int(private.split()[1])}\\n")
"""
SCRIPT = script("""
panel = run.build("panel")
for name in ("by_pandas", "by_polars", "by_state"):
    last = run.build(name, panel=panel)
return last
""")
STAGES = ("by_pandas", "by_polars", "by_state")


class LargeProject(EngineProject):
    sources: ClassVar = {
        **EngineProject.sources,
        **METHODS,
        "methods/a_panel.py": PANEL,
        "tools/memory.py": MEMORY,
        "build_scripts/build_large.py": SCRIPT,
    }

    def prepare(self) -> None:
        self.works("run", "large")
        self.first = [*self.jobs()]

    def memory(self, stage: str) -> dict[str, int]:
        """The most that each process of a stage had, in bytes."""
        found: dict[str, int] = {}
        for line in (self.faults / f"memory-{stage}").read_text().splitlines():
            process, used = line.split()
            found[process] = max(found.get(process, 0), int(used))
        return found


project = fixture_of(LargeProject)


def left_by(project: LargeProject, jobs: set[str]) -> dict[str, dict[str, Any]]:
    known = project.jobs()
    return {known[job]["parts"]["method"]: {"bytes": project.files(job), **known[job]} for job in jobs}


@pytest.mark.parametrize("engine", ENGINES)
def test_no_worker_holds_the_whole_frame(project: LargeProject, engine: str) -> None:
    project.mend()
    before = {*project.jobs()}
    forced = [word for stage in STAGES for word in ("--force", stage)]
    project.works("run", "large", *forced, SHORTLOOP_ENGINE=engine)
    first, now = left_by(project, {*project.first}), left_by(project, {*project.jobs()} - before)
    assert now.keys() == {f"methods.{stage}" for stage in STAGES}
    for name, found in now.items():
        assert found["bytes"] == first[name]["bytes"], name
        assert (found["key"], found["content"]) == (first[name]["key"], first[name]["content"]), name
    for stage in ("by_pandas", "by_polars"):
        used = project.memory(stage)
        assert 1 <= len(used) <= 2
        assert max(used.values()) - LIBRARIES < 2 * FRAME, used  # it was 4.4 frames
    assert not [
        name for name in os.listdir(tempfile.gettempdir()) if name == f"shortloop-units-{os.geteuid()}"
    ]
