"""The same jobs on every engine: the same bits, one engine for all jobs of a run, nothing left of it."""

from __future__ import annotations

import re

import joblib
import pytest
from cases import first_cases
from engine_project import ENGINES, EngineProject
from live_project import fixture_of, wait_for

from shortloop.testing import check_engine

STAGES = ("numbers", "factors", "fit", "rows", "sums", "page")
FORCED = [word for stage in STAGES for word in ("--force", stage)]


class BuiltOnce(EngineProject):
    def prepare(self) -> None:
        self.go("slices").ok()
        self.first = [*self.jobs()]


project = fixture_of(BuiltOnce)


@pytest.mark.slow  # an engine of another package passes them in test_live_entry_points.py
@pytest.mark.parametrize("engine", ENGINES)
def test_it_passes_the_common_tests(engine: str) -> None:
    check_engine(engine)


@first_cases(1, "engine", ENGINES)
def test_every_stage_leaves_the_same_bits(project: EngineProject, engine: str) -> None:
    before = {*project.jobs()}
    first = project.by_place(project.first)
    project.shortloop("run", "x", *FORCED, SHORTLOOP_ENGINE=engine).ok()
    now = project.by_place({*project.jobs()} - before)
    assert now.keys() == first.keys()
    for place, job in now.items():
        if place != ("methods.rows", None):  # exax writes names of jobs into datasets
            assert project.files(job) == project.files(first[place]), place
        assert project.same_jobs(job, first[place]), place
    said = project.record(now["methods.factors", "A"])["engine"]
    assert said["name"] == engine.partition(":")[0]
    assert said["where"] == "this machine"
    assert sum(said["processes"].values()) <= 2
    wait_for(lambda: not project.processes())
    # What units print is kept with the job.
    output = project.job_folder(now["methods.factors", "A"]) / "OUTPUT"
    printed = "".join(file.read_text() for file in output.iterdir())
    assert all(f"unit {unit} done\n" in printed for unit in range(12))
    assert {each["threads_used"] for each in project.record(now["methods.factors", "A"])["threads"]} == {1}


def test_what_computed_a_job_is_shown_and_its_cost_counted(project: EngineProject) -> None:
    project.ask(factors={"count": 300}, partitions="A")
    (job,) = re.findall(r"built factors +A +(main-\d+)", project.go("joblib").ok().stdout)
    engine, cost = project.record(job)["engine"], project.jobs()[job]["cost"]
    assert engine["cpu_seconds"] > 0.1
    assert cost["cpu_seconds"] >= engine["cpu_seconds"]
    shown = project.shortloop("show", job).stdout
    assert re.search(rf"engine +joblib {re.escape(joblib.__version__)}, 2 workers", shown), shown
    assert re.search(r"code of numpy +\S", shown)
    assert project.jobs()[project.first[0]]["cost"]  # those that it did not compute are as they were


def test_slices_say_how_many_they_were(project: EngineProject) -> None:
    place = project.by_place(project.first)
    assert project.record(place["methods.factors", "A"])["engine"] == {"name": "slices", "workers": 2}
    assert "engine" not in project.record(place["methods.page", None])  # it has no units


@pytest.mark.parametrize("built", [[], ["page"]])
def test_a_run_that_computes_no_units_starts_no_engine(project: EngineProject, built: list[str]) -> None:
    project.ask()
    project.go("slices").ok()
    log = project.folder / "workdirs/.cache/engine/engine.log"
    before = log.exists() and log.stat().st_mtime_ns
    forced = [word for stage in built for word in ("--force", stage)]
    nobody = "dask:tcp://127.0.0.1:1"
    said = project.works("run", "x", *forced, SHORTLOOP_ENGINE=nobody)
    assert f"{len(built)} job{'' if len(built) == 1 else 's'} built" in said
    assert (log.exists() and log.stat().st_mtime_ns) == before
