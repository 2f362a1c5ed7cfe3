"""What a pipeline sees of a run and of its jobs."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project, make_job, own_package, write
from jobs_runs import Runs

from shortloop.base.errors import InputError
from shortloop.plan.pipeline import Built, Call, Run
from shortloop.project.project import project_directory
from shortloop.stages.inputs import File
from shortloop.stages.records import write_record

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)


class Nothing(Run):
    """Builds nothing and reads nothing."""

    def ask(self, stage: str, partition: str | None, call: Call) -> Built:
        return Built("", stage, partition)

    def files(self, paths: Sequence[Path]) -> list[File]:
        return [File(path.name, path) for path in paths]


def test_a_run_has_a_name_and_jobs() -> None:
    run = Nothing("toy")
    assert (run.name, run.jobs) == ("toy", [])
    assert run.file(Path("/x/a.csv")) == File("a.csv", Path("/x/a.csv"))
    assert run.file("x/a.csv") == File("a.csv", project_directory() / "x/a.csv")


FUNCTION = """\
from shortloop.exax.declare import stage


def helper():
    pass


@stage
def fit(number: int):
    return {"number": number}
"""
CLASS = """\
from shortloop.exax.method import exax_method
from shortloop.stages.stage import Stage


class Fit(Stage):
    number: int


globals().update(exax_method(Fit, __file__))
"""


@pytest.mark.parametrize(("text", "name"), [(FUNCTION, "fit"), (CLASS, "Fit")])
def test_a_stage_itself_stands_for_its_name(package: Path, text: str, name: str) -> None:
    """Also for the key and the place of its job: an unchanged job is found under either."""
    write(package, "methods/a_one.py", text)
    itself = getattr(importlib.import_module("methods.a_one"), name)
    plans = [
        Runs(package).plan(lambda run, stage=stage: run.build(stage, partition="A", number=1))  # type: ignore[misc]
        for stage in ("one", itself)
    ]
    assert plans[0].requests == plans[1].requests
    assert plans[0].requests[0].parts() == plans[1].requests[0].parts()


def test_what_is_no_stage_is_refused(package: Path) -> None:
    write(package, "methods/a_one.py", FUNCTION)
    module = importlib.import_module("methods.a_one")
    wrong: Any
    for wrong in (module.helper, module.stage, len, module.fit.shortloop_stage.__mro__[1], None):
        with pytest.raises(InputError, match="is not a stage"):
            Nothing("toy").build(wrong)


def test_the_result_of_a_job(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_job(project, "main-3")
    with monkeypatch.context() as inside:
        inside.chdir(folder)
        write_record("toy", "A", {}, facts={"n": 1})
    built = Built("main-3", "toy", "A", folder)
    assert built.result().facts == {"n": 1}
    assert built["n"] == 1
    with pytest.raises(TypeError):
        iter(built)  # type: ignore[call-overload]
    with pytest.raises(InputError):
        Built("", "toy", "A").result()
