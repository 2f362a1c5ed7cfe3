"""A project of methods that others wrote: exax's own, and those of a package that prepares nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from live_project import EmptyProject

ODD = """\
import os
from pathlib import Path

from accelerator import OptionEnum, RequiredOption

from . import steps
from theirs.listed import more

depend_extra = [steps, "words.txt", *map(Path, more)]
options = {"how": OptionEnum("sum count"), "factor": RequiredOption(int), "seen": {"x"}}
datasets = ("source", ["others"])


def analysis(sliceno):
    rows = [datasets.source, *datasets.others]
    return [int(each) for ds in rows for each in ds.iterate_chain(sliceno, "a")]


def synthesis(analysis_res, job):
    rows = [each for slice in analysis_res for each in slice]
    found = sum(rows) if options.how == "sum" else len(rows)
    job.json_save(steps.scaled(found, options.factor), "found.json")
"""
READS = """\
from accelerator import JobWithFile

options = {"file": JobWithFile}


def synthesis(job):
    job.json_save(options.file.json_load() + 1, "more.json")
"""
TOTALS = """\
from shortloop.exax.method import exax_method
from shortloop.stages.dataset import Dataset
from shortloop.stages.stage import Finished, Out, Stage


class Totals(Stage):
    rows: Dataset
    more: list[Dataset]
    none: Dataset | None

    def units(self):
        return len(self.rows.lines)

    def outputs(self):
        return {"sums": Out((len(self.rows.lines), 2), "i8", "slices × datasets", "sum of a column")}

    def compute(self, unit):
        more = sum(value for each in self.more for value, _ in each.iterate(unit, ["a", "a"]))
        return {"sums": [sum(self.rows.iterate_chain(unit, "a")), more]}

    def finish(self, out):
        return Finished({"sums": out["sums"].sum(0).tolist(), "none": self.none is None})


globals().update(exax_method(Totals, __file__))
"""
SCRIPT = """\
import json
from pathlib import Path

from shortloop.run.executor import run_pipeline

HERE = Path(__file__).parents[1]
ODD = {"how": "sum", "factor": 2, "seen": {"b", "a"}}


def main(urd):
    return run_pipeline(urd, pipeline, note, name="rows")


def pipeline(run):
    old = run.build("csvimport", filename=run.file(HERE / "data/old.csv"), partition="old")
    new = run.build("csvimport", filename=run.file(HERE / "data/new.csv"), partition="new", previous=old)
    typed = run.build("dataset_type", datasets={"source": new}, column2type={"a": "int64_10"})
    hashed = run.build("dataset_hashpart", source=typed, hashlabel="a")
    few = run.build("dataset_filter_columns", source=typed, keep_columns=["a"])
    odd = run.build("odd", source=hashed, others=[few, (old, "default")], **ODD)
    reads = run.build("reads", file=(odd, "found.json"))
    totals = run.build("totals", rows=hashed, more=[few, (few, "default")])
    (HERE / "totals.json").write_text(json.dumps(totals.result().facts if totals.job else {}))
    return reads


def note(run, last, seconds):
    names = [f"{each.stage} {each.partition or ''}".strip() for each in run.jobs]
    found = {"jobs": dict(zip(names, [each.job for each in run.jobs]))}
    found["built"] = [name for name, each in zip(names, run.jobs) if each.fresh]
    found["more"] = json.loads((last.path / "more.json").read_text())
    (HERE / "last.json").write_text(json.dumps(found))
"""
STEPS = [
    "csvimport old",
    "csvimport new",
    "dataset_type",
    "dataset_hashpart",
    "dataset_filter_columns",
    "odd",
    "reads",
    "totals",
]
OLD, NEW = range(1, 11), range(11, 31)


def rows(values: Any) -> str:
    return "a,b\n" + "".join(f"{each},x{each}\n" for each in values)


def expected(old: Any = OLD, new: Any = NEW, factor: int = 2) -> int:
    """What the last job must leave."""
    hashed, filtered = sum(old) + sum(new), sum(new)
    return factor * (hashed + filtered + sum(old)) + 1


class ExaxProject(EmptyProject):
    """Two files of rows, chained, typed, hashed and filtered by exax's own methods, and counted by others."""

    sources: ClassVar = {
        "theirs/__init__.py": "",
        "theirs/listed.py": "more = ['../more.txt']\n",
        "theirs/more.txt": "one",
        "theirs/methods/__init__.py": "",
        "theirs/methods/steps.py": "def scaled(x, by):\n    return x * by\n",
        "theirs/methods/words.txt": "one",
        "theirs/methods/a_odd.py": ODD,
        "theirs/methods/a_reads.py": READS,
        "methods/a_totals.py": TOTALS,
        "build_scripts/build_rows.py": SCRIPT,
        "data/old.csv": rows(OLD),
        "data/new.csv": rows(NEW),
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        more = "\taccelerator.standard_methods\n\ttheirs.methods auto-discover\n\tmethods auto-discover"
        self.edit("accelerator.conf", "\tmethods auto-discover", more)

    def go(self) -> tuple[dict[str, Any], str]:
        """Run it, which must work: what it found, and what it said."""
        done = self.ax("run", "rows").ok()
        loaded = self.read_json("last.json")
        return loaded, done.stdout + done.stderr
