"""Records of several kinds, each in a module of its own, which is imported when the kind is asked for.

What uses one kind has only that in its key: its module is imported by name, and named as one that it imports.
"""

from __future__ import annotations

import importlib
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, GetCoreSchemaHandler, PlainValidator
from pydantic_core import CoreSchema

from shortloop.errors import InputError
from shortloop.settings.base import Settings
from shortloop.settings.records import tag_of

__all__ = ["Tagged"]


class Tagged(Settings):
    """Base of the records of one kind or another; validated, a table becomes the record that it names.

    A base sets `tag`. Each kind is a record below it, in a module beside the base that has the name of the
    kind, hyphens as underscores: ``kind = "two-step"`` is in ``two_step.py``.

    Examples
    --------
    >>> class Stove(Tagged):
    ...     tag = "kind"
    >>> class Gas(Stove):
    ...     kind: Literal["gas"] = Field(description="a flame")
    """

    tag: ClassVar[str] = ""
    """Field that says which kind it is."""

    @classmethod
    def named(cls, name: str) -> type[Self]:
        """The record of a kind.

        Parameters
        ----------
        name : str
            The kind.

        Returns
        -------
        type

        Raises
        ------
        InputError
            If there is none of that name.
        """
        module = cls._module(name)
        try:
            found = vars(importlib.import_module(module)).values()
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise InputError(f"there is no such {cls.tag}", found=name) from None
        for each in found:
            if isinstance(each, type) and issubclass(each, cls) and tag_of(each) == name:
                return each
        raise InputError(f"there is no such {cls.tag}", found=name, expected=f"a record in {module}")

    def modules(self) -> list[str]:
        """Modules that are imported by name where the record is used: a job's key is to hold them.

        Returns
        -------
        list of str
        """
        return [type(self).__module__]

    @classmethod
    def _module(cls, name: str) -> str:
        base = next(each for each in cls.__mro__ if "tag" in vars(each))
        return f"{base.__module__.rpartition('.')[0]}.{name.replace('-', '_')}"

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
            raise InputError(f"it is not said which {cls.tag} it is", field=cls.tag, found=repr(values))
        return cls.named(values[cls.tag]).model_validate(values)
