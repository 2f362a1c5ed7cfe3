"""What a pipeline asks for, sorted out by what the stage says that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs_project import write
from pydantic import BaseModel
from refusal import refusal

from shortloop.keys.options import plain
from shortloop.plan.pipeline import Built, Call
from shortloop.plan.request import Request, request
from shortloop.stages.inputs import File
from shortloop.store.index import Place

FIT = """\
from __future__ import annotations

from typing import Any

from shortloop.exax.method import exax_method
from shortloop.stages.stage import File, Job, Stage


class Fit(Stage):
    siblings = ("spec.name", "kind")
    grows = "count"
    spec: dict[str, Any]
    kind: str = "ols"
    count: int = 10
    file: File | None = None
    panel: Job
    others: list[Job]
    extra: Job | None
    later: list[Job] = []

    @classmethod
    def modules(cls, options):
        return [options["spec"]["module"]] if "module" in options["spec"] else []

    def units(self):
        return self.count


globals().update(exax_method(Fit, __file__))
"""
PLAIN = """\
options = {"number": 1, "more": None, "partition": None}
jobs = ("first", ["many"], "before")
siblings = ("number",)
grows = "number"


def synthesis():
    pass
"""


@pytest.fixture
def methods(package: Path) -> Path:
    write(package, "methods/a_fit.py", FIT)
    write(package, "methods/a_plain.py", PLAIN)
    return package


PANEL, OTHER = Built("main-1", "panel", None, content="c1"), Built("main-2", "panel", "A", content="c2")
JOBS: dict[str, Any] = {"panel": PANEL, "others": [OTHER, PANEL]}
SPEC = {"name": "a", "terms": ["x", "y"]}


def asked(
    stage: str = "fit",
    partition: str | None = None,
    *,
    modules: tuple[str, ...] = (),
    seen: dict[Place, int] | None = None,
    **arguments: Any,
) -> Request:
    return request("chain", stage, partition, Call(arguments, modules), {} if seen is None else seen)


def test_the_stage_says_which_argument_is_what(methods: Path) -> None:
    wanted = asked(partition="A", spec=SPEC, count=3, **JOBS)
    assert wanted.options == {"spec": SPEC, "kind": "ols", "count": 3, "file": None, "partition": "A"}
    assert wanted.jobs == JOBS
    assert (wanted.stage, wanted.partition, wanted.grows, wanted.modules) == ("fit", "A", "count", ())
    assert wanted.ids() == {"panel": "main-1", "others": ["main-2", "main-1"]}
    without = asked(spec=SPEC, **JOBS)
    parts = without.parts()  # its key is made of the content of its jobs
    assert parts.inputs == {"panel": "c1", "others": ["c2", "c1"]}
    assert parts.method == "methods.fit"
    assert parts.options == {"spec": SPEC, "kind": "ols", "count": 10, "file": None}
    assert asked(spec=SPEC, count=10, kind="ols", **JOBS).parts().key() == parts.key()
    assert asked(spec=SPEC, extra=None, **JOBS) == without
    assert asked(spec=SPEC, extra=OTHER, **JOBS).ids()["extra"] == "main-2"
    assert asked(spec=SPEC, panel=PANEL, others=()).ids() == {"panel": "main-1", "others": []}
    # A list with a default need not be given, so that build scripts of before still ask for the stage.
    assert "later" not in without.ids()
    assert asked(spec=SPEC, later=[OTHER], **JOBS).ids()["later"] == ["main-2"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"spec": SPEC, "others": []}, "no panel"),
        ({"panel": PANEL, "others": []}, "no spec"),
        ({**JOBS, "spec": SPEC, "cuont": 3, "applied": OTHER}, "applied, cuont"),
        ({"spec": SPEC, "panel": None, "others": None}, "no others, no panel"),
        ({"specs": SPEC}, "specs, no others, no panel, no spec"),
        ({**JOBS, "spec": SPEC, "before": OTHER}, "before"),
    ],
)
def test_unknown_or_missing_arguments_are_named(methods: Path, arguments: dict[str, Any], found: str) -> None:
    with refusal(
        "wrong arguments for the stage fit",
        found=found,
        expected="spec, kind, count, file, extra, later, others, panel",
    ):
        asked(**arguments)


UNITS = """
from shortloop import Job, stage


def rows(data: Job):
    return [(1, 2)]


@stage(units=rows)
def each(unit, power: int, data: Job):
    return {"n": power}
"""


def test_an_option_in_the_place_of_a_unit_is_explained(methods: Path) -> None:
    write(methods, "methods/a_each.py", UNITS)
    with refusal("wrong arguments for the stage each", "before power"):
        asked("each", power=2, data=PANEL)


@pytest.mark.parametrize("wrong", ["main-1", [PANEL, "main-1"], 3, {"a": PANEL}, [PANEL], (), ["main-1"]])
def test_what_is_no_job_is_refused(methods: Path, wrong: object) -> None:
    with refusal("the stage fit is made from jobs", field="panel", expected="what `run.build` gave, one job"):
        asked(spec=SPEC, panel=wrong, others=[])
    with refusal("an option of fit is not plain data", f"a job: {PANEL}", "`kind: Job`"):
        asked(spec=SPEC, kind=PANEL, **JOBS)  # nor is a job an option


@pytest.mark.parametrize("wrong", ["main-1", [PANEL, "main-1"], PANEL, {"a": PANEL}, [[PANEL]]])
def test_what_is_no_list_of_jobs_is_refused(methods: Path, wrong: object) -> None:
    fit: dict[str, Any] = {"spec": SPEC, "panel": PANEL, "others": wrong}
    plain_method: dict[str, Any] = {"many": wrong}
    for stage, given in (("fit", fit), ("plain", plain_method)):
        with refusal(f"the stage {stage} is made from jobs", field=list(given)[-1]) as caught:
            asked(stage, **given)
        assert str(caught.value.expected).startswith("a list")
        assert (wrong is not PANEL) or caught.value.hint == f"write `{list(given)[-1]}=[…]`"


class Settings(BaseModel):
    C: float
    path: Path = Path("x")


SETTINGS = {"C": 2.0, "path": "x"}


@dataclass
class Term:
    x: int
    inside: tuple[Any, ...] = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Settings(C=2), SETTINGS),
        (Term(1, (Term(2), Settings(C=2))), {"x": 1, "inside": [{"x": 2, "inside": []}, SETTINGS]}),
        (File("c7", Path("elsewhere/a.npz")), "c7"),
        ({"a": [File("c7", Path("a"))], "b": {"c": File("", Path("b"))}}, {"a": ["c7"], "b": {"c": ""}}),
        ((1, "a", None, True, 2.5), [1, "a", None, True, 2.5]),
    ],
)
def test_records_and_files_become_plain_data(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert plain([value]) == [expected]


@pytest.mark.parametrize("wrong", [Path("a.npz"), np.float64(1), {1, 2}, {"a": (Path("b"),)}])
def test_other_options_are_refused(methods: Path, wrong: object) -> None:
    with refusal("an option of fit is not plain data") as caught:
        asked(spec={"name": "a", "x": wrong}, **JOBS)
    assert str(caught.value.field).startswith("option spec.x")


@pytest.mark.parametrize("wrong", [3, "", ("A", 1), b"A"])
def test_a_partition_is_some_text(methods: Path, wrong: Any) -> None:
    with refusal("a partition's name must be a string", found=repr(wrong)):
        asked(partition=wrong, spec=SPEC, **JOBS)
    with refusal(r"option partition\n(.|\n)*numpy.str_"):
        asked(partition=np.str_("A"), spec=SPEC, **JOBS)


def test_siblings_have_places_of_their_own_in_any_order(methods: Path) -> None:
    def places(names: list[str]) -> list[Place]:
        seen: dict[Place, int] = {}
        return [asked(spec={"name": name}, seen=seen, **JOBS).place for name in names]

    first, second = places(["a", "b"])
    assert first != second
    assert places(["b", "a"]) == [second, first]
    assert first._replace(sibling="") == Place("chain", "fit", None, "")
    assert asked(spec={"name": "a"}, count=99, **JOBS).place == first
    assert asked(spec={"name": "a"}, kind="gls", **JOBS).place != first
    assert asked(spec={}, **JOBS).place != asked(spec={"name": "None"}, **JOBS).place
    seen: dict[Place, int] = {}  # jobs that nothing tells apart are numbered
    found = [asked(partition=who, spec=SPEC, seen=seen, **JOBS).place for who in ("A", "A", "B", "A")]
    assert len(set(found)) == 4
    seen.clear()
    again = [asked(partition=who, spec=SPEC, seen=seen, **JOBS).place for who in ("B", "A", "A", "A")]
    assert again == [found[place] for place in (2, 0, 1, 3)]


def test_no_name_makes_two_siblings_one(methods: Path) -> None:
    def places(names: list[tuple[str, str]]) -> list[Place]:
        seen: dict[Place, int] = {}
        return [asked(spec={"name": name}, kind=kind, seen=seen, **JOBS).place for name, kind in names]

    names = [("a b", "c"), ("a", "b c"), ("a", "b"), ("a", "b #2"), ("a b #2", ""), ('"a", "b', "c")]
    assert len(set(places(names * 2))) == 2 * len(names)
    assert places(names[::-1]) == places(names)[::-1]


def test_modules_that_a_stage_or_a_pipeline_names(methods: Path) -> None:
    write(methods, "mine.py", "x = 1\n")
    spec = {"name": "a", "module": "mine"}
    wanted = asked(spec=spec, modules=("json", "mine"), **JOBS)
    assert wanted.modules == ("json", "mine")
    assert wanted.options["modules"] == ["json", "mine"]
    assert "mine" in wanted.parts().code
    assert asked(spec=spec, **JOBS).modules == ("mine",)
    assert "modules" not in asked(spec=SPEC, **JOBS).options


def test_a_method_that_is_no_stage_says_it_as_exax_has_it(methods: Path) -> None:
    wanted = asked("plain", "A", modules=("json",), number=3, many=[PANEL, OTHER])
    assert wanted.options == {"number": 3, "partition": "A"}  # exax adds its defaults
    assert wanted.ids() == {"many": ["main-1", "main-2"]}
    assert (wanted.grows, wanted.modules) == ("number", ("json",))
    assert asked("plain", number=3).place != asked("plain", number=4).place
    with refusal(
        "wrong arguments for the stage plain",
        found="before, numbr",
        expected="number, more, partition, first, many",
    ):
        asked("plain", before=PANEL, numbr=2)


@pytest.mark.parametrize(
    ("name", "text", "said", "where"),
    [
        ("methods/a_bad.py", "\nimport no_such_thing\n", "the method bad cannot", "a_bad.py, line 2"),
        ("methods/a_bad.py", "\n1 / 0\n", "ZeroDivisionError", "a_bad.py, line 2"),
        ("methods/a_bad.py", "\ndef f(:\n", "a file is not Python", "a_bad.py, line 2"),
        ("shortloop/inner.py", "x = (\n", "a file is not Python", "inner.py, line 1"),
    ],
)
def test_a_method_that_cannot_be_imported(methods: Path, name: str, text: str, said: str, where: str) -> None:
    write(methods, "methods/a_bad.py", "def synthesis():\n    import shortloop.inner\n")
    write(methods, name, text)
    with refusal(said, where) as caught:
        asked("bad")
    assert "importlib" not in caught.value.message
