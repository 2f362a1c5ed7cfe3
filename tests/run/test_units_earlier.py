"""Rows of units are looked up by the unit's key, whichever earlier job has them."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jobs_project import write
from units_runs import UnitsRuns

from shortloop.plan.pipeline import Built, Run


@pytest.fixture
def runs(package: Path, monkeypatch: pytest.MonkeyPatch) -> UnitsRuns:
    return UnitsRuns(package, monkeypatch)


def upto(count: int, **more: Any) -> dict[str, Any]:
    return {"names": [*range(count)], **more}


def test_units_of_the_job_before_last_are_not_computed_again(runs: UnitsRuns) -> None:
    """Fewer units for a while, then one more than at first: that one is computed."""
    assert len(runs.fit(upto(120))[1]) == 120
    assert runs.fit(upto(10))[1] == []
    (job,), computed = runs.fit(upto(121))
    assert computed == ["n120"]
    assert job.reason.startswith("1 of 121 units computed; ")


@pytest.mark.parametrize("earlier", [0, 30])
def test_units_of_an_interrupted_run_are_not_said_to_be_computed(runs: UnitsRuns, earlier: int) -> None:
    """Nor are those of an earlier job counted as resumed."""
    if earlier:
        runs.fit(upto(earlier))

    def interrupt() -> None:
        if len(runs.computed) == 40:
            raise KeyboardInterrupt

    runs.before_each = interrupt
    with pytest.raises(KeyboardInterrupt):
        runs.fit(upto(120))
    before = {*runs.computed}
    runs.before_each = lambda: None
    gc.collect()  # the checkpoint of the interrupted job is locked by it
    (job,), computed = runs.fit(upto(120))
    kept = 120 - earlier - len(computed)
    assert 0 < kept <= len(before)
    assert job.reason.startswith(
        f"{len(computed)} of 120 units computed, {kept} resumed from an interrupted run; "
    )


def test_rows_of_several_jobs_are_put_together(runs: UnitsRuns) -> None:
    jobs, _ = runs.fit({"names": [1, 2, 3]}, {"names": [3, 4]}, {"names": [5]})
    (job,), computed = runs.fit({"names": [6, 5, 4, 3, 2, 1]})
    assert computed == ["n6"]
    result = job.result()
    assert result.record["taken"] == {jobs[0].job: 3, jobs[1].job: 1, jobs[2].job: 1}
    assert "_earlier" not in result.options
    assert result.sources() == []  # it can be used without them


def test_jobs_of_the_same_partition_are_asked_first(runs: UnitsRuns) -> None:
    """Others are more than are asked."""
    parts: list[dict[str, Any]] = [
        {"partition": f"P{part}", "names": [part * 100, part * 100 + 1]} for part in range(22)
    ]
    runs.fit(*parts)
    runs.fit(*({**each, "names": each["names"][:1]} for each in parts))
    more = [{**each, "names": [*each["names"], part * 100 + 2]} for part, each in enumerate(parts)]
    assert runs.fit(*more)[1] == sorted(f"n{100 * part + 2}" for part in range(22))


def test_jobs_that_are_gone_or_damaged_give_nothing(runs: UnitsRuns) -> None:
    jobs, _ = runs.fit({"names": [1, 2]}, {"names": [3, 4]}, {"names": [5, 6]})
    shutil.rmtree(jobs[0].path)
    file = jobs[1].path / "units.rows"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert runs.fit({"names": [1, 2, 3, 4, 5, 6]})[1] == ["n1", "n2", "n3", "n4"]


@pytest.mark.parametrize("how", ["folder", "rows", "cut off"])
def test_jobs_that_vanish_as_they_are_asked_give_nothing(runs: UnitsRuns, how: str) -> None:
    (job,), _ = runs.fit({"names": [1, 2]})
    file = job.path / "units.rows"

    def vanish() -> None:
        runs.exax.before_job = lambda: None
        if how == "folder":
            shutil.rmtree(job.path)
        elif how == "rows":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:-3])

    runs.exax.before_job = vanish
    assert runs.fit({"names": [1, 2, 3]})[1] == ["n1", "n2", "n3"]


class CutOff(BaseException):
    """As if the process had ended."""


def test_a_job_that_was_cut_off_goes_on_though_others_may_give_rows_now(runs: UnitsRuns) -> None:
    runs.fit({"names": [1, 2]})
    wanted = {"names": [*range(1, 11)]}

    def stop() -> None:
        if len(runs.computed) == 3:
            raise CutOff

    runs.before_each = stop
    with pytest.raises(CutOff):
        runs.fit(wanted)
    runs.told.events.clear()  # they know the job, and so its error
    gc.collect()  # which lets go of the lock of the job
    before = {*runs.computed}
    runs.before_each = lambda: None
    runs.fit({"names": [9, 10, 11], "partition": "other"})
    more = {*runs.computed}
    _, computed = runs.fit(wanted)
    assert {*computed} == {f"n{each}" for each in range(3, 11)} - before - more
    assert len(before) == 3


@pytest.mark.parametrize("forget", [False, True])
def test_rows_of_jobs_that_were_declared_harmless_are_taken(runs: UnitsRuns, forget: bool) -> None:
    """Also when the index is made anew, from what is kept with the jobs; not those of other jobs, which may
    be what the edit has changed."""
    runs.fit(upto(8))
    runs.fit(upto(5))
    runs.edit()
    runs.declare_harmless(**upto(5))
    if forget:
        shutil.rmtree(runs.exax.project / "workdirs/.cache")
    assert runs.fit(upto(5))[1] == []
    assert runs.fit(upto(7))[1] == ["n5", "n6"]
    assert runs.fit(upto(6, power=2))[1] == [f"n{each}" for each in range(6)]


PARTITIONS = st.sampled_from([None, "A", "B"])
JOBS = st.fixed_dictionaries(
    {
        "names": st.lists(st.integers(0, 12), min_size=1, unique=True),
        "power": st.integers(1, 2),
        "shift": st.sampled_from([0, 0, 3]),
        "partition": PARTITIONS,
    }
)
RUNS = st.lists(st.lists(JOBS, min_size=1, max_size=3), min_size=2, max_size=6)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(asked=RUNS)
def test_each_unit_is_computed_once(runs: UnitsRuns, asked: list[list[dict[str, Any]]]) -> None:
    """Whichever jobs were asked for before, in whichever runs: fewer of them than are asked for rows."""
    runs.examples += 1
    label, known = f"example {runs.examples}", set[tuple[int, int]]()
    for each in asked:
        wanted = [{**job, "label": label} for job in each]
        new = {(name + job["shift"], job["power"]) for job in each for name in job["names"]} - known
        _, computed = runs.fit(*wanted)
        assert len(computed) == len(new)
        known |= new


OWN = '''\
"""Numbers with the partition that they are of."""

from shortloop import CollectingStage, Finished, stage


@stage
class Own(CollectingStage):
    """A unit is a number; its key says so, and nothing of the partition."""

    unit_fields = ("factor",)
    names: list[int]
    factor: int = 1

    def units(self):
        return len(self.names)

    def unit_key(self, unit):
        return self.names[unit].to_bytes(20, "little")

    def compute(self, unit):
        return {"said": f"{self.factor * self.names[unit]} of {self.partition}"}

    def finish(self, out):
        from shortloop.stages.rows import unpack

        return Finished({"said": [str(unpack(row)["said"]) for row in out.rows], "units": self.names})
'''


def test_units_of_a_class_are_of_one_partition(runs: UnitsRuns) -> None:
    """They can look at it, whatever their key says."""
    write(runs.exax.project, "methods/a_own.py", OWN)

    def pipeline(run: Run) -> Built:
        for part in "AB":
            run.build("own", partition=part, names=names, factor=factor)
        return run.jobs[-1]

    taken = []
    for names, factor in (([1, 2, 3], 1), ([1], 1), ([1, 2, 3, 4], 1), ([1, 2], 2)):
        found = [job.result() for job in runs.run(pipeline).jobs]
        for part, job in zip("AB", found):
            assert job.facts["said"] == [f"{factor * each} of {part}" for each in names]
        taken.append([sum(job.record.get("taken", {}).values()) for job in found])
    assert taken == [[0, 0], [1, 1], [3, 3], [0, 0]]
