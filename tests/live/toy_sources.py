"""Sources of toy methods: made of units or not, from a file, from one job, from many."""

from live_project import stages

UNITS = 4  # of the first method
METHODS = stages("""\
# first
from methods.faults import fault
from methods.lazy import deep
from methods.step_first import first


@stage
class First(Stage):
    number: int
    length: int
    file: File | None = None

    def open(self):
        fault("prepare", self.number)
        self.more = int(self.file.path.read_text()) if self.file else 0

    def units(self):
        return 4

    def outputs(self):
        return {"x": Out((4, self.length), "i8", "units × values", "x")}

    def compute(self, unit):
        import numpy as np

        values = first(np.arange(self.length) + 1000 * unit, self.number + self.more) + deep()
        fault("analysis", self.number)
        return {"x": values}

    def finish(self, out):
        fault("synthesis", self.number)
        return super().finish(out)

# scale
from methods.faults import fault
from methods.stars import *
from methods.step_scale import scale


@stage
class Scale(Stage):
    siblings = ("number",)
    number: int
    of: list[Job]

    def open(self):
        fault("prepare", self.number)
        self.x = self.of[0].arrays["x"]

    def units(self):
        return [1.0] * len(self.x)

    def outputs(self):
        return {"x": Out(self.x.shape, "i8", "units × values", "x")}

    def compute(self, unit):
        scaled = scale(self.x[unit], self.number) + part.K
        fault("analysis", self.number)
        return {"x": scaled}

    def finish(self, out):
        fault("synthesis", self.number)
        return super().finish(out)
""")
JOIN = """\
from methods.faults import fault
from methods.step_join import join
from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options = {"number": 0, "model": ""}
jobs = (["of"],)


def synthesis():
    from importlib import import_module

    from shortloop.stages.records import Values, save_array, write_record
    from shortloop.stages.results import open_result

    fault("synthesis", options["number"])
    more = import_module(options["model"]).extra()
    save_array("x", join([open_result(job.path).arrays["x"] for job in jobs.of], options["number"]) + more)
    write_record("join", None, {"x": Values(None, "units × values", "x")})
"""
STEPS = {
    "first": "def first(x, number):\n    return x * 7 + number\n",
    "scale": "def scale(x, number):\n    return x * 3 + number\n",
    "join": "def join(every, number):\n    return sum(every) + number\n",
}
# A constant for each method: behind two imports inside functions, behind a star, and in what a module imports
# that an option names.
CONSTANTS = {"first": "deeper.py", "scale": "stars/part.py", "join": "model_helper.py"}
MORE = {
    "lazy.py": "def deep():\n    from methods.deeper import K\n\n    return K\n",
    "stars/__init__.py": '__all__ = ["part"]\n',
    "model.py": "from methods.model_helper import K\n\n\ndef extra():\n    return K\n",
    **dict.fromkeys(CONSTANTS.values(), "K = 0\n"),
}
FAULTS = """\
import json
import os
import time
from pathlib import Path

FOLDER = Path(os.environ["FOLDER"])


def fault(where, number):
    time.sleep(float(os.environ["TOY_PAUSE"]))
    try:
        todo = json.loads((FOLDER / ".fault.json").read_text())
    except FileNotFoundError:
        return
    if (todo["where"], todo["number"]) != (where, number):
        return
    (FOLDER / "reached").touch()
    if todo["what"] == "raise":
        raise ZeroDivisionError("a fault")
    if todo["what"] == "exit":
        os._exit(0)
    while (FOLDER / ".fault.json").exists():
        time.sleep(0.01)
"""
SCRIPT = """\
import json
from pathlib import Path

from shortloop.run.executor import run_pipeline

FOLDER = Path(__file__).parents[1]


def main(urd):
    return run_pipeline(urd, pipeline, finish, name="dag")


def pipeline(run):
    built = []
    for node in json.loads((FOLDER / "dag.json").read_text()):
        given = {"number": node["number"]}
        if node["method"] == "first":
            given["length"] = node["length"]
        if node["file"]:
            given["file"] = run.file(FOLDER / node["file"])
        if node["of"]:
            given["of"] = [built[above] for above in node["of"]]
        modules = ["methods.model"] if node["method"] == "join" else []
        if modules:
            given["model"] = modules[0]
        built.append(run.build(node["method"], modules=modules, **given))
    return built[-1]


def finish(run, last, seconds):
    jobs = [(each.job, each.fresh) for each in run.jobs]
    (FOLDER / "last.json").write_text(json.dumps(jobs))
"""
