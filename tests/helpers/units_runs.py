"""Pipelines of stages with units, run in this process by an exax that is none."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from accelerator import g
from jobs_exax import Exax, FakeJob
from jobs_project import write
from jobs_runs import Runs

from shortloop.exax import method as method_module
from shortloop.exax.cost import COSTS, WORK
from shortloop.plan.pipeline import Built, Call, Run
from shortloop.plan.planner import Lookup
from shortloop.stages.function import UnitsStage
from shortloop.stages.results import Result
from shortloop.store.manifest import Harmless
from shortloop.store.store import Store, declare

METHOD = '''\
"""Powers of numbers that are given by name; each is a unit."""

from shortloop import stage


def chosen(names: list[int], shift: int = 0):
    return [(f"n{each}", each + shift) for each in names]


@stage(units=chosen)
def fit(number: int, power: int = 1, label: str = ""):
    return {"x": number**power, "label": label}
'''


class MethodJob(FakeJob):
    """A job as exax gives it to a method."""

    early = False
    registered: list[str]

    def register_file(self, name: str) -> None:
        assert Path(name).is_file()
        self.registered.append(name)

    def finish_early(self) -> None:
        self.early = True


def run_method(
    made: Mapping[str, Any], job: MethodJob, options: Mapping[str, Any], jobs: Mapping[str, Any], slices: int
) -> None:
    """Run what exax finds in a file of a method, in the folder of a job, one slice after the other."""
    job.registered = []
    with contextlib.chdir(job.path), pytest.MonkeyPatch.context() as patch:
        patch.setattr(g, "options", {**made["options"], **options}, raising=False)
        patch.setattr(g, "jobs", dict(jobs), raising=False)
        patch.setattr(g, "datasets", {}, raising=False)
        patch.setattr(g, "slices", slices, raising=False)
        # This process has threads of libraries that other tests use; a job's has not.
        patch.setattr(method_module, "threads_lost_by_fork", list)
        if "prepare" not in made:
            made["synthesis"](job)
            return
        prepared = made["prepare"](job)
        if not job.early:
            results = [made["analysis"](number, prepared) for number in range(slices)]
            made["synthesis"](job, prepared, iter(results))


class UnitsExax(Exax):
    """Runs the methods, one slice after the other."""

    before_job: Callable[[], object] = staticmethod(lambda: None)

    def _job(
        self, method: str, loaded: str, options: dict[str, Any], jobs: dict[str, Any], caption: str
    ) -> FakeJob:
        self.before_job()
        made = super()._job(method, loaded, options, jobs, caption)
        job = MethodJob(made)
        job.path = made.path
        found: Mapping[str, Any] = vars(importlib.import_module(f"methods.a_{method}"))
        try:
            run_method(found, job, options, jobs, 2)
        except BaseException:
            Path(made.path, "post.json").unlink()
            raise
        Path(made.path, COSTS).write_text(json.dumps({"work": WORK}))
        return made


class UnitsRuns(Runs):
    """Runs jobs of the stage ``fit``, and says which numbers were computed."""

    def __init__(self, project: Path, patch: pytest.MonkeyPatch) -> None:
        super().__init__(project)
        self.exax: UnitsExax = UnitsExax(project)
        self.computed: list[str] = []
        self.examples = 0
        self.before_each: Callable[[], object] = lambda: None
        write(project, "methods/a_fit.py", METHOD)
        compute = UnitsStage.compute

        def counted(stage: UnitsStage, unit: int) -> Any:
            self.before_each()
            self.computed.append(str(stage.unit_names()[unit]))
            return compute(stage, unit)

        patch.setattr(UnitsStage, "compute", counted)

    def edit(self) -> None:
        """Another text of the method, which computes the same."""
        write(self.exax.project, "methods/a_fit.py", METHOD.replace("number**power", "pow(number, power)"))
        del sys.modules["methods.a_fit"]

    def declare_harmless(self, **asked: Any) -> None:
        """The edit does not change what the job left that was in the place of this one before."""
        with Store() as store:
            lookup = Lookup(store, self.name)
            wanted = lookup.request("fit", asked.pop("partition", None), Call(asked))
            before = lookup.before(wanted)
            assert before is not None
            found = store.find(before.key)
            assert found is not None
            declare(store, found, Harmless.between(before.parts, wanted.parts(), "the same", "code"))

    def fit(self, *asked: Mapping[str, Any]) -> tuple[list[Built], list[str]]:
        """The jobs, each with its arguments, and the names of the units that were computed."""
        self.computed.clear()

        def pipeline(run: Run) -> Built:
            return [run.build("fit", **each) for each in asked][-1]

        jobs = self.run(pipeline).jobs
        for job, each in zip(jobs, asked, strict=True):
            check(job.result(), **each)
        return jobs, sorted(self.computed)


def check(
    found: Result, names: list[int], shift: int = 0, power: int = 1, label: str = "", **more: Any
) -> None:
    """A job has the values that its arguments say."""
    assert found.facts["units"] == [f"n{each}" for each in names]
    assert found["x"].tolist() == [(each + shift) ** power for each in names]
    assert found["label"].tolist() == [label] * len(names)
