"""``shortloop study``: the fields of a study file, and checking one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from shortloop.cli.tables import print_lines
from shortloop.text import one_line

__all__ = ["check_file", "documented_fields", "list_fields"]


def documented_fields() -> Iterator[tuple[str, str]]:
    """Every field of a study file with its description, tables after the fields of the one above.

    Yields
    ------
    name : str
        Dotted name; of alternatives, the tag in brackets: ``input[edf].tmin``.
    description : str
        What it is, its unit and default.
    """
    from shortloop.eeg.study.schema import Study

    yield from _fields(Study, "")


def list_fields() -> None:
    """Print every field of a study file with its description."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("field", style="bold", no_wrap=True)
    table.add_column("what, unit, default", overflow="fold")
    for name, description in documented_fields():
        table.add_row(name.replace("[", "\\["), description.replace("[", "\\["))
    Console(highlight=False).print(table)


def check_file(file: Path) -> None:
    """Read a study file and say what it asks for.

    Parameters
    ----------
    file : Path
        The study file.

    Raises
    ------
    InputError
        If it is missing or wrong.
    """
    from shortloop.eeg.study.load import read_study

    study = read_study(file)
    print_lines(
        f"{one_line(file)} is fine: study {study.name}, {len(study.participants)} participants, "
        f"{len(study.classes)} classes, {study.phases.train} trains, {study.phases.decoded} is decoded, "
        f"{' and '.join(study.features.kinds)} features"
    )


def _fields(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str]]:
    from shortloop.eeg.study.load import models_in

    inner: list[tuple[str, Any]] = []
    for name, field in model.model_fields.items():
        yield prefix + name, field.description or ""
        found = models_in(field.annotation)
        inner += [(name if len(found) == 1 else f"{name}[{_tag(each)}]", each) for each in found]
    for name, each in inner:
        yield from _fields(each, f"{prefix}{name}.")


def _tag(model: type[BaseModel]) -> str:
    tag = model.model_fields.get("format") or model.model_fields["kind"]
    return str(tag.annotation.__args__[0])  # type: ignore[union-attr]
