"""Fields of a stage: options with types, input jobs and datasets."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import json
import re
import sys
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain, with_tuples
from shortloop.stages.dataset import Dataset
from shortloop.stages.stage import Job, Stage

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["BEFORE", "REQUIRED", "Fields", "fields_of", "hints_of", "make_ready", "typed_options", "warm_up"]

BEFORE = "before"
"""The name that methods have for the job which a job grows from."""
REQUIRED = inspect.Parameter.empty
"""In place of the default of an option that has none."""
# As annotations are written, and as they are without `from __future__ import annotations`.
ONE = ("Job", Job)
MANY = ("list[Job]", list[Job])
PERHAPS = ("Job | None", Job | None)
ONE_DATASET = ("Dataset", Dataset)
MANY_DATASETS = ("list[Dataset]", list[Dataset])
PERHAPS_A_DATASET = ("Dataset | None", Dataset | None)
QUALIFIED = re.compile(r"\b(?:\w+\.)+(Job|Dataset)\b")

PLAIN = {each.__name__: each for each in (bool, int, float, str)}

_ready: dict[type[Stage], dict[str, TypeAdapter[object]]] = {}  # what validates each option, by its name


@dataclass(frozen=True)
class Fields:
    """What a stage is given.

    options: default of each option, or `REQUIRED`.
    jobs, lists, perhaps: names of jobs, of lists of jobs, and of jobs that need not be given.
    datasets, dataset_lists, perhaps_datasets: the same of datasets.
    """

    options: dict[str, object] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    perhaps: list[str] = field(default_factory=list)
    datasets: list[str] = field(default_factory=list)
    dataset_lists: list[str] = field(default_factory=list)
    perhaps_datasets: list[str] = field(default_factory=list)


def fields_of(stage: type[Stage]) -> Fields:
    """The fields of a stage and of its base classes, in the order in which they are written."""
    fields = Fields()
    for kind in reversed(stage.__mro__[: stage.__mro__.index(Stage)]):
        for name, annotation in vars(kind).get("__annotations__", {}).items():
            if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
                continue
            if hasattr(Stage, name) or name in (BEFORE, "datasets") or name.startswith("_"):
                raise InputError(
                    "a field of a stage cannot have this name",
                    field=f"{kind.__name__}.{name}",
                    expected="no attribute of Stage, not `before` or `datasets`, and no _ in front",
                )
            sorts = {
                ONE: fields.jobs,
                MANY: fields.lists,
                PERHAPS: fields.perhaps,
                ONE_DATASET: fields.datasets,
                MANY_DATASETS: fields.dataset_lists,
                PERHAPS_A_DATASET: fields.perhaps_datasets,
            }
            plain = QUALIFIED.sub(r"\1", annotation) if isinstance(annotation, str) else annotation
            names = next((names for words, names in sorts.items() if plain in words), None)
            if names is not None:
                names.append(name)
            elif _names_jobs(annotation):
                raise InputError(
                    "unsupported type for a job or dataset",
                    field=f"{kind.__name__}.{name}",
                    found=str(annotation),
                    expected=", ".join(str(words[0]) for words in sorts),
                )
            else:
                fields.options[name] = getattr(stage, name, REQUIRED)
    return fields


def _names_jobs(annotation: object) -> bool:
    """Whether an annotation, as it is written or as it is, has jobs or datasets in it."""
    if isinstance(annotation, str):
        parts = ast.walk(ast.parse(annotation, mode="eval"))
        named = {getattr(each, what, "") for each in parts for what in ("id", "attr")}
        return not named.isdisjoint(("Job", "Dataset"))
    if typing.get_origin(annotation) is typing.Literal:
        return False
    said = typing.get_args(annotation)[: 1 if hasattr(annotation, "__metadata__") else None]
    return annotation in (Job, Dataset) or any(map(_names_jobs, said))


def typed_options(
    stage: type[Stage], options: Mapping[str, Plain], files: Mapping[str, Path]
) -> dict[str, object]:
    """The options of a job, made of plain data into what their annotations say."""
    from pydantic import ValidationError

    expected = fields_of(stage).options
    missing = [name for name, default in expected.items() if default is REQUIRED and name not in options]
    unknown = sorted(options.keys() - expected.keys())
    if missing or unknown:
        raise InputError(
            f"{stage.__name__} got wrong options",
            found=", ".join([*(f"no {name}" for name in missing), *unknown]),
            expected=", ".join(expected) or "none",
        )
    if all(_is_plain(stage, name, value) for name, value in options.items()):
        return dict(options)
    typed, adapters = dict[str, object](), _adapters(stage)
    for name, value in options.items():
        try:
            typed[name] = _validated(adapters[name], value, files)
        except ValidationError as error:
            first = error.errors()[0]
            if isinstance(cause := first.get("ctx", {}).get("error"), InputError):
                raise cause from None  # e.g. a file that changed, which is no wrong option
            inside = ".".join(map(str, (name, *first["loc"])))
            raise InputError(
                f"an option of {stage.__name__} has the wrong type or value",
                field=f"option {inside}",
                found=repr(first["input"])[:200],
                expected=" or ".join(dict.fromkeys(each["msg"] for each in error.errors())),
                hint="change the build script, or the type of the option",
            ) from None
    return typed


def _is_plain(stage: type[Stage], name: str, value: Plain) -> bool:
    """True for a value of the very type that its annotation says: to make what validates it takes longer."""
    kind = next(each for each in stage.__mro__ if name in vars(each).get("__annotations__", {}))
    said = vars(kind)["__annotations__"][name]
    if isinstance(said, str) and said not in vars(sys.modules[kind.__module__]):
        said = PLAIN.get(said)
    return type(value) is said and said in PLAIN.values()


def _validated(adapter: TypeAdapter[object], value: Plain, files: Mapping[str, Path]) -> object:
    """A value as it is, if its type holds it; else what is written so: a set as a list, a date as a text.

    No text becomes a number, and no number becomes true.
    """
    from pydantic import ValidationError

    try:
        return adapter.validate_python(value, strict=True, context=files)
    except ValidationError:
        pass
    try:
        return adapter.validate_json(json.dumps(value), strict=True, context=files)
    except ValidationError:
        # What a validator that comes first returns counts as Python, where no list is a tuple.
        with suppress(ValidationError):
            return adapter.validate_python(with_tuples(value), strict=True, context=files)
        raise


def make_ready(stage: type[Stage]) -> None:
    """Have ready what checks options of a stage, so that processes forked later share it."""
    _adapters(stage)


def warm_up() -> None:
    """Import what all stages need, so that processes forked later share it."""
    from pydantic import TypeAdapter

    TypeAdapter(int)  # it imports most of itself when it is first used


def hints_of(stage: type[Stage]) -> dict[str, object]:
    """Types of the fields of a stage; modules that they are in are imported."""
    return typing.get_type_hints(stage, localns=_Deferred(stage), include_extras=True)


def _adapters(stage: type[Stage]) -> dict[str, TypeAdapter[object]]:
    """What validates each option, by its name."""
    from pydantic import PydanticUserError, TypeAdapter

    if stage not in _ready:
        hints: dict[str, Any] = hints_of(stage)
        made: dict[str, TypeAdapter[object]] = {}
        for name in fields_of(stage).options:
            try:
                made[name] = TypeAdapter(hints[name])
            except PydanticUserError:
                raise InputError(
                    f"an option of {stage.__name__} cannot have this type",
                    field=f"option {name}",
                    found=str(hints[name]),
                    expected="plain data, a dataclass, a record of pydantic, or what is made of these",
                    hint="give plain data, e.g. `list[float]`, and make of it what the function needs",
                ) from None
        _ready[stage] = made
    return _ready[stage]


class _Deferred(dict[str, object]):
    """Names that the modules of a stage and of its bases import below ``if TYPE_CHECKING:``.

    Annotations may use them. Each is imported when it is looked up, and not before.
    """

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
