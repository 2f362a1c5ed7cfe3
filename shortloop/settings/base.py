"""Base class of settings records, and records nested in fields."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

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
    origin = get_origin(annotation)
    if origin in (Annotated, Union, UnionType):
        return any(has_free_keys(argument) for argument in get_args(annotation))
    return isinstance(origin, type) and issubclass(origin, Mapping)


def tag_of(model: type[BaseModel]) -> str:
    """Name the field that tells a record from its alternatives."""
    for field in model.model_fields.values():
        values = get_args(field.annotation)
        if get_origin(field.annotation) is Literal and len(values) == 1:
            return str(values[0])
    return model.__name__
