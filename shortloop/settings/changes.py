"""Changes that one run of a sweep makes to a settings file.

The file itself stays as it is, and where it is: paths in it may start there. Build scripts are told of the
changes by a variable of the environment.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.settings.write import toml_text

__all__ = ["CHANGES_VARIABLE", "Changes", "changed_name", "changed_text", "field_keys", "value_of"]

CHANGES_VARIABLE = "SHORTLOOP_CHANGES"
"""Variable that holds them, as JSON."""
NAME = "name"
NEED_QUOTES = frozenset("\"'[]{},\n")
"""Letters that a text without quotes does not have."""


@dataclass(frozen=True)
class Changes:
    """Changes of one run.

    suffix: what follows the name of the settings.
    fields: dotted name of each field, and its value as it is written, see `value_of`.
    """

    suffix: str
    fields: tuple[tuple[str, str], ...]

    @classmethod
    def given(cls, environ: Mapping[str, str] | None = None) -> Changes | None:
        """Those of this run."""
        text = (os.environ if environ is None else environ).get(CHANGES_VARIABLE)
        if not text:
            return None
        plain = json.loads(text)
        return cls(plain["suffix"], tuple((field, value) for field, value in plain["fields"]))

    def into(self, environ: MutableMapping[str, str]) -> None:
        """Have a run that gets these variables make them."""
        environ[CHANGES_VARIABLE] = json.dumps({"suffix": self.suffix, "fields": self.fields})

    def applied(self, content: Mapping[str, object], file: Path | None = None) -> dict[str, object]:
        """What is in a file, with them."""
        changed = dict(content)
        if isinstance(name := changed.get(NAME), str):
            changed[NAME] = f"{name}-{self.suffix}"
        keys = [(field_keys(field), field, value) for field, value in self.fields]
        for path, field, value in sorted(keys, key=lambda each: len(each[0])):  # a table before what is in it
            table = changed
            for key in path[:-1]:
                inner = table.get(key, {})
                if not isinstance(inner, dict):
                    raise InputError(
                        "a field is in what is no table", file=file, field=field, found=repr(inner)
                    )
                table[key] = table = dict(inner)
            table[path[-1]] = value_of(value)
        return changed


def changed_name(name: str) -> str:
    """The name of settings in this run."""
    changes = Changes.given()
    return name if changes is None else f"{name}-{changes.suffix}"


def changed_text(text: str) -> str:
    """What a settings file would hold if what this run changes were written there."""
    changes = Changes.given()
    if changes is None:
        return text
    try:
        return toml_text(changes.applied(tomllib.loads(text.removeprefix("\ufeff"))))
    except ValueError:  # whoever reads the file says so
        return text


def field_keys(field: str) -> tuple[str, ...]:
    """The keys that lead to a field."""
    try:
        found: object = tomllib.loads(f"{field} = 0") if "\n" not in field else 0
    except tomllib.TOMLDecodeError:
        found = 0
    keys: list[str] = []
    while isinstance(found, dict) and len(found) == 1:
        ((key, found),) = found.items()
        keys.append(key)
    if found != 0 or not keys:
        raise InputError(
            "that is no name of a field", found=field, expected='as table.field, or models."my model".alpha'
        )
    return tuple(keys)


def value_of(text: str) -> object:
    """A value as a user writes it."""
    try:
        # Between brackets, so that it is one value, and no further line or comment.
        found = tomllib.loads(f"v = [{text}]")
        if found.keys() == {"v"} and len(found["v"]) == 1:
            return found["v"][0]
    except (ValueError, RecursionError):
        pass
    if not text or text != text.strip() or NEED_QUOTES & set(text) or text.count("(") != text.count(")"):
        raise InputError(
            "that is no value",
            found=text or "nothing",
            expected="a number, true, false, an array, or a text",
            hint='put a text with such letters into quotes, as "a, b", and all into quotes of the shell',
        )
    return text
