"""Base classes of settings records, and records selected by a tag, each in a module imported on demand.

A kind is a module beside its base, or an entry point of any package. What uses one kind has only that in its
key: its module is imported by name, and named as one that it imports.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import pkgutil
from abc import abstractmethod
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, PlainValidator, ValidationInfo
from pydantic_core import CoreSchema, PydanticKnownError

from shortloop.base.errors import InputError
from shortloop.base.extras import called, entry_point, entry_points, load_entry_point

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$"
Name = Annotated[str, Field(pattern=NAME)]


class Settings(BaseModel):
    """Base of every record: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class StudySettings(Settings):
    """Base of the record of a whole file: what a run is of."""

    name: Name

    @abstractmethod
    def in_words(self) -> str:
        """Say in words what is asked for."""


class ReportSettings(Settings):
    """The report."""

    formats: tuple[Literal["pdf", "svg"], ...] = Field(
        (), description="formats of figures beside PNG, which take longer to draw; default: none"
    )


def false_to_none(values: object, *fields: str) -> object:
    """Read ``lowpass = false`` as "none", which TOML cannot say."""
    if not isinstance(values, dict):
        return values
    return {key: None if key in fields and value is False else value for key, value in values.items()}


def models_in(annotation: object) -> list[type[BaseModel]]:
    """List records that a field may hold, from its annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in models_in(argument)]


def has_free_keys(annotation: object) -> bool:
    """Whether a field is a table whose keys are names that the user chose."""
    if (origin := get_origin(annotation)) in (Annotated, Union, UnionType):
        return any(has_free_keys(argument) for argument in get_args(annotation))
    return isinstance(origin, type) and issubclass(origin, Mapping)


def tag_of(model: type[BaseModel]) -> str:
    """Name the field that tells a record from its alternatives."""
    for field in model.model_fields.values():
        values = get_args(field.annotation)
        if get_origin(field.annotation) is Literal and len(values) == 1:
            return str(values[0])
    return model.__name__


PACKAGE = "shortloop"
STRICT = {"strict": True}  # context that converts nothing, for tables that are validated on their own


class UnknownKind(InputError):
    """No record is of a kind."""


class Tagged(Settings):
    """Base of the records of one kind or another; validated, a table becomes the record that it names.

    A base sets `tag`. Each kind is a record below it, in a module beside the base that has the name of the
    kind, hyphens as underscores: ``kind = "two-step"`` is in ``two_step.py``.

    >>> class Stove(Tagged):
    ...     tag = "kind"
    >>> class Gas(Stove):
    ...     kind: Literal["gas"] = Field(description="a flame")
    """

    tag: ClassVar[str] = ""  # field that names the kind
    group: ClassVar[str] = ""  # entry points that add kinds, of the kind's name; empty: nobody else can

    @classmethod
    def named(cls, name: str) -> type[Self]:
        """Import the record of a kind."""
        base = cls.base()
        module = f"{base.__module__.rpartition('.')[0]}.{name.replace('-', '_')}"
        try:
            ours = [*vars(importlib.import_module(module)).values()]
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                raise
            ours = []
        for each in (*ours, base.offered(name)):
            if isinstance(each, type) and issubclass(each, cls) and tag_of(each) == name:
                return each
        hint = base.group and f"install the package that has {called(base.group, name)}"
        raise UnknownKind(f"unknown {cls.tag}", found=name, hint=hint or None)

    @classmethod
    def kinds(cls, offered: bool = False) -> list[type[Self]]:
        """Import the record of every kind, with those of other packages if `offered`."""
        package = cls.base().__module__.rpartition(".")[0]
        modules = pkgutil.iter_modules(importlib.import_module(package).__path__)
        names = {each.name.replace("_", "-") for each in modules}
        if offered and cls.group:
            names |= {each.name for each in entry_points(cls.group)}
        found = []
        for name in sorted(names):
            with contextlib.suppress(UnknownKind, ImportError):  # other modules beside the base
                record = cls.named(name)
                if offered or record.__module__.rpartition(".")[0] == package:
                    found.append(record)
        return found

    @classmethod
    def base(cls) -> type[Tagged]:
        """Return the class that sets `tag`."""
        return next(each for each in cls.__mro__ if issubclass(each, Tagged) and "tag" in vars(each))

    @classmethod
    def offered(cls, name: str) -> type[Self] | None:
        """Load the record of a kind from an entry point."""
        point = entry_point(cls.group, name) if cls.group else None
        if point is None:
            return None

        def is_right(found: object) -> bool:
            is_kind = isinstance(found, type) and issubclass(found, cls) and tag_of(found) == name
            return is_kind and not found.__abstractmethods__  # type: ignore[attr-defined]

        methods = ", ".join(sorted(cls.__abstractmethods__))
        expected = f"a class below {cls.__module__}.{cls.__name__} whose {cls.tag} is {name!r}"
        expected += f", with the methods {methods}" if methods else ""
        problem = f"an entry point of {cls.group} cannot be used"
        record: type[Self] = load_entry_point(point, is_right, problem, expected)
        return record

    def modules(self) -> list[str]:
        """Modules that are imported by name when the record is used, for the key of a job."""
        own, base = type(self).__module__, self.base()
        modules = [each.__module__ for each in type(self).__mro__ if issubclass(each, base) and each != base]
        return [*dict.fromkeys([own, *(each for each in modules if not each.startswith(f"{PACKAGE}."))])]

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /
    ) -> CoreSchema:
        if cls.tag in cls.model_fields:
            return handler(source)
        return handler.generate_schema(Annotated[Any, PlainValidator(cls._of_its_kind)])

    @classmethod
    def _of_its_kind(cls, values: Any, info: ValidationInfo) -> Self:
        if isinstance(values, cls):
            return values
        tag = values.get(cls.tag) if isinstance(values, dict) else None
        if tag is None:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": repr(cls.tag)})
        try:
            record = cls.named(str(tag))
        except UnknownKind:
            known = ", ".join(repr(tag_of(each)) for each in cls.kinds())
            said = {"discriminator": repr(cls.tag), "tag": str(tag), "expected_tags": known}
            raise PydanticKnownError("union_tag_invalid", said) from None
        strict = True if info.context == STRICT else None
        if info.mode == "json":  # where a list may be a tuple
            return record.model_validate_json(json.dumps(values), strict=strict, context=info.context)
        return record.model_validate(values, strict=strict, context=info.context)


def kinds_of(model: type[BaseModel]) -> list[type[BaseModel]]:
    """Every kind of a base; of another record, that record."""
    return [*model.kinds(offered=True)] if _is_base(model) else [model]


def _is_base(model: type[BaseModel]) -> TypeGuard[type[Tagged]]:
    return issubclass(model, Tagged) and model.tag not in model.model_fields


def records_of(models: list[type[BaseModel]], table: object) -> list[type[BaseModel]]:
    """Of bases among some records, the record of the kind that a table names."""
    found = []
    for each in models:
        if _is_base(each) and isinstance(table, Mapping):
            with contextlib.suppress(UnknownKind):
                each = each.named(str(table.get(each.tag)))
        found.append(each)
    return found


def check_kinds(model: type[BaseModel], content: Mapping[str, object]) -> None:
    """Raise InputError if a package that adds a kind named in a file cannot be used."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Tagged):
            records_of([field.annotation], content.get(name))
