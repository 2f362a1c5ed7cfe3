"""Units that are rows of a large frame: no worker holds the whole frame, and every bit is as on slices."""

from __future__ import annotations

import os
import tempfile
from typing import ClassVar

import pytest
from engine_project import EngineProject
from live_project import fixture_of, script, stages

pytestmark = pytest.mark.slow  # tests/units/test_shared_units.py has smaller ones, of all kinds
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
return run.build("by_pandas", panel=run.build("panel"))
""")


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


@pytest.mark.parametrize("engine", ENGINES)
def test_no_worker_holds_the_whole_frame(project: LargeProject, engine: str) -> None:
    project.mend()
    before = {*project.jobs()}
    project.works("run", "large", "--force", "by_pandas", SHORTLOOP_ENGINE=engine)
    (job,) = {*project.jobs()} - before
    first = project.by_place(project.first)["methods.by_pandas", None]
    assert project.files(job) == project.files(first)
    assert project.same_jobs(job, first)
    used = project.memory("by_pandas")
    assert 1 <= len(used) <= 2
    assert max(used.values()) - LIBRARIES < 2 * FRAME, used  # it was 4.4 frames
    assert f"shortloop-units-{os.geteuid()}" not in os.listdir(tempfile.gettempdir())
