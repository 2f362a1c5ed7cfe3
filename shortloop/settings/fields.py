"""Every field of a settings file with its text, which says what it is, its unit and its default."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from shortloop.settings.records import models_in, tag_of

__all__ = ["documented_fields"]


def documented_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every field of a file with its description, tables after the fields of the one above.

    Parameters
    ----------
    model : type
        Record of the file.
    prefix : str, default ""
        Put before each name.

    Yields
    ------
    name : str
        Dotted name; of alternatives, the tag in brackets: ``input[csv].columns``.
    description : str
        What it is, its unit and default.
    """
    inner: list[tuple[str, type[BaseModel]]] = []
    for name, field in model.model_fields.items():
        yield prefix + name, field.description or ""
        found = models_in(field.annotation)
        inner += [(name if len(found) == 1 else f"{name}[{tag_of(each)}]", each) for each in found]
    for name, each in inner:
        yield from documented_fields(each, f"{prefix}{name}.")
