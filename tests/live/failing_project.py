"""A project of stages with units that fail as a test wants it, and a job that is made from them."""

from __future__ import annotations

from typing import Any, ClassVar

from engine_project import FAULTS, EngineProject

from shortloop.stages.results import open_result

FACTORS = '''\
"""Numbers of a file, scaled; a unit is a number."""

from shortloop import Job
from shortloop.exax.method import exax_method
from shortloop.stages.stage import Finished, Out, Stage


class Factors(Stage):
    """Scaled numbers."""

    on_error = "keep"
    retries = 0
    timeout = None

    numbers: Job
    count: int = 12

    def units(self):
        return self.count

    def outputs(self):
        return {"values": Out((self.count, 2), "f8", "units × 2", "of each unit")}

    def compute(self, unit):
        from tools.faults import meet

        meet("factors", unit)
        x = self.numbers["numbers"][unit] * 1.5
        return {"values": [x, x], f"pages/{unit}.txt": f"{unit}".encode()}

    def finish(self, out):
        return Finished({"failed": sorted(out.errors)})


globals().update(exax_method(Factors, __file__))
'''
FIT = '''\
"""A line through some numbers; a unit is a group of them."""

from shortloop import Job, stage


def groups(numbers: Job, groups: int = 12):
    values = numbers["numbers"]
    for group in range(groups):
        yield f"g{group}", values[group % 5 :] * (group + 1)


@stage(units=groups, on_error="keep", retries=0, timeout=None)
def fit(values, unit: str, shift: int = 0):
    import numpy as np
    import pandas as pd

    from tools.faults import meet

    print(f"fits {unit}")
    meet("fit", int(unit[1:]))
    line = np.polyfit(np.arange(len(values)), values + shift, 1)
    rows = pd.DataFrame({"degree": [0, 1], "n": len(values), "good": True, "value": line, "name": unit})
    return {"line": line, "n": len(values), "name": unit, "rows": rows, "kept": {1: {unit}}}
'''
PAGE = '''\
"""What all of them left."""

from shortloop import Job, stage


@stage
def page(fit: Job, factors: list[Job]):
    import numpy as np

    return {
        "lines": fit["line"],
        "rows": fit["rows"],
        "values": np.array([each.arrays["values"] for each in factors]),
        "errors": [[unit, error] for unit, error in fit.errors.items()],
    }
'''
SCRIPT = """\
import json
from pathlib import Path

from shortloop import pipeline

ASKED = Path(__file__).parents[1] / ".asked.json"


@pipeline
def main(run):
    asked = json.loads(ASKED.read_text())
    numbers = run.build("numbers", file=run.file("numbers.txt"))
    parts = [
        run.build("factors", partition=name, numbers=numbers, count=asked.get("count", 12))
        for name in asked.get("partitions", "A")
    ]
    fit = run.build("fit", numbers=numbers, groups=asked.get("groups", 12), shift=asked.get("shift", 0))
    return run.build("page", fit=fit, factors=parts)
"""
DRAWS = '''\
"""Numbers drawn one after the other; a unit is a draw."""

from typing import ClassVar

from shortloop.exax.method import exax_method
from shortloop.stages.stage import Out, Stage


class Draws(Stage):
    """Drawn numbers."""

    grows: ClassVar[str] = "draws"
    on_error: ClassVar[str] = "keep"

    draws: int

    def units(self):
        return self.draws - self.have

    def outputs(self):
        return {"numbers": Out((self.draws,), "f8", "draws", "drawn")}

    def index(self, unit):
        return self.have + unit

    def compute(self, unit):
        from tools.faults import meet

        meet("draws", self.have + unit)
        return {"numbers": 10.0 * (self.have + unit)}


globals().update(exax_method(Draws, __file__))
'''
GROW = """\
import json
from pathlib import Path

from shortloop import pipeline

ASKED = Path(__file__).parents[1] / ".asked.json"


@pipeline
def main(run):
    return run.build("draws", draws=json.loads(ASKED.read_text())["draws"])
"""
MORE_FAULTS = '''\
    if what == "memory":
        raise MemoryError
    if what == "interrupt":
        raise KeyboardInterrupt
    if what == "leave":
        raise SystemExit(3)
    if what == "sleep":
        time.sleep(60)
    if what == "ignore":
        for _ in range(600):
            try:
                time.sleep(0.1)
            except Exception:
                pass
    if what == "odd":
        raise Odd
    if what == "long":
        raise ValueError("x" * 1_000_000 + " \\udcff 0x7f0123456789")
    if what == "stuck":
        sum(range(10**13))  # which lets no signal through


class Odd(Exception):
    """Has a message that cannot be read, and cannot be pickled."""

    def __init__(self):
        self.unpickled = lambda: None

    def __str__(self):
        raise RuntimeError("no message")
'''


class FailingProject(EngineProject):
    """Units of it may fail, and others are kept."""

    sources: ClassVar = {
        **EngineProject.sources,
        "methods/a_factors.py": FACTORS,
        "methods/a_fit.py": FIT,
        "methods/a_page.py": PAGE,
        "methods/a_draws.py": DRAWS,
        "build_scripts/build_x.py": SCRIPT,
        "build_scripts/build_grow.py": GROW,
        "tools/faults.py": FAULTS + MORE_FAULTS,
    }

    def write_method(self, method: str, text: str) -> None:
        self.write(f"methods/a_{method}.py", text)

    def give(self, method: str, **settings: Any) -> None:
        """Give settings of a stage other values than they had."""
        text = {"factors": FACTORS, "fit": FIT}[method]
        for name, value in settings.items():
            for usual in ("0", "None", '"keep"'):
                for equals in ("=", " = "):
                    text = text.replace(f"{name}{equals}{usual}", f"{name}{equals}{value!r}")
        self.write_method(method, text)

    def last(self, stage: str) -> str:
        """Id of the newest recorded job of a stage."""
        ids = [job for job, each in self.jobs().items() if each["parts"]["method"] == f"methods.{stage}"]
        return max(ids, key=lambda job: int(job.rpartition("-")[2]))

    def loaded(self, stage: str) -> Any:
        """The newest job of a stage."""
        return open_result(self.job_folder(self.last(stage)))

    def run_well(self, engine: str = "slices", script: str = "x") -> str:
        """Run it, which must work; what it said."""
        done = self.go(engine, script)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
