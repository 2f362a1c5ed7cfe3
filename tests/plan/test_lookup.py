"""The look-up that planner and executor share: which job is there, in which place, and which was before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_project import empty_project, own_package, write
from jobs_runs import Runs

from shortloop.plan.pipeline import REUSE, Built, Call
from shortloop.plan.planner import Lookup
from shortloop.plan.request import Request
from shortloop.store.index import Place
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)

METHOD = "options = {'number': 0, 'partition': None}\njobs = ('first',)\n\n\ndef synthesis():\n    pass\n"


@pytest.fixture
def lookup(package: Path) -> Iterator[Lookup]:
    """One job of a number was built."""
    write(package, "methods/a_toy.py", METHOD)
    Runs(package).run(lambda run: run.build("toy", partition="A", number=1))
    with Store() as store:
        yield Lookup(store, "toy")


def asked(lookup: Lookup, **arguments: object) -> Request:
    return lookup.request("toy", "A", Call(arguments))


def test_a_job_that_is_there(lookup: Lookup) -> None:
    wanted = asked(lookup, number=1)
    found = lookup.find(wanted, wanted.parts())
    assert found is not None
    assert (found.job, found.stage, found.partition, found.plan) == ("main-0", "toy", "A", REUSE)
    assert (found.fresh, found.rejected, found.seconds) == (False, False, 0.25)
    assert found.content
    assert found.result().facts["options"] == {"number": 1, "partition": "A"}
    assert lookup.places == {Place("toy", "toy", "A", ""): "main-0"}


def test_a_job_that_is_not_there(lookup: Lookup) -> None:
    wanted = asked(lookup, number=2)
    assert lookup.find(wanted, wanted.parts()) is None
    assert lookup.places == {}
    before = lookup.before(wanted)
    assert before is not None
    assert before.job == "main-0"
    assert lookup.reason(wanted, wanted.parts()) == "option number: 1 → 2"


def test_what_another_pipeline_built_is_there_and_was_not_before(lookup: Lookup) -> None:
    other = Lookup(lookup.store, "other")
    wanted = asked(other, number=1)
    assert other.find(wanted, wanted.parts()) is not None
    assert other.before(wanted) is None
    assert other.reason(wanted, wanted.parts()) == "new"


def test_nothing_is_there_that_is_made_from_what_nobody_knows_yet(
    lookup: Lookup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup.store, "find", lambda key: pytest.fail("looked"))
    wanted = asked(lookup, number=1, first=Built("", "first", None))
    assert lookup.find(wanted, wanted.parts()) is None


def test_the_same_job_twice_has_two_places(lookup: Lookup) -> None:
    for _ in range(2):
        wanted = asked(lookup, number=1)
        lookup.find(wanted, wanted.parts())
    assert list(lookup.places.values()) == ["main-0", "main-0"]


def test_a_job_that_is_made_from_none_of_a_list_is_there(package: Path) -> None:
    write(package, "methods/a_many.py", METHOD.replace("'first',", "['every'],"))
    runs = Runs(package)
    for built in (1, 0):
        run = runs.run(lambda run: run.build("many", every=[], number=1))
        assert sum(job.fresh for job in run.jobs) == built
