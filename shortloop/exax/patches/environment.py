"""Record environment variables that a stage reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from shortloop.keys.own_code import PACKAGE
from shortloop.store.process_notes import note


def watch_variables(is_asked_by_user: Callable[[FrameType], bool]) -> None:
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
            if not name.startswith(PACKAGE.upper()) and is_asked_by_user(sys._getframe(1)):
                note(variable=name)
        return get(environment, name)

    def names(environment: Any) -> Iterator[str]:
        found = [*names_of(environment)]
        coming[:] = found[::-1]
        return iter(found)

    kind.__getitem__, kind.__iter__ = read, names
