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
    assert (told.two["counts"], told.one["counts"]) == (WHOLE, WHOLE)
    for said in (told.said, told.planned):
        assert f"{told.two['jobs'][0]} holds data of 2 slices, jobs have 1 now" in said
    # and what was made from it, but not what holds no slices
    assert [new == old for new, old in zip(told.one["jobs"], told.two["jobs"])] == [False, False, True]


def test_data_of_other_slices_are_refused_and_those_of_the_same_read_whole(told: Told) -> None:
    """A dataset, one further back in a chain, and files that each slice saved; all else can be read."""
    old, new = told.two["jobs"][0], told.one["jobs"][0]
    parts, options = ({"as": "of", "count": {"what": what}} for what in ("parts", "options"))
    for given, whose in (
        ({"rows": old}, f"{old}/default"),
        ({"write": {"first": ROWS, "previous": old}, "here": False}, f"{old}/default"),
        ({"write": {"first": ROWS, "previous": old}, "here": True}, f"{old}/default"),
        ({"rows": old, **parts}, f"part of {old}"),
    ):
        found, said = told.plain(**given)
        assert found == {}
        assert f"{whose} {REFUSED}" in said
        assert "SHORTLOOP_SLICES=2" in said
    for given, counts in (
        ({"write": {"first": ROWS, "previous": new}, "here": False}, [2 * ROWS, sum(range(2 * ROWS))]),
        ({"write": {"first": ROWS, "previous": new}, "here": True}, [2 * ROWS, sum(range(2 * ROWS))]),
        ({"rows": new, **parts}, [1, 0]),
        ({"rows": told.two["jobs"][1], **options}, [1, 0]),
    ):
        found, said = told.plain(**given)
        assert found["counts"] == counts, said


def test_jobs_are_found_again_when_slices_are_as_before(told: Told) -> None:
    """Also by exax alone, which takes none of other slices."""
    found, said = told.plain(write={"first": 500})
    assert found["counts"] == [ROWS, sum(range(500, 500 + ROWS))], said
    told.project.serve(2)
    try:
        again, said = told.project.go()
        assert again == told.two, said
        assert "0 jobs built" in said
        other, said = told.plain(write={"first": 500})
        assert other["counts"] == found["counts"], said
        assert other["rows"] != found["rows"]
        assert told.plain(write={"first": 500})[0]["rows"] == other["rows"]
        for slices in (-1, 1):  # a build script writes as many as the server has
            told.project.slices = slices
            here, said = told.plain(write_here=ROWS)
            assert here["counts"] == WHOLE, said
    finally:
        told.project.serve(1)
    assert told.project.go()[0] == told.one
    assert told.plain(write={"first": 500})[0]["rows"] == found["rows"]
