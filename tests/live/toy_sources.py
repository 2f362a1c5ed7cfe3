"""Sources of toy methods: made of units or not, from a file, from one job, from many."""

UNITS = 4  # of the first method

FIRST = '''\
"""Numbers from an option and perhaps a file; a job that was cut off goes on where it was."""

from methods.faults import fault
from methods.lazy import deep
from methods.step_first import first
from shortloop.jobs.keys.code import code_of

depend_extra = code_of(__file__)
options = {"number": 0, "length": 0, "file": ""}


def prepare():
    from shortloop.engines.checkpoints import Checkpoint
    from shortloop.jobs.store.inputs import locate

    fault("prepare", options["number"])
    more = int(locate(options["file"]).read_text()) if options["file"] else 0
    blocks = Checkpoint(4)
    x = blocks.create_array("x", (4, options["length"]), "i8")
    blocks.start()
    return blocks, x, more


def analysis(sliceno, prepare_res):
    import numpy as np

    blocks, x, more = prepare_res
    half = x.shape[1] // 2
    for unit in blocks:
        values = first(np.arange(x.shape[1]) + 1000 * unit, options["number"] + more) + deep()
        x[unit, :half] = values[:half]
        fault("analysis", options["number"])
        x[unit, half:] = values[half:]


def synthesis(prepare_res):
    from shortloop.worker.records import Array, write_record

    fault("synthesis", options["number"])
    prepare_res[0].finish()
    write_record("first", None, {"x": Array("units × values", "x")})
'''
SCALE = '''\
"""Changes each value of one job."""

from methods.faults import fault
from methods.stars import *
from methods.step_scale import scale
from shortloop.jobs.keys.code import code_of

depend_extra = code_of(__file__)
options = {"number": 0}
jobs = (["of"],)


def prepare():
    from shortloop.engines.units import Units
    from shortloop.worker.records import create_array
    from shortloop.worker.results import open_result

    fault("prepare", options["number"])
    x = open_result(jobs.of[0].path).arrays["x"]
    return x, create_array("x", x.shape, "i8"), Units(len(x))


def analysis(sliceno, prepare_res):
    x, out, units = prepare_res
    for unit in units:
        out[unit] = scale(x[unit], options["number"]) + part.K
        fault("analysis", options["number"])


def synthesis(prepare_res):
    from shortloop.worker.records import Array, write_record

    fault("synthesis", options["number"])
    write_record("scale", None, {"x": Array("units × values", "x")})
'''
JOIN = '''\
"""Adds up several jobs."""

from methods.faults import fault
from methods.step_join import join
from shortloop.jobs.keys.code import code_of

depend_extra = code_of(__file__)
options = {"number": 0, "model": ""}
jobs = (["of"],)


def synthesis():
    from importlib import import_module

    from shortloop.worker.records import Array, save_array, write_record
    from shortloop.worker.results import open_result

    fault("synthesis", options["number"])
    more = import_module(options["model"]).extra()
    save_array("x", join([open_result(job.path).arrays["x"] for job in jobs.of], options["number"]) + more)
    write_record("join", None, {"x": Array("units × values", "x")})
'''
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
FAULTS = '''\
"""Waits a moment, and fails where it was told to: in one file, so that the code of jobs stays the same."""

import json
import os
import time
from pathlib import Path

FOLDER = Path(os.environ["TOY_FOLDER"])


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
'''
SCRIPT = """\
import json
from pathlib import Path

from shortloop.jobs.store.inputs import register
from shortloop.jobs.executor import run_pipeline

FOLDER = Path(__file__).parents[1]


def main(urd):
    return run_pipeline(urd, pipeline, finish, name="dag")


def pipeline(run):
    built = []
    for node in json.loads((FOLDER / "dag.json").read_text()):
        options = {"number": node["number"]}
        if node["method"] == "first":
            options["length"] = node["length"]
        if node["file"]:
            options["file"] = register([FOLDER / node["file"]])[0]
        jobs = {"of": [built[above] for above in node["of"]]} if node["of"] else None
        modules = ["methods.model"] if node["method"] == "join" else []
        if modules:
            options["model"] = modules[0]
        built.append(run.build(node["method"], options=options, jobs=jobs, modules=modules))
    return built[-1]


def finish(run, last, seconds):
    jobs = [(each.job, each.fresh) for each in run.jobs]
    (FOLDER / "last.json").write_text(json.dumps(jobs))
"""
