"""What a stage is given: which of its annotations are options and which are jobs, and options as typed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Optional

import numpy as np
import pytest
from in_process import do_job
from refusal import refusal
from toy_stages import Numbers, Powers, task_of

from shortloop.base.errors import TransientError
from shortloop.exax.declare import stage
from shortloop.stages.dataset import Dataset
from shortloop.stages.function import stage_of_function
from shortloop.stages.needs import NOT_IN_KEY, Needs, needs_of
from shortloop.stages.results import Where
from shortloop.stages.stage import STAGE_OF, File, Job, Stage
from shortloop.stages.task import REQUIRED, Task, costs_of, fields_of, open_stage, typed_options

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction as Share

    from pydantic import PositiveInt


class Plain(Stage):
    """Every kind of field."""

    siblings = ("name",)
    name: str
    count: PositiveInt
    price: Decimal | None = None
    shares: list[Share] = []  # noqa: RUF012
    table: dict[str, Any] = {}  # noqa: RUF012  as a user writes it
    file: File
    files: dict[str, list[File]] = {}  # noqa: RUF012
    panel: Job
    groups: list[Job]
    extra: Job | None
    LIMIT: ClassVar[int] = 3
    untyped = 7


class Inherits(Plain):
    count = 5
    price: Decimal | None = None
    more: bool = False
    second: Job


class Nothing(Stage):
    pass


FILES = {"c1": Path("one.npz"), "c2": Path("two.npz")}
GIVEN: dict[str, Any] = {"name": "a", "count": 2, "file": "c1"}


def test_options_jobs_and_datasets_are_told_apart_in_order() -> None:
    fields = fields_of(Plain)
    defaults: dict[str, Any] = {"price": None, "shares": [], "table": {}, "file": REQUIRED, "files": {}}
    assert [*fields.options.items()] == [("name", REQUIRED), ("count", REQUIRED), *defaults.items()]
    assert fields.jobs == {"panel": "one", "groups": "many", "extra": "optional"}
    inherited = fields_of(Inherits)
    assert list(inherited.options) == [*fields.options, "more"]
    assert (inherited.options["count"], inherited.options["more"]) == (5, False)
    assert inherited.jobs == fields.jobs | {"second": "one"}
    rows = fields_of(Rows)
    assert rows.datasets == {"rows": "one", "many": "many", "more": "optional"}
    assert (rows.jobs, list(rows.options)) == ({"job": "one"}, ["name"])


def units(unit_key: int) -> dict[str, int]:
    return {"a": unit_key}


def fit(read: int, unit_key: int) -> dict[str, int]:
    return {"sum": read + unit_key}


@pytest.mark.parametrize("name", ["partition", "modules", "units", "grows", "before", "datasets", "_own"])
@pytest.mark.parametrize("annotation", ["int", "Job", "list[Job]"])
def test_names_that_mean_something_else(name: str, annotation: str) -> None:
    with refusal("cannot have this name", f"rename it, e.g. {name.strip('_')}_", field=f"Other.{name}"):
        fields_of(type("Other", (Stage,), {"__annotations__": {name: annotation}}))
    assert not fields_of(type("Other", (Stage,), {"__annotations__": {name: "ClassVar[int]"}})).options
    with refusal("cannot have this name", field="fit.unit_key"):
        fields_of(stage_of_function(fit, units))


@pytest.mark.parametrize("given", ["panel.csv", "data/panel", "/data/panel.csv", "../panel"])
def test_a_path_is_no_file_of_a_job(given: str) -> None:
    with refusal("given as a path", hint="give what `run.file(path)` returns in the build script"):
        typed_options(Plain, {**GIVEN, "file": given}, FILES)


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        *[(f"{before}Job", "one") for before in ("", "stage.", "shortloop.stages.stage.")],
        *[(f"list[{before}Job]", "many") for before in ("", "stage.", "shortloop.stages.stage.")],
        *[(f"{before}Job | None", "optional") for before in ("", "stage.", "shortloop.stages.stage.")],
        *[(each, "option") for each in ('Literal["Job"]', "Result | None", "JobSettings", "list[Jobs]")],
        *[(Job, "one"), (list[Job], "many"), (Job | None, "optional"), (PurePath, "option")],  # evaluated
        *[(each, "") for each in ("ClassVar[Job]", "ClassVar[list[Job] | None]", ClassVar[Job])],
    ],
)
def test_an_annotation_says_what_a_field_is(annotation: Any, found: str) -> None:
    fields = fields_of(type("Other", (Stage,), {"__annotations__": {"x": annotation}}))
    assert list(fields.options) == (["x"] if found == "option" else [])
    if annotation is PurePath:
        kind = type("Other", (Stage,), {"__annotations__": {"x": PurePath}, "__module__": __name__})
        assert typed_options(kind, {"x": "a/b"}, {})["x"] == Path("a/b")
    assert fields.jobs == ({"x": found} if found in ("one", "many", "optional") else {})
    assert fields.datasets == {}


@pytest.mark.parametrize(
    "written", ["Optional[Job]", "Sequence[Job]", "dict[str, Job]", "list[Job] | None", "dict[str, Dataset]"]
)
@pytest.mark.parametrize("is_text", [True, False])
def test_jobs_in_other_words_are_no_options(written: str, is_text: bool) -> None:
    known = {"Optional": Optional, "Sequence": Sequence, "Job": Job, "Dataset": Dataset}
    annotation = written if is_text else eval(written, known)
    other = type("Other", (Stage,), {"__annotations__": {"panel": annotation}})
    if annotation in (Job, Job | None):  # they are these
        assert not fields_of(other).options
        return
    with refusal("unsupported type for a job", "Job, list[Job], Job | None, Dataset", field="Other.panel"):
        fields_of(other)


def test_options_are_of_their_types() -> None:
    given: dict[str, Any] = {**GIVEN, "price": "2.50", "shares": ["1/3"], "table": {"x": [1, None]}}
    typed = typed_options(Plain, given, FILES)
    decimal, fraction = (importlib.import_module(name) for name in ("decimal", "fractions"))
    assert typed["price"] == decimal.Decimal("2.50")
    assert typed["shares"] == [fraction.Fraction(1, 3)]
    assert isinstance(typed["shares"][0], fraction.Fraction)
    assert typed["table"] == {"x": [1, None]}
    assert "files" not in typed  # the class has its default
    typed = typed_options(Plain, {**GIVEN, "files": {"a": ["c2", "c1"], "b": []}}, FILES)
    assert typed["file"] == File("c1", Path("one.npz"))
    assert typed["files"] == {"a": [File("c2", Path("two.npz")), File("c1", Path("one.npz"))], "b": []}
    with refusal("Nothing got wrong options", expected="none"):
        typed_options(Nothing, {"x": 1}, {})


class Gone(dict[str, Path]):
    def __missing__(self, content: str) -> Path:
        raise TransientError("a file changed", file="one.npz", hint="run again")


@pytest.mark.parametrize(
    ("change", "field", "found"),
    [
        ({"count": 0}, "option count", "0"),
        ({"count": "many"}, "option count", "'many'"),
        ({"name": 3}, "option name", "3"),
        ({"name": None}, "option name", "None"),
        ({"shares": ["1/3", "x"]}, "option shares.1", "'x'"),
        ({"table": [1]}, "option table", "[1]"),
        ({"file": 3}, "option file", "3"),
        ({"files": {"a": "c1"}}, "option files.a", "'c1'"),
        ({"name": ["long"] * 100}, "option name", "['long', 'long'"),
    ],
)
def test_an_option_of_another_type_is_named(change: dict[str, Any], field: str, found: str) -> None:
    with refusal("an option of Plain has the wrong type", found, field=field) as caught:
        typed_options(Plain, {**GIVEN, **change}, FILES)
    assert len(str(caught.value.found)) <= 200
    assert caught.value.expected


def test_options_that_are_missing_or_unknown_are_named_and_lost_files_are_none() -> None:
    known = "name, count, price, shares, table, file, files"
    with refusal("Plain got wrong options", found="no count, no file, cuont, panel", expected=known):
        typed_options(Plain, {"name": "a", "cuont": 3, "panel": "main-1"}, FILES)
    # It may be there the next time: no job may keep that as its result.
    for given in (GIVEN, {**GIVEN, "files": {"a": ["c1"]}}):
        with pytest.raises(TransientError, match="a file changed"):
            typed_options(Plain, given, Gone())


HEAD = "from __future__ import annotations\nimport typing\nfrom shortloop.stages.stage import Stage\n"
MODULES = {
    "toy_heavy": "import enum\nclass Unit(enum.Enum):\n    m = 'metre'\n",
    "toy_base": f"{HEAD}if typing.TYPE_CHECKING:\n    from toy_heavy import Unit as U\n"
    "class Base(Stage):\n    unit: U\n",
    "toy_fit": f"{HEAD}from toy_base import Base\nif typing.TYPE_CHECKING:\n"
    "    from fractions import Fraction\nclass Fit(Base):\n    share: Fraction\n",
}


def test_types_are_imported_when_they_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a base as the module of the base calls them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    made = importlib.import_module("toy_fit")
    assert list(fields_of(made.Fit).options) == ["unit", "share"]
    assert "toy_heavy" not in sys.modules
    with refusal("option share"):
        typed_options(made.Fit, {"unit": "metre", "share": "x"}, {})
    for name in MODULES:  # all of them are there now, and forgotten
        del sys.modules[name]


class Rows(Stage):
    """Every kind of dataset."""

    name: str
    rows: Dataset
    many: list[Dataset]
    more: Dataset | None
    job: Job


@pytest.fixture
def where(tmp_path: Path) -> Where:
    file = tmp_path / "numbers.txt"
    file.write_text("1 2 3", encoding="utf-8")
    return Where({"c1": file})


@pytest.fixture
def powers(tmp_path: Path, where: Where) -> Task:
    """A job that is made from another one twice."""
    numbers = tmp_path / "main-1"
    do_job(task_of(Numbers, {"file": "c1"}, {}, where=where), numbers)
    jobs = {"numbers": str(numbers), "others": [str(numbers)], "offset": None}
    return task_of(Powers, {"count": 3, "style": {"name": "x"}}, jobs, where=where)


def test_a_stage_is_opened_with_options_jobs_and_files(powers: Task, where: Where, tmp_path: Path) -> None:
    numbers = open_stage(task_of(Numbers, {"file": "c1"}, {}, where=where))
    assert isinstance(numbers, Numbers)
    assert (numbers.file.content, numbers.file.path) == ("c1", where.files["c1"])
    assert (numbers.scale, numbers.partition, numbers.have) == (1.0, None, 0)
    stage = open_stage(powers)
    assert isinstance(stage, Powers)
    assert stage.opened
    assert (stage.count, stage.numbers.facts) == (3, {"names": ["numbers.txt"]})
    assert [each.job for each in stage.others] == ["main-1"]
    assert stage.offset is None
    assert stage.base.tolist() == [1, 2, 3, 1, 2, 3]
    jobs = {**powers.jobs, "offset": powers.jobs["numbers"]}
    with_offset = open_stage(task_of(Powers, powers.options, jobs, where=powers.where))
    assert isinstance(with_offset, Powers)
    assert with_offset.offset is not None
    del jobs["offset"]
    without = open_stage(Task("powers", "toy_stages", "Powers", "A/1", powers.options, jobs))
    assert (without.__dict__["offset"], without.partition) == (None, "A/1")
    with refusal("Powers got wrong options"):
        open_stage(task_of(Powers, {"count": 3}, powers.jobs))
    with pytest.raises(TransientError, match="the record of a job cannot be read"):
        open_stage(task_of(Powers, powers.options, {**powers.jobs, "numbers": str(tmp_path / "main-9")}))


class Counted(Stage):
    """With units as it is told."""

    said: ClassVar[Any] = 0

    def units(self) -> Any:
        return self.said


@pytest.mark.parametrize(
    ("said", "costs"),
    [(0, []), (2, [1, 1]), (np.int64(2), [1, 1]), ([3, 0.5], [3, 0.5]), (np.array([1, 2]), [1, 2]), ([], [])]
    + [(each, None) for each in (-1, [1, -1], [1, float("nan")], [float("inf")])],
)
def test_numbers_and_costs(monkeypatch: pytest.MonkeyPatch, said: Any, costs: list[float] | None) -> None:
    monkeypatch.setattr(Counted, "said", said)
    if costs is not None:
        assert costs_of(Counted()) == costs
        return
    with pytest.raises(ValueError, match="Counted says of its units"):
        costs_of(Counted())


USUAL: dict[str, Any] = {
    "cores": 1,
    "memory": 0,
    "gpus": 0,
    "retries": 0,
    "timeout": None,
    "on_error": "stop",
}


class Careful(Stage):
    """A stage that says all of it."""

    cores = 2
    memory = "30 GB"
    gpus = 1
    retries: ClassVar[int] = 2
    timeout: ClassVar[float | str | None] = "5 min"
    on_error = "keep"


class Quicker(Careful):
    """A stage that says some of it otherwise."""

    timeout = 1.5


def test_a_class_or_a_function_declares_what_it_needs() -> None:
    assert needs_of(Stage) == Needs(**USUAL)
    assert needs_of(Careful) == Needs(2, 30_000_000_000, 1, 2, 300.0, "keep")
    assert needs_of(Quicker) == Needs(2, 30_000_000_000, 1, 2, 1.5, "keep")
    assert not fields_of(Careful).options

    def none() -> dict[str, object]:
        return {}

    @stage(units=none, retries=1, timeout="2 h", cores=3, memory="1 GiB", gpus=2, on_error="keep")
    def slope(rows):  # type: ignore[no-untyped-def]
        return {"slope": rows}

    assert needs_of(getattr(slope, STAGE_OF)) == Needs(3, 2**30, 2, 1, 7200.0, "keep")
    limits = {300: "5 min", 90: "90 s", 7200: "2 h", 0.5: "0.5 s", 86400: "1 d"}
    assert {seconds: Needs(timeout=seconds).limit for seconds in limits} == limits


@pytest.mark.parametrize("name", NOT_IN_KEY)
def test_code_of_a_stage_cannot_read_what_is_in_no_key(name: str) -> None:
    for where in (Careful, Quicker, Careful(), Stage):
        with pytest.raises(AttributeError, match=f"{name} of .* cannot be read: it is not part of the key"):
            getattr(where, name)
        assert name not in vars(Careful)


REFUSED: dict[str, list[Any]] = {
    "cores": [0, 1.5, True],
    "gpus": [-1, 0.5, "1"],
    "retries": [-1, "2"],
    "timeout": [0, "5 parsecs", "soon", float("nan"), True],
    "memory": ["30 gigs", -1, 0.5],
    "on_error": ["ignore", None],
}


@pytest.mark.parametrize(("name", "value"), [(name, each) for name in REFUSED for each in REFUSED[name]])
def test_what_cannot_be_is_refused_where_it_is_written(name: str, value: Any) -> None:
    with refusal("", __file__, field=name, found=repr(value), stage="Bad"):
        type("Bad", (Stage,), {"__module__": __name__, name: value})


def test_an_option_of_such_a_name_is_refused_and_a_class_says_it_itself() -> None:
    with refusal("an option: retries: int"):
        type("Bad", (Stage,), {"__module__": __name__, "__annotations__": {"retries": "int"}, "retries": 2})
    with refusal("an option: timeout: float"):

        @stage
        def load(timeout: float = 3.0) -> dict[str, object]:
            return {}

    with refusal(r"write e\.g\. `retries = 2` in the class"):
        stage(retries=2)(type("Late", (Stage,), {"__module__": __name__}))
