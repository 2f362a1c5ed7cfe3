"""Which records the fields of a record hold, of whatever types around them."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel

__all__ = ["held_by_name", "models_in", "tag_field", "tag_of"]


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


def tag_field(model: type[BaseModel]) -> str | None:
    """The field of a record that says which of several alternatives it is.

    Parameters
    ----------
    model : type
        The record.

    Returns
    -------
    str or None
        The first field that can have one value only; None if there is none.
    """
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1:
            return name
    return None


def tag_of(model: type[BaseModel]) -> str:
    """What a record has in its `tag_field`; without one its name.

    Parameters
    ----------
    model : type
        The record.

    Returns
    -------
    str
    """
    field = tag_field(model)
    return model.__name__ if field is None else str(get_args(model.model_fields[field].annotation)[0])
