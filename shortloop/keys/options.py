"""Values allowed as job options, in one canonical form for equal values.

The planner has no time to import pydantic, which validates the options in the job. This knows the types of
Python alone: equal values become the same plain data, of which pydantic makes the value again.
"""

from __future__ import annotations

import builtins
import dataclasses
import json
import math
import reprlib
import sys
import typing
from collections.abc import Collection, Mapping, Set
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from enum import Enum
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, TypeVar, Union, cast
from uuid import UUID

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.keys.hashing import canonical
from shortloop.stages.inputs import File
from shortloop.stages.stage import Stage

ALLOWED = "None, bool, int, float that is finite, str, and lists, tuples and dicts (of str) of these"
DEEPEST = 50
MOST_BITS = 4096  # of an int
HINTS = {
    **dict.fromkeys(("set", "frozenset"), "give a sorted list"),
    **dict.fromkeys(("date", "datetime", "Timestamp", "Timedelta"), "give its text: `.isoformat()`"),
    **dict.fromkeys(("ndarray", "Series", "Index"), "give a list: `.tolist()`"),
    **dict.fromkeys(("range", "deque"), "give a list: `list(…)`"),
}


def check_options(stage: str, options: Mapping[str, object]) -> None:
    """Check that options are plain data, the same in every process that reads them."""

    def refused(name: str, found: str, hint: str | None = None) -> InputError:
        return InputError(
            f"an option of {stage} is not plain data",
            field=f"option {name}" if name else "options",
            found=found,
            expected=ALLOWED,
            hint=hint or "give plain data that says the same",
        )

    def check(name: str, value: Any, depth: int) -> None:
        kind = type(value)  # not isinstance: the rest of a subclass would be lost
        if depth > DEEPEST:
            raise refused(name, f"more than {DEEPEST} lists or dicts in each other")
        if kind is dict:
            for key, each in value.items():
                if type(key) is not str:
                    raise refused(name, f"a key of type {_named(type(key))}: {key!r}", "give its text")
                check(f"{name}.{key}" if name else key, each, depth + 1)
                check(name, key, depth)
        elif kind in (list, tuple):
            for place, each in enumerate(value):
                check(f"{name}[{place}]", each, depth + 1)
        elif problem := _problem_of(kind, value):
            raise refused(name, *problem)

    check("", dict(options), 0)


def _problem_of(kind: type, value: Any) -> tuple[str, str | None] | None:
    """What was found instead of a plain scalar, and what to give."""
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            return f"a str with half a character: {value!r}", None
    elif kind is float and not math.isfinite(value):
        return repr(value), "give None where there is no number"
    elif kind is int and value.bit_length() > MOST_BITS:
        return f"an int of {value.bit_length():,} bits", "give its text"
    elif value is not None and kind not in (bool, int, float):
        return f"{_named(kind)}: {_shown(value)}", _hint(value)
    return None


def _hint(value: object) -> str | None:
    if isinstance(value, PurePath):
        return (
            "a job must depend on what is in a file, not on where it is: give `run.file(…)` of the path; in "
            "a method that is no stage, `locate` of shortloop.store.inputs finds it by its content"
        )
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return "give the number: `.item()`"
    plain = next((kind for kind in (int, float, str, list, tuple, dict) if isinstance(value, kind)), None)
    said = plain and f"give `{plain.__name__}(…)` of it"
    return HINTS.get(type(value).__name__, said or ("give its `.value`" if isinstance(value, Enum) else None))


def _named(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _shown(value: object) -> str:
    try:
        return reprlib.repr(value)
    except Exception:  # it is not ours
        return "…"


def annotations_of(stage: type[Stage]) -> dict[str, object]:
    """Types of a stage's options, as far as known without an import."""
    names = dict(vars(builtins)) | {"typing": typing, **vars(typing)}
    found: dict[str, object] = {}
    for kind in reversed(stage.__mro__[: stage.__mro__.index(Stage)]):
        module = {**names, **vars(sys.modules[kind.__module__])}
        for name, said in vars(kind).get("__annotations__", {}).items():
            try:
                found[name] = eval(said, module) if isinstance(said, str) else said
            except Exception:  # e.g. a name that is imported below `if TYPE_CHECKING:`
                found.pop(name, None)
    return found


def plain(value: object) -> Plain:
    """Convert a value: records become dicts, files their content and name, also in lists and dicts."""
    return plain_of(Any, value)


def plain_of(hint: object, value: object) -> Plain:
    """Convert an option of a type to its canonical plain form."""
    if isinstance(value, File):
        return value.option
    types = _alternatives(hint)
    only = types[0] if len(types) == 1 else Any
    if hasattr(value, "model_dump"):
        return _of_record(value, only if hasattr(only, "model_validate_json") else type(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        only = only if dataclasses.is_dataclass(only) else type(value)
        given = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
        return _of_dataclass(only, given)
    if isinstance(value, Enum):
        return cast("Plain", cast("Any", value).value if type(value) is only else value)
    kind = type(value)
    if kind is int and float in types and int not in types:
        with suppress(OverflowError):
            return float(cast("int", value))
    if kind in (list, tuple, set, frozenset):
        return _of_list([each for each in types if _is(each, Collection, str, bytes, Mapping)], value)
    if kind is dict:
        return _of_dict(types, only, cast("dict[object, object]", value))
    return cast("Plain", _of_scalar(only, value))


def _alternatives(hint: object) -> list[Any]:
    """Members of a union, without None."""
    if isinstance(hint, NewType):
        return _alternatives(hint.__supertype__)
    if isinstance(hint, TypeVar):
        return _alternatives(hint.__bound__ or Any)
    if hasattr(hint, "__value__"):  # of `type X = …`
        return _alternatives(hint.__value__)
    if (origin := typing.get_origin(hint)) is Annotated:
        return _alternatives(typing.get_args(hint)[0])
    if origin in (Union, UnionType):
        return [each for one in typing.get_args(hint) for each in _alternatives(one)]
    return [] if hint in (None, NoneType) else [hint]


def _is(hint: Any, kind: type, *but: type) -> bool:
    origin = typing.get_origin(hint) or hint
    return isinstance(origin, type) and issubclass(origin, kind) and not issubclass(origin, but)


def _of_list(meant: list[Any], value: Any) -> Plain:
    hint = meant[0] if len(meant) == 1 else Any
    of = typing.get_args(hint)
    is_set = _is(hint, Set)
    if isinstance(value, set | frozenset) and not is_set:
        return cast("Plain", value)
    if _is(hint, tuple) and of and of[-1] is not ...:
        return [plain_of(*pair) for pair in zip(of, value)] + [plain(each) for each in value[len(of) :]]
    inside = [plain_of(of[0] if of else Any, each) for each in value]
    if not is_set:
        return inside
    once = {canonical(each): each for each in inside}
    return [once[text] for text in sorted(once)]


def _of_dict(types: list[Any], only: Any, value: dict[object, object]) -> Plain:
    if dataclasses.is_dataclass(only):
        return _of_dataclass(only, value)
    if hasattr(only, "model_validate_json"):
        return _of_model(only, value)
    if hasattr(only, "__required_keys__"):  # a TypedDict, of whichever library
        inner = typing.get_type_hints(only)
        return {name: plain_of(inner.get(cast("str", name), Any), each) for name, each in value.items()}  # type: ignore[misc]
    meant = [typing.get_args(each) for each in types if _is(each, Mapping)]
    key, of = meant[0] if len(meant) == 1 and len(meant[0]) == 2 else (Any, Any)
    names = {name: _as_key(key, name) for name in value}
    if len({*names.values()}) < len(names):
        names = {name: name for name in value}
    return {names[name]: plain_of(of, each) for name, each in value.items()}  # type: ignore[misc]


def _as_key(hint: object, name: object) -> object:
    if (types := _alternatives(hint)) == [int] and type(name) is int:
        return str(name)
    return plain_of(types[0], name) if len(types) == 1 and isinstance(name, Enum | date) else name


def _of_dataclass(kind: Any, given: Mapping[Any, object]) -> Plain:
    """Convert a dataclass, with defaults for missing fields."""
    fields = {each.name: each for each in dataclasses.fields(kind) if each.init}
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if field.default is not dataclasses.MISSING:
            values[name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            values[name] = field.default_factory()
    derived = {each.name for each in dataclasses.fields(kind)} - fields.keys()
    values |= {name: each for name, each in given.items() if name not in derived}
    if unknown := [str(name) for name in values if name not in fields]:
        problem = f"{kind.__name__} has no such field"
        hint = "change the build script"
        raise InputError(problem, found=", ".join(unknown), expected=", ".join(fields), hint=hint)
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except NameError:
        hints = {}
    return {name: plain_of(hints.get(name, Any), each) for name, each in values.items()}


def _of_model(kind: Any, given: Mapping[Any, object]) -> Plain:
    """Convert a table for a pydantic record, with defaults; leave an invalid one for the job to refuse."""
    said = cast("Plain", plain(dict(given)) if given else {})
    try:
        return _of_record(kind.model_validate_json(canonical(said), strict=True), kind)
    except (ValueError, TypeError):
        return said


def _of_record(record: Any, kind: Any) -> Plain:
    """Convert a pydantic record, if the stage gets an equal one back."""
    dumped = _in_order(record, record.model_dump(mode="json"))
    try:
        text = json.dumps(dumped, allow_nan=False)
    except ValueError:
        return cast("Plain", dumped)  # `check_options` says which number it is
    try:
        again = kind.model_validate_json(text)
    except (ValueError, TypeError):
        again = None
    if again != record:
        problem = f"a record {type(record).__name__} does not survive a round trip through plain data"
        hint = "exclude no fields, and use no types that hide their values, such as SecretStr"
        raise InputError(problem, found=text[:200], expected="a record that keeps all its fields", hint=hint)
    return cast("Plain", dumped)


def _in_order(value: object, dumped: Any) -> Any:
    """Sort sets in the plain data of a record, so that all processes agree."""
    if isinstance(dumped, dict):
        if isinstance(value, Mapping):
            return {name: _in_order(each, of) for each, (name, of) in zip(value.values(), dumped.items())}
        return {name: _in_order(getattr(value, name, None), of) for name, of in dumped.items()}
    if isinstance(dumped, list) and isinstance(value, Collection):
        inside = [_in_order(*pair) for pair in zip(value, dumped)]
        return sorted(inside, key=canonical) if isinstance(value, Set) else inside
    return dumped


def _of_scalar(hint: Any, value: Any) -> object:
    kind = type(value)
    try:
        if hint in (date, datetime, time):
            given = hint.fromisoformat(value) if kind is str else value
            zone = getattr(given, "tzinfo", None)
            is_kept = type(given) is hint and (zone is None or type(zone) is timezone)
            return given.isoformat() if is_kept else value
        if hint is timedelta and kind is timedelta:
            sign, parts = ("-", -value) if value < timedelta(0) else ("", value)
            return f"{sign}P{parts.days}DT{parts.seconds}.{parts.microseconds:06}S"
        if hint is Decimal and kind in (str, int, Decimal):
            return str(Decimal(value))
        if hint is UUID and kind in (str, UUID):
            return str(UUID(str(value)))
        if hint is bytes and kind is bytes:
            return value.decode()
        if hasattr(hint, "_fields") and kind is hint:  # a tuple with names
            return [*map(plain, value)]
    except (ValueError, InvalidOperation):
        pass
    return value
