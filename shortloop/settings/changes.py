"""Changes that a sweep makes to a settings file for one run, told by a variable of the environment."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path

from shortloop.base.errors import InputError

CHANGES_VARIABLE = "SHORTLOOP_CHANGES"  # environment variable with the changes, as JSON
NAME = "name"
NEED_QUOTES = frozenset("\"'[]{},\n")  # characters of text that must be quoted


@dataclass(frozen=True)
class Changes:
    """Changes of one run of a sweep."""

    suffix: str  # appended to the name of the settings
    fields: tuple[tuple[str, str], ...]  # dotted name and written value of each, see `value_of`

    @classmethod
    def given(cls, environ: Mapping[str, str] | None = None) -> Changes | None:
        """Read the changes of this run."""
        if not (text := (os.environ if environ is None else environ).get(CHANGES_VARIABLE)):
            return None
        plain = json.loads(text)
        return cls(plain["suffix"], tuple((field, value) for field, value in plain["fields"]))

    def into(self, environ: MutableMapping[str, str]) -> None:
        """Store the changes in the environment of a run."""
        environ[CHANGES_VARIABLE] = json.dumps({"suffix": self.suffix, "fields": self.fields})

    def applied(self, content: Mapping[str, object], file: Path | None = None) -> dict[str, object]:
        """Apply the changes to the content of a file."""
        changed = dict(content)
        if isinstance(name := changed.get(NAME), str):
            changed[NAME] = f"{name}-{self.suffix}"
        keys = [(field_keys(field), field, value) for field, value in self.fields]
        for path, field, value in sorted(keys, key=lambda each: len(each[0])):  # a table before what is in it
            table = changed
            for key in path[:-1]:
                inner = table.get(key, {})
                if not isinstance(inner, dict):
                    problem = "a field is in what is no table"
                    raise InputError(problem, file=file, field=field, found=repr(inner))
                table[key] = table = dict(inner)
            table[path[-1]] = value_of(value)
        return changed


def changed_name(name: str) -> str:
    """Name of settings in this run."""
    changes = Changes.given()
    return name if changes is None else f"{name}-{changes.suffix}"


def changed_text(text: str) -> str:
    """Text of a settings file with the changes of this run."""
    if (changes := Changes.given()) is None:
        return text
    try:
        return toml_text(changes.applied(tomllib.loads(text.removeprefix("\ufeff"))))
    except ValueError:  # whoever reads the file says so
        return text


def field_keys(field: str) -> tuple[str, ...]:
    """Split a dotted field name into keys."""
    try:
        found: object = tomllib.loads(f"{field} = 0") if "\n" not in field else 0
    except tomllib.TOMLDecodeError:
        found = 0
    keys: list[str] = []
    while isinstance(found, dict) and len(found) == 1:
        ((key, found),) = found.items()
        keys.append(key)
    if found != 0 or not keys:
        expected = 'as table.field, or models."my model".alpha'
        raise InputError("that is no name of a field", found=field, expected=expected)
    return tuple(keys)


def value_of(text: str) -> object:
    """Parse a value as written by a user."""
    try:
        # Between brackets, so that it is one value, and no further line or comment.
        found = tomllib.loads(f"v = [{text}]")
        if found.keys() == {"v"} and len(found["v"]) == 1:
            return found["v"][0]
    except (ValueError, RecursionError):
        pass
    if not text or text != text.strip() or NEED_QUOTES & set(text) or text.count("(") != text.count(")"):
        expected = "a number, true, false, an array, or a text"
        hint = 'put a text with such letters into quotes, as "a, b", and all into quotes of the shell'
        raise InputError("that is no value", found=text or "nothing", expected=expected, hint=hint)
    return text


BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
"""Letters that a key may have without quotes."""


def toml_text(content: Mapping[str, object]) -> str:
    """Write TOML; comments and the order of tables are lost."""
    return "\n".join(_lines(content, ())) + "\n"


def toml_value(value: object) -> str:
    """Write a value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def toml_key(key: str) -> str:
    """Write a key, quoted if needed."""
    return key if key and BARE.issuperset(key) else toml_value(key)


def _lines(table: Mapping[str, object], keys: tuple[str, ...]) -> list[str]:
    """Write values before tables: after the head of a table, they would be inside it."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    own = [f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items() if key not in inner]
    lines = ["", f"[{'.'.join(map(toml_key, keys))}]", *own] if keys and (own or not inner) else own
    for key, value in inner.items():
        lines += _lines(value, (*keys, key))
    return lines
