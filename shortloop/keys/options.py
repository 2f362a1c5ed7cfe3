"""Values allowed as job options."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from shortloop.base.errors import InputError

__all__ = ["check_options"]

ALLOWED = "None, bool, int, float that is finite, str, and lists, tuples and dicts (of str) of these"
DEEPEST = 50
MOST_BITS = 4096  # of an int
HINTS = {
    "set": "give a sorted list",
    "frozenset": "give a sorted list",
    "date": "give its text: `.isoformat()`",
    "datetime": "give its text: `.isoformat()`",
    "ndarray": "give a list: `.tolist()`",
}


def check_options(stage: str, options: Mapping[str, object]) -> None:
    """Check that options are plain data, the same in every process that reads them."""
    _check(stage, "", dict(options), 0)


def _check(stage: str, name: str, value: Any, depth: int) -> None:
    if depth > DEEPEST:
        raise _refused(stage, name, f"more than {DEEPEST} lists or dicts in each other", None)
    kind = type(value)  # not isinstance: what else a kind of its own holds would be lost
    if kind is dict:
        for key, each in value.items():
            if type(key) is not str:
                raise _refused(stage, name, f"a key of type {_named(type(key))}: {key!r}", "give its text")
            _check(stage, f"{name}.{key}" if name else key, each, depth + 1)
            _check_text(stage, name, key)
    elif kind in (list, tuple):
        for place, each in enumerate(value):
            _check(stage, f"{name}[{place}]", each, depth + 1)
    elif kind is str:
        _check_text(stage, name, value)
    elif kind in (int, float):
        _check_number(stage, name, value)
    elif value is not None and kind is not bool:
        raise _refused(stage, name, f"{_named(kind)}: {_shown(value)}", _hint(value))


def _check_number(stage: str, name: str, value: float) -> None:
    if not isinstance(value, int):
        if not math.isfinite(value):
            raise _refused(stage, name, repr(value), "give None where there is no number")
    elif value.bit_length() > MOST_BITS:
        raise _refused(stage, name, f"an int of {value.bit_length():,} bits", "give its text")


def _check_text(stage: str, name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused(stage, name, f"a str with half a character: {text!r}", None) from None


def _hint(value: object) -> str | None:
    if isinstance(value, PurePath):
        return (
            "a job must depend on what is in a file, not on where it is: give `run.file(…)` of the path; in "
            "a method that is no stage, `locate` of shortloop.store.inputs finds it by its content"
        )
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return "give the number: `.item()`"
    plain = next((kind for kind in (int, float, str, list, tuple, dict) if isinstance(value, kind)), None)
    return HINTS.get(type(value).__name__, plain and f"give `{plain.__name__}(…)` of it")


def _named(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # it is not ours
        return "…"
    return text if len(text) <= 80 else f"{text[:79]}…"


def _refused(stage: str, name: str, found: str, hint: str | None) -> InputError:
    return InputError(
        f"an option of {stage} is not plain data",
        field=f"option {name}" if name else "options",
        found=found,
        expected=ALLOWED,
        hint=hint or "give plain data that says the same",
    )
