"""What a pipeline sees of a run and of its jobs."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project, make_job, own_package, write
from jobs_runs import Runs
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.plan.pipeline import Built, Call, Run
from shortloop.plan.request import problem_of
from shortloop.project.project import project_directory
from shortloop.stages.inputs import File
from shortloop.stages.records import FORMAT, write_record
from shortloop.store.inputs import last_place, locate, name_of, note_locations, register

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
def fit(number: int, stage: str = ""):
    return {"number": number}
"""
CLASS = """\
from shortloop.exax.method import exax_method
from shortloop.stages.stage import Stage


class Fit(Stage):
    number: int
    stage: str = ""


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
    plan = Runs(package).plan(lambda run: run.build(itself, number=1, stage="N2"))  # as of sleep
    assert plan.requests[0].options["stage"] == "N2"


def test_what_is_no_stage_is_refused(package: Path) -> None:
    write(package, "methods/a_one.py", FUNCTION)
    module = importlib.import_module("methods.a_one")
    wrong: Any
    for wrong in (module.helper, module.stage, len, module.fit.shortloop_stage.__mro__[1], None):
        with refusal("is not a stage"):
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


def job(folder: Path, name: str, **record: Any) -> Built:
    (folder / name).mkdir()
    whole = {"format": FORMAT, "stage": "s", "partition": None, "arrays": {}, "facts": {}, "problem": None}
    whole |= {"threads": [], "versions": {}, **record}
    (folder / name / "record.json").write_text(json.dumps(whole), encoding="utf-8")
    (folder / name / "setup.json").write_text("{}", encoding="utf-8")
    return Built(name, "s", None, folder / name)


@pytest.mark.parametrize(
    ("said", "now"),
    [
        ("bad\n  file: /old/S1.npz", "bad\n  file: /new/person.npz"),
        ("bad in S1.npz: no y", "bad in person.npz: no y"),
        ("/old/S1.npz.bak, S1.npz and AS1.npz.", "/old/S1.npz.bak, person.npz and AS1.npz."),
        ("/old/S2.npz", "/old/S2.npz"),
        ("/old/S1.npz, /old/S3.npz", "/new/person.npz, /old/S1.npz"),  # names that were exchanged
    ],
)
def test_old_names_become_those_of_now(project: Path, said: str, now: str) -> None:
    located = {"1": "/old/S1.npz", "2": "/old/S2.npz", "3": "/old/S3.npz"}
    rejected = job(project, "main-1", problem=said, located=located)
    assert problem_of(rejected, [], {"1": Path("/new/person.npz"), "3": Path("/old/S1.npz")}) == now


def test_names_are_also_those_of_the_jobs_above(project: Path) -> None:
    above = job(project, "main-1", facts={"files": {"study": [{"name": "S1.npz", "content": "1"}]}})
    others = job(project, "main-2", facts={"files": "of another kind"})
    foreign = Built("main-4", "csvimport", None, project / "main-4")  # a method of others leaves no record
    (project / "main-4").mkdir()
    (project / "main-4/setup.json").write_text('{"method": "csvimport", "options": {}}', encoding="utf-8")
    rejected = job(project, "main-3", problem="other channels\n  file: S1.npz")
    said = problem_of(rejected, [foreign, above, others], {"1": Path("/new/person.npz")})
    assert said == "other channels\n  file: person.npz"


def test_a_content_is_where_it_was_pointed_to(project: Path) -> None:
    for name in ("a", "b"):
        (project / name).write_text("the same")
    content, same = register([project / "a", project / "b"])
    assert content == same
    assert last_place(content) == project / "b"
    note_locations([(content, project / "a")])
    assert locate(content) == last_place(content) == project / "a"
    assert name_of(content) == "a"
    assert last_place("0" * 64) is None
