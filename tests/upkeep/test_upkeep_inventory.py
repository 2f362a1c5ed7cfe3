"""The list of all jobs: what state each is in, and what something still rests on."""

from __future__ import annotations

import pytest
from toy_jobs import PIPELINE, ToyJobs, jobs_here

from shortloop.store.index import Place, Purpose
from shortloop.store.store import Store
from shortloop.upkeep.deletion import delete
from shortloop.upkeep.inventory import STATES, Entry, inventory

jobs = pytest.fixture(jobs_here)


def entries(*without: str) -> dict[str, Entry]:
    with Store() as store:
        return {each.job: each for each in inventory(store, [Purpose(name) for name in without])}


def states(*without: str) -> dict[str, str]:
    return {job: each.state for job, each in entries(*without).items()}


def test_every_state(jobs: ToyJobs) -> None:
    first = jobs.make("A")
    jobs.make("B")  # has to go
    jobs.make("A", above={"before": first})
    jobs.make("B", options={"seed": 2})
    jobs.unrecorded(finished=True)
    jobs.unrecorded(finished=False)
    jobs.make("C")
    jobs.damage("main-6")
    jobs.make("D")
    jobs.make("D", options={"seed": 2})
    jobs.ended()
    with Store() as store:
        manifest = store.manifest_of("main-6")
        assert manifest is not None
        assert store.find(manifest.key) is None  # which notices
        delete(store, [entries()["main-7"]])
    found = states()
    expected = "needed superseded current current unrecorded unfinished damaged deleted current"
    assert found == {f"main-{number}": state for number, state in enumerate(expected.split())}
    # For the others see tests/cli/test_cli_read_only.py and test_upkeep_verification.py.
    assert set(found.values()) == set(STATES) - {"unreadable", "outdated"}


def test_what_a_job_is(jobs: ToyJobs) -> None:
    manifest = jobs.make("A", age=100, large=5000)
    jobs.ended()
    (each,) = entries().values()
    said = each.job, each.stage, each.partition, each.pipelines
    assert said == ("main-0", "scores", "A", (Purpose("build_toy small"),))
    assert (each.seconds, each.sources, each.parent, each.script) == (1.5, (), "", False)
    assert each.size == sum(file.stat().st_size for file in each.folder.iterdir())
    assert each.size > sum(size for size, _ in manifest.files.values()) > 5000
    # A job for all has no partition, whether its method has such an option or not.
    jobs.make(None)
    jobs.make(None, options={"partition": None})
    assert [each.partition for each in entries().values()] == ["A", "", ""]


def test_what_a_needed_job_was_made_from_is_needed(jobs: ToyJobs) -> None:
    """Though jobs that came out the same have taken the places of some."""
    two = jobs.make(method="two", above={"all": [jobs.make(method="one")]})
    jobs.make(method="one", options={"x": 1})
    jobs.make(method="three", above={"two": two})
    jobs.make(method="two", options={"x": 1})
    jobs.ended()
    expected = ["needed", "needed", "current", "current", "current"]
    assert states() == {f"main-{number}": state for number, state in enumerate(expected)}


def test_jobs_of_a_pipeline_that_did_not_end_are_all_needed(jobs: ToyJobs) -> None:
    """And those of which a lost index knows nothing; not those of a partition that a study lost."""
    jobs.make("A")
    jobs.make("B")
    assert set(states().values()) == {"needed"}
    jobs.ended()
    del jobs.places[Place(PIPELINE, "scores", "A", "1")]
    jobs.ended()
    jobs.make(options={"x": 2}, pipeline="build_toy other")
    assert states() == {"main-0": "superseded", "main-1": "current", "main-2": "needed"}
    for file in (jobs.project / "workdirs/main/.shortloop").iterdir():
        file.unlink()
    assert set(states().values()) == {"needed"}
    assert entries()["main-0"].size > 0


def test_a_job_of_two_pipelines_is_current_while_one_has_it(jobs: ToyJobs) -> None:
    jobs.make()
    jobs.ended()
    with Store() as store:
        store.index.put_in_places({(place := Place("ridge small", "scores", "A", "1")): "main-0"})
        store.index.finish_pipeline("ridge small", [place])
    assert entries()["main-0"].pipelines == (Purpose("build_toy small"), Purpose("ridge small"))
    assert states("build_toy small") == {"main-0": "current"}
    assert states("build_toy small", "ridge small") == {"main-0": "superseded"}


def test_only_the_newest_job_of_a_build_script_is_needed(jobs: ToyJobs) -> None:
    for _ in range(2):
        jobs.unrecorded(finished=True, script=True)
    jobs.unrecorded(finished=False, script=True)
    assert [each.script for each in entries().values()] == [True] * 3
    assert states() == {"main-0": "superseded", "main-1": "superseded", "main-2": "unfinished"}
