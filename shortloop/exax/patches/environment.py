"""Record environment variables that a stage reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from shortloop.keys.own_code import PACKAGE
from shortloop.store.process_notes import note

THROUGH = ("os", "collections.abc")  # modules whose functions read the environment for their caller


def watch_variables(is_of_user: Callable[[FrameType], bool]) -> None:
    """Note variables of the environment that the user's code reads by name, each once."""
    kind: Any = type(os.environ)
    get, names_of = kind.__getitem__, kind.__iter__
    seen: set[str] = set()
    coming: list[str] = []  # names that a copy of all is about to read, the last first

    def read(environment: Any, name: Any) -> Any:
        if coming and coming[-1] == name:
            coming.pop()
        elif isinstance(name, str) and name not in seen:
            coming.clear()
            seen.add(name)
            caller = _caller(sys._getframe(1))
            if not name.startswith(PACKAGE.upper()) and is_of_user(caller) and _names_environment(caller):
                note(variable=name)
        return get(environment, name)

    def names(environment: Any) -> Iterator[str]:
        found = [*names_of(environment)]
        coming[:] = found[::-1]
        return iter(found)

    kind.__getitem__, kind.__iter__ = read, names


def _caller(frame: FrameType) -> FrameType:
    while frame.f_back is not None and frame.f_globals.get("__name__") in THROUGH:
        frame = frame.f_back
    return frame


def _names_environment(frame: FrameType) -> bool:
    """True if code names the environment itself; else compiled code that it calls reads there."""
    names = frame.f_code.co_names
    known = (os.environ, os.getenv)
    return (
        "environ" in names
        or "getenv" in names
        or any(frame.f_globals.get(name) is each for name in names for each in known)
    )
