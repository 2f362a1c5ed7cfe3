"""Process state that outlives a call: module variables, caches, environment."""

from __future__ import annotations

import functools
import os
import pickle
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["changed", "state_of_process"]

PACKAGE = str(Path(__file__).parents[1])
LARGE = 1_000_000  # bytes of an array that are not compared
OURS: tuple[str, ...] = (f"{PACKAGE}/", f"{sysconfig.get_path('stdlib')}/")
CODE = (types.FunctionType, types.BuiltinFunctionType, property, classmethod, staticmethod)
CACHED = functools._lru_cache_wrapper  # noqa: SLF001  the type has no public name

State = Mapping[str, object]

_own: tuple[object, list[tuple[str, types.ModuleType]]] = None, []


def state_of_process() -> State:
    """What variables hold, by their names; of what cannot be compared, which object it is."""
    state: dict[str, object] = {"os.environ": dict(os.environ), "os.getcwd()": os.getcwd()}
    for name, module in _own_modules():
        state.update(_variables(name, vars(module)))
    return state


def changed(before: State, now: State) -> list[str]:
    """Names of variables that hold something else, or are new; those of modules that are new are not."""
    modules = {name.rpartition(".")[0] for name in before}
    return [
        name
        for name, value in now.items()
        if (name in before or name.rpartition(".")[0] in modules)
        and before.get(name) != value
        and not _is_same(before.get(name), value)
    ]


def _is_same(before: object, now: object) -> bool:
    """True for an object that differs only as it was pickled: its first pickle may leave something in it."""
    if not (isinstance(before, bytes) and isinstance(now, bytes)):
        return False
    try:
        return _settled(before) == _settled(now)
    except Exception:  # whatever the type says
        return False


def _settled(pickled: bytes) -> bytes:
    found = pickle.loads(pickled)
    pickle.dumps(found, protocol=5)
    return pickle.dumps(found, protocol=5)


def _own_modules() -> list[tuple[str, types.ModuleType]]:
    global _own
    last = next(reversed(sys.modules))  # of several of which one was imported again, as well
    loaded = len(sys.modules), last, id(sys.modules[last])
    if _own[0] != loaded:
        own = []
        for name, module in [*sys.modules.items()]:
            file = getattr(module, "__dict__", {}).get("__file__")  # some modules import to find attributes
            if file and not ("/site-packages/" in file or "/dist-packages/" in file or file.startswith(OURS)):
                own.append((name, module))
        _own = loaded, own
    return _own[1]


def _variables(above: str, values: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in [*values.items()]:
        if name.startswith("__") or isinstance(value, types.ModuleType):
            continue
        whole = f"{above}.{name}"
        if isinstance(value, CACHED):
            yield whole, (id(value), value.cache_info().currsize)
        elif isinstance(value, type):
            yield whole, id(value)
            if value.__module__ == above:
                yield from _variables(whole, vars(value))
        elif isinstance(value, CODE):
            yield whole, (id(value), len(getattr(value, "__dict__", ())))
        else:
            yield whole, _held(value)


def _held(value: Any) -> object:
    if isinstance(value, str | int | float | bool | None):
        return repr(value)
    try:
        if getattr(value, "nbytes", 0) > LARGE:
            return id(value)
        return pickle.dumps(value, protocol=5)
    except Exception:  # whatever the type says
        return id(value)
