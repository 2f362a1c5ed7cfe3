"""Records selected by a tag, each in a module imported on demand.

A kind is a module beside the base, or an entry point of any package. What uses one kind has only that in its
key: its module is imported by name, and named as one that it imports.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar, Union

from pydantic import BaseModel, GetCoreSchemaHandler, PlainValidator, create_model

from shortloop.base.entry_points import called, entry_point, entry_points, load_entry_point, package_of
from shortloop.base.errors import InputError
from shortloop.settings.base import Settings, models_in, tag_of

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


PACKAGE = "shortloop"
M = TypeVar("M", bound=BaseModel)


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
    group: ClassVar[str] = ""
    """Group of entry points that add kinds, of the kind's name; empty: nobody else can add one."""

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
        raise InputError(f"unknown {cls.tag}", found=name, hint=hint or None)

    @classmethod
    def base(cls) -> type[Tagged]:
        """The class that sets `tag`."""
        return next(each for each in cls.__mro__ if issubclass(each, Tagged) and "tag" in vars(each))

    @classmethod
    def offered(cls, name: str) -> type[Self] | None:
        """Load the record of a kind from an entry point."""
        point = entry_point(cls.group, name) if cls.group else None
        if point is None:
            return None

        def is_right(found: object) -> bool:
            return isinstance(found, type) and issubclass(found, cls) and tag_of(found) == name

        problem = f"an entry point of {cls.group} cannot be used"
        expected = f"a class below {cls.__module__}.{cls.__name__} whose {cls.tag} is {name!r}"
        record: type[Self] = load_entry_point(point, is_right, problem, expected)
        if record.__abstractmethods__:
            raise InputError(
                problem,
                field=f"{point.name} = {point.value}",
                found=f"{record.__name__}, of the package {package_of(point, 'Version')}",
                expected=f"a class with the methods {', '.join(sorted(record.__abstractmethods__))}",
                hint=f"add them there, or uninstall {package_of(point)}",
            )
        return record

    def modules(self) -> list[str]:
        """Modules that are imported by name when the record is used, for the key of a job."""
        own, base = type(self).__module__, self.base()
        above = [
            each.__module__ for each in type(self).__mro__ if issubclass(each, base) and each is not base
        ]
        return [*dict.fromkeys([own, *(each for each in above if not each.startswith(f"{PACKAGE}."))])]

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /
    ) -> CoreSchema:
        if cls.tag in cls.model_fields:
            return handler(source)
        return handler.generate_schema(Annotated[Any, PlainValidator(cls._of_its_kind)])

    @classmethod
    def _of_its_kind(cls, values: Any) -> Self:
        if isinstance(values, cls):
            return values
        if not isinstance(values, dict) or not isinstance(values.get(cls.tag), str):
            raise InputError(f"{cls.tag} is missing", field=cls.tag, found=repr(values))
        return cls.named(values[cls.tag]).model_validate(values)


def with_offered(model: type[M], content: Mapping[str, object] | None = None) -> type[M]:
    """Add kinds of other packages to a record: those that the content names, or all."""
    more: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if field.discriminator is None:
            continue
        ours = [each for each in models_in(field.annotation) if issubclass(each, Tagged) and each.group]
        table = content.get(name) if content else None
        if not ours or (content is not None and not isinstance(table, dict)):
            continue
        base = ours[0].base()
        if isinstance(table, dict):
            names = {str(table.get(base.tag))}
        else:
            names = {each.name for each in entry_points(base.group)}
        added = [base.offered(each) for each in sorted(names - {*map(tag_of, ours)})]
        records = (*ours, *filter(None, added))
        if len(records) > len(ours):
            more[name] = (Union[records], copy(field))  # noqa: UP007  of as many as there are
    return (
        create_model(model.__name__, __base__=model, __module__=model.__module__, **more) if more else model
    )
