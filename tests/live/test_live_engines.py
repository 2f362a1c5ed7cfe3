"""The same jobs on every engine: the same bits, one engine for all jobs of a run, nothing left of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_project import EngineProject, until
from live_project import served

pytestmark = pytest.mark.live
STAGES = ("numbers", "factors", "fit", "rows", "sums", "page")
FORCED = [word for stage in STAGES for word in ("--force", stage)]
EVERY = ["joblib", "joblib:threading", "dask", "ray"]


@pytest.fixture(scope="module")
def project() -> Iterator[EngineProject]:
    with served(EngineProject) as made:
        done = made.go("slices")
        assert done.returncode == 0, done.stdout + done.stderr
        made.first = [*made.jobs()]
        yield made


def by_place(project: EngineProject, jobs: set[str]) -> dict[tuple[str, str | None], str]:
    known = project.jobs()
    return {(known[job]["parts"]["method"], known[job]["partition"]): job for job in jobs}


@pytest.mark.parametrize("engine", EVERY)
def test_every_stage_leaves_the_same_bits(project: EngineProject, engine: str) -> None:
    before = {*project.jobs()}
    first = by_place(project, {*project.first})
    done = project.shortloop("run", "x", *FORCED, SHORTLOOP_ENGINE=engine)
    assert done.returncode == 0, done.stdout + done.stderr
    now = by_place(project, {*project.jobs()} - before)
    assert now.keys() == first.keys()
    for place, job in now.items():
        if place != ("methods.rows", None):  # exax writes names of jobs into datasets
            assert project.files(job) == project.files(first[place]), place
        assert project.jobs()[job]["content"] == project.jobs()[first[place]]["content"], place
        assert project.jobs()[job]["key"] == project.jobs()[first[place]]["key"], place
    said = project.record(now["methods.factors", "A"])["engine"]
    assert said["name"] == engine.partition(":")[0]
    assert said["where"] == "this machine"
    assert sum(said["processes"].values()) <= 2
    until(lambda: not project.processes(), 10)
    # What units print is kept with the job.
    output = project.folder / "workdirs/main" / now["methods.factors", "A"] / "OUTPUT"
    printed = "".join(file.read_text() for file in output.iterdir())
    assert all(f"unit {unit} done\n" in printed for unit in range(12))
    assert {each["threads_used"] for each in project.record(now["methods.factors", "A"])["threads"]} == {1}
