"""What a stage is given: which of its annotations are options and which are jobs, and options as typed."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Optional

import pytest

from shortloop.base.errors import InputError, TransientError
from shortloop.stages.dataset import Dataset
from shortloop.stages.fields import REQUIRED, fields_of, typed_options
from shortloop.stages.stage import File, Job, Stage

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


def test_options_and_jobs_are_told_apart_in_order() -> None:
    fields = fields_of(Plain)
    assert list(fields.options.items()) == [
        ("name", REQUIRED),
        ("count", REQUIRED),
        ("price", None),
        ("shares", []),
        ("table", {}),
        ("file", REQUIRED),
        ("files", {}),
    ]
    assert fields.jobs == {"panel": "one", "groups": "many", "extra": "optional"}


def test_fields_are_inherited_and_may_get_a_default() -> None:
    fields = fields_of(Inherits)
    assert list(fields.options) == [*fields_of(Plain).options, "more"]
    assert (fields.options["count"], fields.options["more"]) == (5, False)
    assert fields.jobs == fields_of(Plain).jobs | {"second": "one"}


@pytest.mark.parametrize("name", ["partition", "modules", "units", "grows", "before", "datasets", "_own"])
@pytest.mark.parametrize("annotation", ["int", "Job", "list[Job]"])
def test_names_that_mean_something_else(name: str, annotation: str) -> None:
    with pytest.raises(InputError, match="cannot have this name") as caught:
        fields_of(type("Other", (Stage,), {"__annotations__": {name: annotation}}))
    assert caught.value.field == f"Other.{name}"
    assert not fields_of(type("Other", (Stage,), {"__annotations__": {name: "ClassVar[int]"}})).options


@pytest.mark.parametrize("given", ["panel.csv", "data/panel", "/data/panel.csv", "../panel"])
def test_a_path_is_no_file_of_a_job(given: str) -> None:
    with pytest.raises(InputError, match="given as a path") as caught:
        typed_options(Plain, {**GIVEN, "file": given}, FILES)
    assert caught.value.expected == "what `run.file(path)` gives"


@pytest.mark.parametrize("before", ["", "stage.", "shortloop.stages.stage."])
def test_jobs_may_be_named_with_their_module(before: str) -> None:
    written = {"one": f"{before}Job", "many": f"list[{before}Job]", "perhaps": f"{before}Job | None"}
    fields = fields_of(type("Other", (Stage,), {"__annotations__": written}))
    assert fields.jobs == {"one": "one", "many": "many", "perhaps": "optional"}
    assert not fields.options


OTHERS = ["Optional[Job]", "Sequence[Job]", "dict[str, Job]", "list[Job] | None", "dict[str, Dataset]"]


@pytest.mark.parametrize("written", OTHERS)
@pytest.mark.parametrize("is_text", [True, False])
def test_jobs_in_other_words_are_no_options(written: str, is_text: bool) -> None:
    known = {"Optional": Optional, "Sequence": Sequence, "Job": Job, "Dataset": Dataset}
    annotation = written if is_text else eval(written, known)
    other = type("Other", (Stage,), {"__annotations__": {"panel": annotation}})
    if annotation in (Job, Job | None):  # they are these
        assert not fields_of(other).options
        return
    with pytest.raises(InputError, match="unsupported type for a job") as caught:
        fields_of(other)
    assert caught.value.field == "Other.panel"
    assert str(caught.value.expected).startswith("Job, list[Job], Job | None, Dataset, ")


@pytest.mark.parametrize("annotation", ['Literal["Job"]', "Result | None", "JobSettings", "list[Jobs]"])
def test_options_that_only_sound_like_jobs(annotation: str) -> None:
    assert list(fields_of(type("Other", (Stage,), {"__annotations__": {"x": annotation}})).options) == ["x"]


@pytest.mark.parametrize("annotation", ["ClassVar[Job]", "ClassVar[list[Job] | None]", ClassVar[Job]])
def test_what_is_of_the_class_is_no_field(annotation: Any) -> None:
    found = fields_of(type("Other", (Stage,), {"__annotations__": {"x": annotation}}))
    assert (found.options, found.jobs, found.datasets) == ({}, {}, {})


def test_options_are_of_their_types() -> None:
    given: dict[str, Any] = {**GIVEN, "price": "2.50", "shares": ["1/3"], "table": {"x": [1, None]}}
    typed = typed_options(Plain, given, FILES)
    decimal, fraction = (importlib.import_module(name) for name in ("decimal", "fractions"))
    assert typed["price"] == decimal.Decimal("2.50")
    assert typed["shares"] == [fraction.Fraction(1, 3)]
    assert isinstance(typed["shares"][0], fraction.Fraction)
    assert typed["table"] == {"x": [1, None]}
    assert "files" not in typed  # the class has its default


def test_files_are_found_by_their_content() -> None:
    typed = typed_options(Plain, {**GIVEN, "files": {"a": ["c2", "c1"], "b": []}}, FILES)
    assert typed["file"] == File("c1", Path("one.npz"))
    assert typed["files"] == {"a": [File("c2", Path("two.npz")), File("c1", Path("one.npz"))], "b": []}


class Gone(dict[str, Path]):
    def __missing__(self, content: str) -> Path:
        raise TransientError("a file changed", file="one.npz", hint="run again")


def test_a_file_that_cannot_be_found_is_no_wrong_option() -> None:
    """It may be there the next time: no job may keep that as its result."""
    for given in (GIVEN, {**GIVEN, "files": {"a": ["c1"]}}):
        with pytest.raises(TransientError, match="a file changed"):
            typed_options(Plain, given, Gone())


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
    with pytest.raises(InputError, match="an option of Plain has the wrong type") as caught:
        typed_options(Plain, {**GIVEN, **change}, FILES)
    assert caught.value.field == field
    assert str(caught.value.found).startswith(found)
    assert len(str(caught.value.found)) <= 200
    assert caught.value.expected


def test_options_that_are_missing_or_unknown_are_named() -> None:
    with pytest.raises(InputError, match="Plain got wrong options") as caught:
        typed_options(Plain, {"name": "a", "cuont": 3, "panel": "main-1"}, FILES)
    assert caught.value.found == "no count, no file, cuont, panel"
    assert caught.value.expected == "name, count, price, shares, table, file, files"
    with pytest.raises(InputError, match="Nothing got wrong options") as caught:
        typed_options(Nothing, {"x": 1}, {})
    assert caught.value.expected == "none"


NUMBERS = itertools.count()
HEAD = """\
import typing
from pathlib import PurePath
from shortloop.stages.stage import File, Job, Stage

"""
DEFERRED = f"from __future__ import annotations\n{HEAD}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Whose modules can be imported, and are forgotten after that."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def module(folder: Path, text: str, head: str = HEAD) -> ModuleType:
    name = f"toy_stages_{next(NUMBERS)}"
    (folder / f"{name}.py").write_text(head + text, encoding="utf-8")
    return importlib.import_module(name)


def test_annotations_may_be_evaluated(folder: Path) -> None:
    """As without `from __future__ import annotations`."""
    made = module(
        folder,
        """
class Fit(Stage):
    siblings: typing.ClassVar[tuple[str, ...]] = ("where",)
    where: PurePath
    one: Job
    many: list[Job]
    perhaps: Job | None
""",
    )
    fields = fields_of(made.Fit)
    assert list(fields.options) == ["where"]
    assert fields.jobs == {"one": "one", "many": "many", "perhaps": "optional"}
    assert typed_options(made.Fit, {"where": "a/b"}, {})["where"] == Path("a/b")


def test_types_are_imported_when_they_are_needed(folder: Path) -> None:
    """Those of a base as the module of the base calls them."""
    (folder / "heavy.py").write_text(
        "import enum\n\nclass Unit(enum.Enum):\n    m = 'metre'\n", encoding="utf-8"
    )
    base = module(
        folder,
        """
if typing.TYPE_CHECKING:
    from heavy import Unit as U

class Base(Stage):
    unit: U
""",
        DEFERRED,
    )
    made = module(
        folder,
        f"""
from {base.__name__} import Base

if typing.TYPE_CHECKING:
    from fractions import Fraction

class Fit(Base):
    share: Fraction
""",
        DEFERRED,
    )
    assert "heavy" not in sys.modules
    assert list(fields_of(made.Fit).options) == ["unit", "share"]
    assert "heavy" not in sys.modules
    with pytest.raises(InputError, match="option share"):
        typed_options(made.Fit, {"unit": "metre", "share": "x"}, {})
    assert "heavy" in sys.modules


class Rows(Stage):
    """Every kind of dataset."""

    name: str
    rows: Dataset
    many: list[Dataset]
    more: Dataset | None
    job: Job


def test_datasets_are_told_from_jobs_and_options() -> None:
    fields = fields_of(Rows)
    assert fields.datasets == {"rows": "one", "many": "many", "more": "optional"}
    assert (fields.jobs, list(fields.options)) == ({"job": "one"}, ["name"])
