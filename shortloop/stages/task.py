"""Fields of a stage, and the plain-data task of a job that gives them values, in any process."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import json
import math
import operator
import re
import sys
import typing
from collections.abc import Callable, Mapping
from contextlib import chdir, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain, with_tuples
from shortloop.stages.dataset import Dataset
from shortloop.stages.references import (
    References,
    adding_imports,
    changed,
    files_in,
    refer_to,
    state_of_process,
)
from shortloop.stages.results import Where, open_result
from shortloop.stages.stage import STAGE_OF, CollectingStage, Job, Stage

if TYPE_CHECKING:
    from pydantic import TypeAdapter

BEFORE = "before"  # name that methods have for the job which a job grows from
REQUIRED = inspect.Parameter.empty  # in place of the default of an option that has none
ONE, MANY, OPTIONAL = "one", "many", "optional"  # jobs or datasets of an input; optional: one or None
# Annotations of inputs as they are written, and as they are without `from __future__ import annotations`.
FORMS: tuple[tuple[str, str, str, object], ...] = (
    ("jobs", ONE, "Job", Job),
    ("jobs", MANY, "list[Job]", list[Job]),
    ("jobs", OPTIONAL, "Job | None", Job | None),
    ("datasets", ONE, "Dataset", Dataset),
    ("datasets", MANY, "list[Dataset]", list[Dataset]),
    ("datasets", OPTIONAL, "Dataset | None", Dataset | None),
)
QUALIFIED = re.compile(r"\b(?:\w+\.)+(Job|Dataset)\b")

PLAIN = {each.__name__: each for each in (bool, int, float, str)}


@dataclass(frozen=True)
class Fields:
    """Fields of a stage: default of each option, and number of each input (`ONE`, `MANY` or `OPTIONAL`)."""

    options: dict[str, object]
    jobs: dict[str, str]
    datasets: dict[str, str]


def fields_of(stage: type[Stage]) -> Fields:
    """The fields of a stage and of its base classes, in the order in which they are written."""
    fields = Fields({}, {}, {})
    base = CollectingStage if issubclass(stage, CollectingStage) else Stage
    for kind in reversed(stage.__mro__[: stage.__mro__.index(Stage)]):
        for name, annotation in vars(kind).get("__annotations__", {}).items():
            if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
                continue
            if hasattr(base, name) or name in (BEFORE, "datasets") or name.startswith("_"):
                problem = "a field of a stage cannot have this name"
                expected = "no attribute of Stage, not `before` or `datasets`, and no _ in front"
                where, hint = f"{kind.__name__}.{name}", f"rename it, e.g. {name.strip('_')}_"
                raise InputError(problem, field=where, expected=expected, hint=hint)
            plain = QUALIFIED.sub(r"\1", annotation) if isinstance(annotation, str) else annotation
            found = next(((sort, number) for sort, number, *forms in FORMS if plain in forms), None)
            if found is not None:
                getattr(fields, found[0])[name] = found[1]
            elif _names_jobs(annotation):
                wrong = "unsupported type for a job or dataset"
                said = str(annotation)
                wanted = ", ".join(written for _, _, written, _ in FORMS)
                raise InputError(wrong, field=f"{kind.__name__}.{name}", found=said, expected=wanted)
            else:
                fields.options[name] = getattr(stage, name, REQUIRED)
    return fields


def _names_jobs(annotation: object) -> bool:
    """True if an annotation, as text or as type, has jobs or datasets in it."""
    if isinstance(annotation, str):
        parts = ast.walk(ast.parse(annotation, mode="eval"))
        named = {getattr(each, what, "") for each in parts for what in ("id", "attr")}
        return not named.isdisjoint(("Job", "Dataset"))
    if typing.get_origin(annotation) is typing.Literal:
        return False
    said = typing.get_args(annotation)[: 1 if hasattr(annotation, "__metadata__") else None]
    return annotation in (Job, Dataset) or any(map(_names_jobs, said))


def typed_options(stage: type, options: Mapping[str, Plain], files: Mapping[str, Path]) -> dict[str, object]:
    """Convert the options of a job from plain data to the types of their annotations."""
    from pydantic import ValidationError

    expected = fields_of(stage).options
    missing = [name for name, default in expected.items() if default is REQUIRED and name not in options]
    unknown = sorted(options.keys() - expected.keys())
    if missing or unknown:
        problem = f"{stage.__name__} got wrong options"
        found = ", ".join([*(f"no {name}" for name in missing), *unknown])
        raise InputError(problem, found=found, expected=", ".join(expected) or "none")
    if all(_is_plain(stage, name, value) for name, value in options.items()):
        return dict(options)
    typed = dict[str, object]()
    validators = validators_of(stage)
    for name, value in options.items():
        try:
            typed[name] = _validated(validators[name], value, files)
        except ValidationError as error:
            first = error.errors()[0]
            if isinstance(cause := first.get("ctx", {}).get("error"), InputError):
                raise cause from None  # e.g. a file that changed, which is no wrong option
            inside = ".".join(map(str, (name, *first["loc"])))
            wrong = f"an option of {stage.__name__} has the wrong type or value"
            field = f"option {inside}"
            what = repr(first["input"])[:200]
            wanted = " or ".join(dict.fromkeys(each["msg"] for each in error.errors()))
            hint = "change the build script, or the type of the option"
            raise InputError(wrong, field=field, found=what, expected=wanted, hint=hint) from None
    return typed


def _is_plain(stage: type[Stage], name: str, value: Plain) -> bool:
    """True for a value of exactly its annotation's type: making a validator for it takes longer."""
    kind = next(each for each in stage.__mro__ if name in vars(each).get("__annotations__", {}))
    said = vars(kind)["__annotations__"][name]
    if isinstance(said, str) and said not in vars(sys.modules[kind.__module__]):
        said = PLAIN.get(said)
    return type(value) is said and said in PLAIN.values()


def _validated(adapter: TypeAdapter[object], value: Plain, files: Mapping[str, Path]) -> object:
    """Validate a value as it is, or as JSON has it: a set as a list, a date as a text, but no "1" as 1."""
    from pydantic import ValidationError

    with suppress(ValidationError):
        return adapter.validate_python(value, strict=True, context=files)
    try:
        return adapter.validate_json(json.dumps(value), strict=True, context=files)
    except ValidationError:
        # What a validator that comes first returns counts as Python, where no list is a tuple.
        with suppress(ValidationError):
            return adapter.validate_python(with_tuples(value), strict=True, context=files)
        raise


def warm_up() -> None:
    """Import pydantic as all stages need it, so that processes forked later share it."""
    from pydantic import TypeAdapter

    TypeAdapter(int)  # it imports most of itself when it is first used


def hints_of(stage: type[Stage]) -> dict[str, object]:
    """Types of the fields of a stage; modules that they are in are imported."""
    return typing.get_type_hints(stage, localns=_Deferred(stage), include_extras=True)


@functools.cache
def validators_of(stage: type) -> dict[str, TypeAdapter[object]]:
    """Validators of a stage's options, by name; processes forked later share them."""
    from pydantic import PydanticUserError, TypeAdapter

    hints: dict[str, Any] = hints_of(stage)
    made: dict[str, TypeAdapter[object]] = {}
    for name in fields_of(stage).options:
        try:
            made[name] = TypeAdapter(hints[name])
        except PydanticUserError:
            problem = f"an option of {stage.__name__} cannot have this type"
            hint = "give plain data, dataclasses, or records of pydantic, and make of it what is needed"
            raise InputError(problem, field=f"option {name}", found=str(hints[name]), hint=hint) from None
    return made


class _Deferred(dict[str, object]):
    """Names that a stage's modules import below ``if TYPE_CHECKING:``, imported when they are looked up."""

    def __init__(self, stage: type[Stage]) -> None:
        super().__init__()
        self._modules = [sys.modules[each.__module__] for each in stage.__mro__[: stage.__mro__.index(Stage)]]

    def __missing__(self, name: str) -> object:
        if name in sys._getframe(1).f_globals or hasattr(builtins, name):  # of the annotation's own module
            raise KeyError(name)  # Python looks there next
        module, attribute = self._places[name]
        return getattr(importlib.import_module(module), attribute)

    @functools.cached_property
    def _places(self) -> dict[str, tuple[str, str]]:
        places = {}
        for module in self._modules:
            for each in ast.parse(inspect.getsource(module)).body:
                if isinstance(each, ast.If) and ast.unparse(each.test).endswith("TYPE_CHECKING"):
                    for line in each.body:
                        if isinstance(line, ast.ImportFrom) and line.module:
                            for alias in line.names:
                                places[alias.asname or alias.name] = (line.module, alias.name)
        return places


Folders = str | list[str] | None  # of a job, or each of a list; None: an optional one that is not given


@dataclass(frozen=True)
class Task:
    """Work of a job: names, options and paths, which can be sent to a process anywhere."""

    name: str  # of the stage, as pipelines call it
    module: str
    kind: str  # name of the stage's class in the module
    partition: str | None
    options: Mapping[str, Plain]
    jobs: Mapping[str, Folders]  # that it is made from, by the stage's fields
    before: str | None = None  # folder of the job that it grows from
    where: Where = field(default_factory=Where)
    versions: Mapping[str, str] = field(default_factory=dict)  # of libraries, for the record
    datasets: Mapping[str, Folders] = field(default_factory=dict)  # named as in ``"main-12/default"``
    open_dataset: Callable[[str], Dataset] | None = None


def kind_of(task: Task) -> type[Stage]:
    """The class of a job's stage; of a function, the one made of it."""
    found = getattr(importlib.import_module(task.module), task.kind)
    return cast("type[Stage]", getattr(found, STAGE_OF, found))


def folders_of(task: Task) -> list[str]:
    return [folder for folders in task.jobs.values() for folder in _single(folders)]


def open_stage(task: Task, prepare: Callable[[Stage], object] = lambda stage: None) -> Stage:
    """Make the stage of a job, set its fields and open it, ready to compute units."""
    kind = kind_of(task)
    stage = kind()
    prepare(stage)
    stage.partition = task.partition
    fields = fields_of(kind)
    values = typed_options(kind, task.options, task.where.files)
    for name, number in (fields.jobs | fields.datasets).items():
        jobs = [open_result(each, task.where) for each in _single(task.jobs.get(name))]
        datasets = [cast("Any", task.open_dataset)(each) for each in _single(task.datasets.get(name))]
        found = [*jobs, *datasets]  # a field is of the one or of the other
        values[name] = found if number == MANY else found[0] if found or number == ONE else None
    for name, value in values.items():
        setattr(stage, name, value)
    if task.before is not None and stage.grows:
        rows = open_result(task.before, task.where).facts[stage.grows]
        stage.have = min(cast("int", task.options[stage.grows]), int(rows))
    if not isinstance(stage, CollectingStage):
        with chdir("."):  # code of a stage may change the folder
            stage.open()
        return stage

    def inputs() -> str:
        """Everything that the job is made from, the same on all machines."""
        jobs = [open_result(each, task.where) for each in folders_of(task)]
        made = [[each.job, each.setup.get("starttime")] for each in jobs]
        return json.dumps([task.partition, dict(task.options), made, dict(task.datasets)], sort_keys=True)

    given = References(files_in([values[name] for name in fields.options]), inputs)
    refer_to(given)
    before = state_of_process()
    with chdir("."), adding_imports(before):
        stage.open()
    given.changed = changed(before, state_of_process())
    return stage


def _single(folders: Folders) -> list[str]:
    return [folders] if isinstance(folders, str) else folders or []


def costs_of(stage: Stage) -> list[float]:
    """Cost of each unit of a stage, in any measure."""
    with chdir("."):
        units: Any = stage.units()
    is_list = hasattr(units, "__len__")  # to ask for `Sized` costs a fork more
    costs = [float(each) for each in units] if is_list else [1.0] * operator.index(units)
    if not all(0 <= cost < math.inf for cost in (costs if is_list else [units])):
        raise ValueError(f"{type(stage).__name__} says of its units: {units}")
    return costs
