"""Read a settings file into a validated record, or explain what is wrong with it."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from shortloop.base.errors import InputError
from shortloop.base.extras import called, entry_points
from shortloop.base.plain import with_tuples
from shortloop.settings.base import (
    NAME,
    STRICT,
    Tagged,
    check_kinds,
    has_free_keys,
    kinds_of,
    models_in,
    records_of,
    tag_of,
)
from shortloop.settings.cache import CACHE_TABLE, cache_settings
from shortloop.settings.changes import Changes
from shortloop.settings.engine import ENGINE_TABLE, engine_settings

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)


def settings_path(variables: Sequence[str], default: Path, base: Path) -> Path:
    given = next(filter(None, map(os.environ.get, variables)), None)
    return Path(os.path.abspath(base / os.path.expanduser(given))) if given else default


def read_settings(path: str | os.PathLike[str], model: type[M], *, noun: str, variable: str) -> M:
    path = Path(path)
    text = _text(path, noun, variable)
    try:
        content = _changed(tomllib.loads(text), path, model)
        for name, check in ((ENGINE_TABLE, engine_settings), (CACHE_TABLE, cache_settings)):
            if name not in model.model_fields and isinstance(table := content.get(name), dict):
                check(table, path, {})  # it is for the run, not for the analysis
                del content[name]
        check_kinds(model, content)
        try:
            validated = _validated(content, model)
            # JSON has no dates, so that a field could not tell one from a text.
            return model.model_validate(content) if _holds_times(content) else validated
        except ValidationError as error:
            raise explain(error, content, path, model, noun) from None
    except InputError:
        raise
    except tomllib.TOMLDecodeError as error:
        problem, hint, found = f"the {noun} file is not valid TOML", "correct that line", str(error)
    except (ValueError, OverflowError, RecursionError) as error:  # of thousands of digits, or of brackets
        problem = f"the {noun} file holds a number too large, or tables or arrays in each other too deep"
        hint, found = "correct the value", str(error)
    raise InputError(problem, file=path, found=found, hint=hint)


def _changed(content: dict[str, object], path: Path, model: type[BaseModel]) -> dict[str, object]:
    """Apply the changes of a sweep."""
    if (changes := Changes.given()) is None:
        return content
    field = model.model_fields.get("name")
    if field is not None and not field.is_required():  # else all runs of a sweep would have one name
        content = {"name": field.get_default(call_default_factory=True), **content}
    return changes.applied(content, path)


def _text(path: Path, noun: str, variable: str) -> str:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for
            raise InputError(f"the {noun} file is not a regular file", file=path, hint="name a TOML file")
        return path.read_bytes().decode("utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        hint = f"give an existing file: --settings FILE, or {variable}=FILE in the environment"
        problem = f"the {noun} file cannot be read ({error.strerror})"
    except UnicodeDecodeError as error:
        problem, hint = f"the {noun} file is not valid TOML: {error}", "save it as UTF-8"
    raise InputError(problem, file=path, hint=hint)


def _validated(content: Mapping[str, object], model: type[M]) -> M:
    """Validate as strict JSON: "10" and true are not 10, but a list may be a set, and a table a dataclass."""
    try:
        text = json.dumps(content, default=lambda time: time.isoformat())
        return model.model_validate_json(text, strict=True, context=STRICT)
    except ValidationError as error:
        if all(each["type"] != "tuple_type" for each in error.errors()):
            raise
        # What a validator that comes first returns counts as Python, where no list is a tuple.
        return model.model_validate(with_tuples(content), strict=True, context=STRICT)


def _holds_times(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_times, value.values() if isinstance(value, dict) else value))
    return isinstance(value, date | time)


class WrongSettings(InputError):
    """All problems of a settings file; the message is that of the first, with their number."""

    def __init__(self, every: Sequence[InputError]) -> None:
        self.every = tuple(every)
        first = every[0]
        more = f" (and {len(every) - 1} more)" if len(every) > 1 else ""
        said = {"field": first.field, "found": first.found, "expected": first.expected, "hint": first.hint}
        super().__init__(f"{first.problem}{more}", file=first.file, **said)  # type: ignore[arg-type]


_Problem = tuple[str, dict[str, Any]]  # what is wrong with the file, and the facts of the message


class _Place(NamedTuple):
    """Location of a problem in the file."""

    keys: tuple[str | int, ...]  # keys and positions as the user wrote them
    models: list[type[BaseModel]]  # possible records of the table with the last key
    value: object


def explain(
    error: ValidationError, content: Mapping[str, object], path: Path, model: type[BaseModel], noun: str
) -> WrongSettings:
    """Translate pydantic's errors into the terms of the file."""
    places: dict[tuple[str | int, ...], list[tuple[_Place, ErrorDetails]]] = {}
    for each in error.errors(include_url=False):
        place = _place_of(each, content, model)
        # Alternatives that all fail, e.g. a number or 'auto', are one mistake.
        places.setdefault(place.keys, []).append((place, each))
    for keys in [keys for keys, same in places.items() if same[0][1]["type"] == "too_short"]:
        if any(other[: len(keys)] == keys != other for other in places):
            del places[keys]  # as wrong values in it do not count
    found = [_translated(same[0][0], [each for _, each in same]) for same in places.values()]
    return WrongSettings(
        [InputError(f"the {noun} file {what}", file=path, **facts) for same in found for what, facts in same]
    )


def _translated(place: _Place, same: Sequence[ErrorDetails]) -> list[_Problem]:
    kind, keys = same[0]["type"], place.keys
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):  # the other of a dataclass
        known = sorted(place.models[0].model_fields) if place.models else []
        hint = _suggest(str(keys[-1]), known) or "remove the key"
        facts = {"field": _dotted(keys), "found": str(keys[-1]), "expected": ", ".join(known) or None}
        return [("has an unknown key", {**facts, "hint": hint})]
    if kind == "missing" and same[0]["loc"][-1] == keys[-1]:
        return [_missing(keys)]
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return [_wrong_tag(place, same[0])]
    if kind == "value_error":  # of our own making
        said = same[0]["msg"].removeprefix("Value error, ")
        return [_wrong_together(keys, line) for line in said.splitlines()]
    ways = [_in_words(each) for each in same]
    expected = " or ".join([ways[0], *(way.removeprefix("Input should be ") for way in ways[1:])])
    return [_wrong(_dotted(keys), repr(place.value), expected=expected)]


def _wrong(field: str | None, found: str, hint: str = "correct the value", **more: str) -> _Problem:
    return "has a wrong value", {"field": field, "found": found, "hint": hint, **more}


def _missing(keys: Sequence[str | int]) -> _Problem:
    return "is missing a key", {"field": _dotted(keys), "hint": f"add '{keys[-1]}'"}


def _wrong_tag(place: _Place, problem: ErrorDetails) -> _Problem:
    """Problem of the key that selects one of several tables."""
    keys = (*place.keys, problem["ctx"]["discriminator"].strip("'"))
    if (tags := problem["ctx"].get("expected_tags")) is None:
        return _missing(keys)
    found = problem["ctx"]["tag"]
    kinds = models_in(place.models[0].model_fields[str(place.keys[-1])].annotation) if place.models else []
    group = next((each.group for each in kinds if issubclass(each, Tagged)), "")
    tags += "".join(f", '{each}'" for each in sorted({point.name for point in entry_points(group)}))
    install = f", or install the package that has {called(group, found)}" if group else ""
    hint = _suggest(found, [tag.strip("'") for tag in tags.split(", ")]) or f"correct the value{install}"
    return _wrong(_dotted(keys), repr(found), hint, expected=tags)


def _wrong_together(keys: Sequence[str | int], said: str) -> _Problem:
    """Problem of values that do not fit together: "field: problem", or without a field."""
    inner = re.match(r"([a-z_.]+): ", said)
    fields = [_dotted(keys), inner and inner[1]]
    return _wrong(".".join(filter(None, fields)) or None, said[inner.end() :] if inner else said)


def _place_of(problem: ErrorDetails, content: Mapping[str, object], model: type[BaseModel]) -> _Place:
    """Find a problem in the file: pydantic's own location has names of alternatives, too."""
    keys: list[str | int] = []
    here: object = content
    above = models = [model]
    by_name = False  # whether the next key is a name of the user's
    for part in problem["loc"]:
        if isinstance(here, dict) and not by_name and len(models) > 1:
            models = [each for each in models if part in (tag_of(each), each.__name__)]
            continue
        if isinstance(here, dict) and (part in here or problem["type"] == "missing"):
            keys.append(part)
            here = here.get(part)
            if by_name:
                by_name = False
                continue
            above = models
            field = models[0].model_fields.get(str(part)) if models else None
            models = records_of(models_in(field.annotation), here) if field else []
            by_name = field is not None and has_free_keys(field.annotation)
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            keys.append(part)
            here = here[part]
        else:
            break
    return _Place(tuple(keys), above, here)


def _dotted(keys: Sequence[str | int]) -> str | None:
    return ".".join(map(str, keys)) or None


def _in_words(problem: ErrorDetails) -> str:
    if problem["type"] == "missing":  # of a pair of numbers, one
        return f"{int(problem['loc'][-1]) + 1} values"
    if problem["type"] in ("tuple_type", "list_type", "set_type", "frozen_set_type"):
        return "a list in brackets, also of one value"
    if problem["type"] == "too_short":
        least = problem["ctx"]["min_length"]
        return f"at least {least} value{'' if least == 1 else 's'}"
    if problem["type"] == "string_pattern_mismatch" and problem["ctx"]["pattern"] == NAME:
        return "letters without accents, digits and _ . + -, the first a letter or a digit"
    said: str = problem["msg"]
    words = {"an object": "a table", "dictionary": "table", "Tuple": "Array", "tuple": "array"}
    for jargon, word in words.items():
        said = said.replace(jargon, word)
    return said


def _suggest(written: str, known: Sequence[str]) -> str | None:
    near = difflib.get_close_matches(written, known, n=1)
    return f"did you mean '{near[0]}'?" if near else None


def documented_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield every field with its description, tables after the fields of their parent."""
    inner: list[tuple[str, type[BaseModel]]] = []
    for name, field in model.model_fields.items():
        yield prefix + name, field.description or ""
        found = [kind for each in models_in(field.annotation) for kind in kinds_of(each)]
        inner += [(name if len(found) == 1 else f"{name}[{tag_of(each)}]", each) for each in found]
    for name, each in inner:
        yield from documented_fields(each, f"{prefix}{name}.")
