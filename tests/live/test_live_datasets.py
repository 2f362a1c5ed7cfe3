"""exax's datasets, and files that each slice saved, are read whole or not at all when slices change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
from live_project import EmptyProject, in_short_folder

ROWS = 1000
WRITE = f"""\
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
"""
COUNT = """\
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
"""
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
ALONE = """\
from shortloop.keys.code import code_of

depend_extra = code_of(__file__)


def synthesis(job):
    job.json_save(1, "one.json")
"""
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


WHOLE = [ROWS, sum(range(ROWS))]
REFUSED = "was written with another number of slices, so only a part of it would be read"


class Told:
    """A project where jobs were built with two slices, and then have one."""

    def __init__(self, project: RowsProject) -> None:
        self.project = project
        project.serve(2)
        self.two, _ = project.go()
        project.serve(1)
        self.planned = project.shortloop("plan", "rows").stdout
        self.one, self.said = project.go()

    def plain(self, **given: Any) -> tuple[dict[str, Any], str]:
        return self.project.go("plain", given)


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    with in_short_folder(RowsProject) as project:
        yield Told(project)


def test_a_dataset_is_written_again_with_as_many_slices_as_jobs_have(told: Told) -> None:
    assert told.two["counts"] == WHOLE
    assert told.one["counts"] == WHOLE
    for said in (told.said, told.planned):
        assert f"{told.two['jobs'][0]} holds data of 2 slices, jobs have 1 now" in said
    # and what was made from it, but not what holds no slices
    assert [new == old for new, old in zip(told.one["jobs"], told.two["jobs"])] == [False, False, True]


def test_exax_alone_does_not_take_it_either(told: Told) -> None:
    found, said = told.plain(write={"first": 500})
    assert found["counts"] == [ROWS, sum(range(500, 500 + ROWS))], said
    told.project.serve(2)
    try:
        other, said = told.plain(write={"first": 500})
        assert other["counts"] == found["counts"], said
        assert other["rows"] != found["rows"]
        again, _ = told.plain(write={"first": 500})
        assert again["rows"] == other["rows"]
    finally:
        told.project.serve(1)
    assert told.plain(write={"first": 500})[0]["rows"] == found["rows"]


def test_a_dataset_of_other_slices_is_refused(told: Told) -> None:
    found, said = told.plain(rows=told.two["jobs"][0])
    assert found == {}
    assert f"{told.two['jobs'][0]}/default {REFUSED}" in said
    assert "SHORTLOOP_SLICES=2" in said


@pytest.mark.parametrize("here", [False, True])
def test_so_is_one_further_back_in_a_chain(told: Told, here: bool) -> None:
    first = {"first": ROWS, "previous": told.two["jobs"][0]}
    found, said = told.plain(write=first, here=here)
    assert found == {}
    assert f"{told.two['jobs'][0]}/default {REFUSED}" in said


def test_a_chain_of_the_same_slices_is_read_whole(told: Told) -> None:
    first = {"first": ROWS, "previous": told.one["jobs"][0]}
    for here in (False, True):
        found, said = told.plain(write=first, here=here)
        assert found["counts"] == [2 * ROWS, sum(range(2 * ROWS))], said


def test_files_that_each_slice_saved_are_refused(told: Told) -> None:
    parts = {"as": "of", "count": {"what": "parts"}}
    assert told.plain(rows=told.one["jobs"][0], **parts)[0]["counts"] == [1, 0]
    found, said = told.plain(rows=told.two["jobs"][0], **parts)
    assert found == {}
    assert f"part of {told.two['jobs'][0]} {REFUSED}" in said


def test_what_such_a_job_left_besides_can_be_read(told: Told) -> None:
    parts = {"as": "of", "count": {"what": "options"}}
    found, said = told.plain(rows=told.two["jobs"][1], **parts)
    assert found["counts"] == [1, 0], said


def test_jobs_are_found_again_when_slices_are_as_before(told: Told) -> None:
    told.project.serve(2)
    try:
        again, said = told.project.go()
        assert again == told.two, said
        assert "0 jobs built" in said
    finally:
        told.project.serve(1)
    assert told.project.go()[0] == told.one


@pytest.mark.parametrize("slices", ["-1", "1"])
def test_a_build_script_writes_as_many_slices_as_the_server_has(told: Told, slices: str) -> None:
    """However many its own environment names."""
    told.project.serve(2)
    try:
        told.project.slices = int(slices)
        found, said = told.plain(write_here=ROWS)
        assert found["counts"] == WHOLE, said
    finally:
        told.project.serve(1)
