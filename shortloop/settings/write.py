"""Write plain data as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time

__all__ = ["toml_key", "toml_text", "toml_value"]

BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
"""Letters that a key may have without quotes."""


def toml_text(content: Mapping[str, object]) -> str:
    """A file with some content; comments and the order of tables are not those of any file it came from."""
    return "\n".join(_lines(content, ())) + "\n"


def toml_value(value: object) -> str:
    """A value in one line."""
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
    """A key, in quotes where it needs them."""
    return key if key and BARE.issuperset(key) else toml_value(key)


def _lines(table: Mapping[str, object], keys: tuple[str, ...]) -> list[str]:
    """What is no table first: after the head of one, it would be in that."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    own = [f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items() if key not in inner]
    lines = ["", f"[{'.'.join(map(toml_key, keys))}]", *own] if keys and (own or not inner) else own
    for key, value in inner.items():
        lines += _lines(value, (*keys, key))
    return lines
