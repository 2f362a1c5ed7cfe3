"""What is wrong with a study file, in its own words: keys as the user wrote them, no types of Python."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from shortloop.eeg.study.schema import Study
from shortloop.errors import InputError

__all__ = ["explain", "models_in"]


def explain(error: ValidationError, content: dict[str, Any], path: Path) -> InputError:
    """The first of pydantic's errors in words of the study file.

    Parameters
    ----------
    error : pydantic.ValidationError
        Of `Study`.
    content : dict
        The study file as it was read.
    path : Path
        The study file.

    Returns
    -------
    InputError
        With file and field, what was found and what was expected; says how many mistakes there are besides.
    """
    problems = [(_as_written(each, content), each) for each in error.errors(include_url=False)]
    place, first = problems[0]
    # Alternatives that all fail, e.g. a number or 'auto', are one mistake.
    same = [each for other, each in problems if other == place]
    more = f" (and {len(problems) - len(same)} more)" if len(problems) > len(same) else ""
    field = ".".join(map(str, place)) or None
    if first["type"] == "extra_forbidden":
        known = _known_keys(place[:-1], content)
        return InputError(
            f"the study file has an unknown key{more}",
            file=path,
            field=field,
            found=place[-1],
            expected=", ".join(known) or None,
            hint=_suggest(str(place[-1]), known) or "remove the key",
        )
    if first["type"] == "missing" and first["loc"][-1] == place[-1]:
        return InputError(
            f"the study file lacks a key{more}", file=path, field=field, hint=f"add '{place[-1]}'"
        )
    if first["type"] in ("union_tag_not_found", "union_tag_invalid"):
        return _explain_tag(first, path, more)
    expected: str | None = None
    if first["type"] == "value_error":  # of our own making: what is wrong, or "field: what is wrong"
        found = first["msg"].removeprefix("Value error, ")
        inner = re.match(r"([a-z_.]+): ", found)
        if inner:
            field, found = ".".join(filter(None, (field, inner[1]))), found[inner.end() :]
    else:
        ways = [_in_words(each) for each in same]
        expected = " or ".join([ways[0], *(way.removeprefix("Input should be ") for way in ways[1:])])
        found = repr(_value(place, content))
    return InputError(
        f"the study file has a wrong value{more}",
        file=path,
        field=field,
        found=found,
        expected=expected,
        hint="correct the value",
    )


def models_in(annotation: Any) -> list[type[BaseModel]]:
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


def _explain_tag(problem: Any, path: Path, more: str) -> InputError:
    """What is wrong with the key that says which of several tables this is."""
    key = problem["ctx"]["discriminator"].strip("'")
    tags = problem["ctx"].get("expected_tags")
    field = f"{problem['loc'][0]}.{key}"
    if tags is None:
        return InputError(f"the study file lacks a key{more}", file=path, field=field, hint=f"add '{key}'")
    found = problem["ctx"]["tag"]
    return InputError(
        f"the study file has a wrong value{more}",
        file=path,
        field=field,
        found=repr(found),
        expected=tags,
        hint=_suggest(found, [tag.strip("'") for tag in tags.split(", ")]) or "correct the value",
    )


def _as_written(problem: Any, content: dict[str, Any]) -> list[str | int]:
    """The place of a problem in the file: pydantic's own has names of alternatives, too."""
    place: list[str | int] = []
    here: Any = content
    for depth, part in enumerate(problem["loc"]):
        if isinstance(here, dict):
            if depth == 1 and part == _tag_of(here):
                continue
            if part not in here and problem["type"] != "missing":
                break
            place.append(part)
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            place.append(part)
            here = here[part]
        else:
            break
    return place


def _in_words(problem: Any) -> str:
    if problem["type"] == "missing":  # of a pair of numbers, one
        return f"{problem['loc'][-1] + 1} values"
    said: str = problem["msg"]
    for jargon, word in {"Tuple": "Array", "tuple": "array", "dictionary": "table"}.items():
        said = said.replace(jargon, word)
    return said


def _value(place: list[str | int], content: Any) -> Any:
    for part in place:
        content = content[part]
    return content


def _suggest(written: str, known: list[str]) -> str | None:
    near = difflib.get_close_matches(written, known, n=1)
    return f"did you mean '{near[0]}'?" if near else None


def _known_keys(place: list[str | int], content: Any) -> list[str]:
    """Keys that the study file may have in the table at a place."""
    models: list[type[BaseModel]] = [Study]
    for part in place:
        content = content[part]
        models = models_in(models[0].model_fields[str(part)].annotation)
        if len(models) > 1:
            models = [model for model in models if _tag_of(content) in _tags(model)]
    return sorted(models[0].model_fields)


def _tag_of(table: dict[str, Any]) -> Any:
    return table.get("format", table.get("kind"))


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    field = model.model_fields.get("format") or model.model_fields["kind"]
    return get_args(field.annotation)
