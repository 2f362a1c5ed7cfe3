"""A pipeline of typed stages where no library of an analysis is installed, and no analysis is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import ClassVar

import pytest
from live_project import EmptyProject, fixture_of
from refused import refusing

from shortloop.eeg.pipeline import LIBRARIES

FIT = """\
from __future__ import annotations

from typing import TYPE_CHECKING

from methods.steps import step
from shortloop.exax.method import exax_method
from shortloop.stages.stage import File, Finished, Out, Outputs, Stage, Values

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


class Fit(Stage):
    grows = "count"
    number: int
    count: int
    table: File

    def open(self) -> None:
        import numpy as np

        self.x = np.loadtxt(self.table.path)

    def units(self) -> list[float]:
        return [1.0] * (self.count - self.have)

    def outputs(self) -> dict[str, Out]:
        return {"x": Out((self.count, len(self.x)), "f8", "draws × values", "a draw")}

    def index(self, unit: int) -> int:
        return self.have + unit

    def compute(self, unit: int) -> Mapping[str, np.ndarray]:
        return {"x": step(self.x, self.number) + self.have + unit}

    def finish(self, out: Outputs) -> Finished:
        import sys

        refused = any(type(each).__name__ == "Refuse" for each in sys.meta_path)
        means = Values(out["x"].mean(axis=1), "draws", "mean of a draw")
        return Finished({"refused": refused, "had": self.have}, {"mean": means})


globals().update(exax_method(Fit, __file__))
"""
JOIN = """\
from __future__ import annotations

from shortloop.exax.method import exax_method
from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values


class Join(Stage):
    fits: list[Job]

    def finish(self, out: Outputs) -> Finished:
        means = [float(each.arrays["mean"][-1]) for each in self.fits]
        arrays = {"means": Values(means, "partitions", "mean of the last draw")}
        return Finished({}, arrays, {"said/means.txt": str(means).encode()})


globals().update(exax_method(Join, __file__))
"""
STEPS = "def step(x, number):\n    return 2 * x + number\n"
SCRIPT = """\
from pathlib import Path

from shortloop.run.executor import run_pipeline

FOLDER = Path(__file__).parents[1]


def main(urd):
    return run_pipeline(urd, pipeline, name="bare")


def pipeline(run):
    count = int((FOLDER / "count").read_text())
    fits = [
        run.build("fit", partition=name, number=number, count=count, table=run.file(FOLDER / f"{name}.txt"))
        for number, name in enumerate("AB")
    ]
    return run.build("join", fits=fits)
"""


class BareProject(EmptyProject):
    """The frame alone."""

    edits_package = True

    sources: ClassVar = {
        "methods/a_fit.py": FIT,
        "methods/a_join.py": JOIN,
        "methods/steps.py": STEPS,
        "build_scripts/build_bare.py": SCRIPT,
        "A.txt": "1 2 3",
        "B.txt": "4 5",
        "count": "2",
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shutil.rmtree(folder / "shortloop" / "eeg")
        self.refused = refusing(folder, LIBRARIES)

    def environment(self, **more: str) -> dict[str, str]:
        return super().environment(PYTHONPATH=f"{self.refused}:{self.folder}", **more)

    def loaded(self, *asked: tuple[str, str]) -> list[str]:
        """Something of each of some jobs, as a notebook shows it."""
        code = [f"print(shortloop.load({job!r}).{what})" for job, what in asked]
        return self.python("\n".join(["import shortloop", *code])).splitlines()


bare = fixture_of(BareProject)


@pytest.mark.slow
def test_a_pipeline_of_the_frame_alone(bare: BareProject) -> None:
    assert [stage for stage, _ in bare.run("bare")] == ["fit", "fit", "join"]
    bare.write("count", "3")
    assert "2 × fit: option count: 2 → 3" in bare.works("plan", "bare")
    grown = bare.run("bare")
    bare.edit("methods/steps.py", "2 * x", "3 * x")
    edited = bare.run("bare")
    assert bare.loaded((grown["fit", "A"], "facts"), (edited["join", None], "arrays['means'].tolist()")) == [
        "{'refused': True, 'had': 2, 'count': 3}",
        "[8.0, 16.5]",
    ]
    assert "code of steps.step (methods/steps.py)" in bare.works("why", "fit")
    assert re.search(r"versions +python [^,]+, .*numpy", bare.works("show", edited["fit", "B"]))
    assert "2 values differ" in bare.works("compare", grown["join", None], edited["join", None])
    assert "all are as they were recorded" in bare.works("verify")
    assert "deleted" in bare.works("gc", "--delete")
    assert "3 jobs" in bare.works("jobs", "--state", "current")
    assert "all 3 jobs are cached" in bare.works("plan", "bare")
