"""Short descriptions of single differences."""

from __future__ import annotations

from collections.abc import Sequence

from shortloop.keys.installed import number_of
from shortloop.keys.own_code import ROOT
from shortloop.plan.explain.differences import Difference
from shortloop.store.inputs import name_of

__all__ = ["code_words", "counted", "file_words", "given_words", "short", "short_list", "value_words"]

DECLARED = "file "  # what names of files that a method declares begin with
LONG = 44  # characters of a value in one line


def counted(number: int, what: str) -> str:
    """How many there are of something."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def file_words(each: Difference) -> str:
    """Which input file is another one."""
    if each.old is None:
        return f"file {name_of(str(each.new))} is new" if each.new else "a file more"
    if each.new is None:
        return f"file {name_of(str(each.old))} is not there any more"
    old, new = name_of(str(each.old)), name_of(str(each.new))
    if old != new:
        return f"file {old} → {new}"
    moved = str(each.old).partition(" ")[0] == str(each.new).partition(" ")[0]
    return f"file {new} was {'moved' if moved else 'changed'}"


def code_words(each: Difference, names: Sequence[str]) -> str:
    """Which functions are others."""
    if each.name.startswith(DECLARED):
        how = "is new" if each.old is None else "is none any more" if each.new is None else "was changed"
        return f"{each.name}, which the method declares, {how}"
    room = each.name.rpartition(".")[2]
    file = _file_of(each.name)
    if each.old is None:
        return f"code of {room} ({file}), which it did not use before"
    if each.new is None:
        return f"code of {room} ({file}), which it does not use any more"
    return f"code of {short_list([f'{room}.{name}' for name in names]) or room} ({file})"


def given_words(each: Difference) -> str:
    """That a job is made from another one more or less."""
    return f"{each.name} is {'given now' if each.old is None else 'not given any more'}"


def value_words(each: Difference, full: bool = False) -> str:
    """What a value was and is."""
    values = [each.old, each.new]
    if each.kind == "version" and number_of(str(each.old)) != number_of(str(each.new)):
        values = [value and number_of(str(value)) for value in values]
    none = (None, "") if each.kind == "version" else (None,)
    old, new = ("none" if value in none else str(value) for value in values)
    if not full:
        old, new = short(old), short(new)
    return f"{each.kind} {each.name}: {old} → {new}"


def short(text: str) -> str:
    """A text as it fits into a line."""
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def short_list(names: Sequence[str], most: int = 2, separator: str = ", ") -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - most
    return separator.join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _file_of(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"
