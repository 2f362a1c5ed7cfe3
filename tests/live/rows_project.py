"""A project of two jobs: one writes a dataset, one counts its rows, each slice its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from live_project import EmptyProject

ROWS = 1000
WRITE = f'''\
"""Writes a dataset of known rows, and a file for each slice."""

from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options = {{"first": 0}}
datasets = ("previous",)


def prepare(job):
    writer = job.datasetwriter(columns={{"row": "number"}}, previous=datasets.previous)
    write = writer.get_split_write()
    for row in range(options["first"], options["first"] + {ROWS}):
        write(row)


def analysis(sliceno, job):
    job.save([sliceno], "part", sliceno=sliceno)
'''
COUNT = '''\
"""Counts the rows of a dataset, or the parts of a job, each slice its own."""

from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options = {"what": "rows"}
datasets = ("source",)
jobs = ("of",)


def analysis(sliceno, slices):
    if options["what"] == "parts":
        return len(jobs.of.load("part", sliceno=sliceno)), 0
    if options["what"] == "options":
        return len(jobs.of.params.options), 0
    source = datasets.source or jobs.of.dataset()
    rows = list(source.iterate_chain(sliceno, "row"))
    return len(rows), sum(rows)


def synthesis(analysis_res, job):
    counts = list(analysis_res)
    job.json_save([sum(count for count, _ in counts), sum(total for _, total in counts)], "counts.json")
'''
PIPELINE = """\
import json
from pathlib import Path

from shortloop.run.executor import run_pipeline

LAST = Path(__file__).parents[1] / "last.json"


def main(urd):
    return run_pipeline(urd, pipeline, note, name="rows")


def pipeline(run):
    rows = run.build("write")
    count = run.build("count", of=rows)
    run.build("alone")
    return count


def note(run, count, seconds):
    counts = json.loads((count.path / "counts.json").read_text())
    LAST.write_text(json.dumps({"jobs": [each.job for each in run.jobs], "counts": counts}))
"""
ALONE = '''\
"""Leaves nothing that depends on slices."""

from shortloop.keys.code import code_of

depend_extra = code_of(__file__)


def synthesis(job):
    job.json_save(1, "one.json")
'''
PLAIN = """\
import json
from pathlib import Path

LAST = Path(__file__).parents[1] / "last.json"
GIVEN = LAST.with_name("given.json")


def main(urd):
    from accelerator.job import Job

    given = json.loads(GIVEN.read_text())
    if given.get("write_here"):
        from accelerator.g import job

        writer = job.datasetwriter(columns={"row": "number"})
        write = writer.get_split_write()
        for row in range(given["write_here"]):
            write(row)
        writer.finish()
        given["rows"] = job
    rows = Job(given["rows"]) if "rows" in given else urd.build("write", **given.get("write", {}))
    found = {"rows": rows}
    if given.get("here"):
        values = list(rows.dataset().iterate_chain(None, "row"))
        found["counts"] = [len(values), sum(values)]
    else:
        count = urd.build("count", **{given.get("as", "source"): rows}, **given.get("count", {}))
        found |= {"count": count, "counts": count.json_load("counts.json")}
    LAST.write_text(json.dumps(found))
"""


class RowsProject(EmptyProject):
    """A dataset, and what is counted of it: through Shortloop (`rows`) and by exax alone (`plain`)."""

    sources: ClassVar = {
        "methods/a_write.py": WRITE,
        "methods/a_count.py": COUNT,
        "methods/a_alone.py": ALONE,
        "build_scripts/build_rows.py": PIPELINE,
        "build_scripts/build_plain.py": PLAIN,
    }

    def serve(self, slices: int) -> None:
        """From now on, jobs have so many slices."""
        self.stop_server()
        self.slices = slices
        self.start_server()

    def environment(self, **more: str) -> dict[str, str]:
        return super().environment(SHORTLOOP_SLICES=str(getattr(self, "slices", 2)), **more)

    def go(self, script: str = "rows", given: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], str]:
        """Run a script; what it found, and what it said. It found nothing if it failed."""
        last = self.folder / "last.json"
        last.unlink(missing_ok=True)
        (self.folder / "given.json").write_text(json.dumps(given or {}), encoding="utf-8")
        done = self.ax("run", script)
        found = json.loads(last.read_text(encoding="utf-8")) if done.returncode == 0 else {}
        return found, done.stdout + done.stderr
