"""Which records the fields of a record hold, of whatever types around them."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel

__all__ = ["held_by_name", "models_in", "tag_of"]


def models_in(annotation: object) -> list[type[BaseModel]]:
    """Records that a field may hold, from its annotation.

    Parameters
    ----------
    annotation : object
        Type of the field: a record, or alternatives, optional, annotated and container types around it.

    Returns
    -------
    list of type
        Subclasses of ``pydantic.BaseModel``, in the order of the annotation; empty if there are none.
    """
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in models_in(argument)]


def held_by_name(annotation: object) -> bool:
    """Whether a field is a table whose keys are names that the user chose.

    Parameters
    ----------
    annotation : object
        As of `models_in`.

    Returns
    -------
    bool
    """
    origin = get_origin(annotation)
    if origin in (Annotated, Union, UnionType):
        return any(held_by_name(argument) for argument in get_args(annotation))
    return isinstance(origin, type) and issubclass(origin, Mapping)


def tag_of(model: type[BaseModel]) -> str:
    """What tells a record from its alternatives.

    Parameters
    ----------
    model : type
        The record.

    Returns
    -------
    str
        The value of its first field that can have one only; without such a field its name.
    """
    for field in model.model_fields.values():
        values = get_args(field.annotation)
        if get_origin(field.annotation) is Literal and len(values) == 1:
            return str(values[0])
    return model.__name__
