"""Import methods in a fork and afresh in each job, isolating jobs from each other.

What a method does as it is imported (settings of matplotlib, warning filters, the environment) would else be
inherited by all jobs that are forked from the process that has loaded all methods.

Made for exax 2025.11.11. Upstream: `load_methods` could import each method in a fork.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from shortloop.exax.patches.loading import own_modules
from shortloop.exax.patches.preload import import_all
from shortloop.exax.patches.reloading import add_reads, reads_of_fork
from shortloop.keys.own_code import PACKAGE, is_own
from shortloop.project.project import cache_directory, write_atomically

__all__ = ["import_methods_apart"]

ASKED = ("depend_extra", "description", "options", "datasets", "jobs", "equivalent_hashes")
"""What exax looks for in a method when it loads it."""

Mod = tuple[object, str, str]  # as exax's `get_mod` gives it


def import_methods_apart() -> None:
    """From now on, import methods of the user's own in a fork, which tells what exax asks of them."""
    runner: Any = sys.modules["__main__"]
    original: Callable[[str], Mod] = runner.get_mod
    methods: list[str] = []
    said: dict[str, bytes] = {}

    @functools.wraps(original)
    def get_mod(name: str) -> Mod:
        if not methods:  # of `load_methods`, which calls this for packages first: all methods that it loads
            methods.extend(f"{package}.a_{key}" for package, key in sys._getframe(1).f_locals["data"])
        if not _is_of_user(name):
            return original(name)
        if name not in methods:
            raise ImportError(f"{name} is imported by jobs alone")  # exax needs it for its warnings only
        if not said:
            said.update(_said_by_fork(runner, original, list(filter(_is_of_user, methods))))
        space, file, prefix = pickle.loads(said[name])
        if isinstance(space, str):
            raise runner.MsgException(space)
        return SimpleNamespace(**space), file, prefix

    runner.get_mod = get_mod


def _is_of_user(name: str) -> bool:
    """True if a method or its package is neither part of this package nor of an installed library."""
    top = name.partition(".")[0]
    return top != PACKAGE and _is_top_of_user(top)


@functools.cache
def _is_top_of_user(top: str) -> bool:
    spec = importlib.util.find_spec(top)
    places = [] if spec is None else [spec.origin or "", *(spec.submodule_search_locations or ())]
    return any(is_own(f"{each}/__init__.py") for each in places if each)


def _said_by_fork(runner: Any, original: Callable[[str], Mod], methods: list[str]) -> dict[str, bytes]:
    """What a fork of this process finds in each method, pickled; the text of an error in place of it."""
    import_all(_libraries())
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            with reads_of_fork() as reads:
                found = {name: _looked_at(runner, original, name) for name in methods}
            _keep_libraries()
            with open(writer, "wb") as stream:
                stream.write(pickle.dumps((found, reads)))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    lost = pickle.dumps(("the process that imported it ended", "", ""))
    all_of_them: dict[str, bytes] = dict.fromkeys(methods, lost)
    if data:
        said, reads = pickle.loads(data)
        all_of_them |= said
        add_reads(reads)
    return all_of_them


def _looked_at(runner: Any, original: Callable[[str], Mod], name: str) -> bytes:
    try:
        module, file, prefix = original(name)
        space = {each: getattr(module, each) for each in ASKED if hasattr(module, each)}
        if not isinstance(extra := space.get("depend_extra", ()), str):
            space["depend_extra"] = [runner.mod2filename(each) for each in extra]
        return pickle.dumps((space, file, prefix))
    except BaseException:
        return pickle.dumps((traceback.format_exc(), "", ""))


def _libraries() -> list[str]:
    """Libraries that methods import at their top, as of when they were loaded last."""
    with contextlib.suppress(OSError, ValueError):
        return list(json.loads(_note().read_text(encoding="utf-8")))
    return []


def _keep_libraries() -> None:
    names = _public(sys.modules.keys() - own_modules().keys())
    if names != _libraries():
        write_atomically(_note(), json.dumps(names))


def _public(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith("_") and "._" not in name)


def _note() -> Path:
    return cache_directory("warm") / "libraries.json"
