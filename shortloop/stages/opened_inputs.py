"""Detect input files that a unit opens while it computes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from shortloop.stages.references import References, here
from shortloop.stages.stage import Stage
from shortloop.stages.state import changed, state_of_process

__all__ = ["heard"]

PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
Given = TypeVar("Given")

_listening: References | None = None
_has_hook = False


def heard(stage: Stage, compute: Callable[[], Given]) -> tuple[Given, bool]:
    """Compute a unit whose key was just made, and listen."""
    global _listening
    given = here()
    if not given.files:
        return compute(), False
    _add_hook()
    given.opened.clear()
    if given.state is None:
        given.state = _state(stage)
    _listening = given
    try:
        values = compute()
    finally:  # also of a unit that fails: the next one may find what it left
        _listening = None
        depends = given.is_left or not given.opened <= given.joined
        if given.opened and not given.is_left:
            given.is_left = depends or bool(changed(given.state, _state(stage)))
    return values, depends


def _state(stage: Stage) -> dict[str, object]:
    """State that a unit could leave to the next one."""
    own = {
        f"self.{name}": (id(value), len(value) if hasattr(value, "__len__") else 0)
        for name, value in vars(stage).items()
    }
    return {**state_of_process(), **own}


def _add_hook() -> None:
    global _has_hook
    if not _has_hook:
        sys.addaudithook(_hear)  # forks inherit it, and no process can take it away
        _has_hook = True


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    given = _listening
    if given is None:
        return
    if event == "open":
        path, _, flags = arguments[:3]
        if not isinstance(path, int) and not (flags or 0) & os.O_WRONLY:
            given.open(path)
    elif event == "sqlite3.connect":
        given.open(arguments[0])
    elif event in PROGRAMS:
        for each in _texts(arguments):
            named = given.of_text(each, False)
            given.opened.update(file.path for file in (given.files if named is None else named))


def _texts(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return [os.fsdecode(value)] if isinstance(value, str | bytes | os.PathLike) else []
