"""Libraries that a job loaded, directly or indirectly.

Each import is noted with its importer, whether the module was loaded before or not. A job uses what can be
reached from its own modules, whatever else other jobs loaded.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from types import FrameType
from typing import Any

from shortloop.exax.patches.loading import loaded_modules
from shortloop.keys.installed import as_installed, required_by
from shortloop.keys.own_code import PACKAGE
from shortloop.store.process_notes import note

HERE = f"{os.uname().nodename}:{sys.prefix}"
"""Identifies this machine and environment, whose libraries may differ from those of others."""

NO_LIBRARIES = {*sys.stdlib_module_names, "__main__", "accelerator", PACKAGE}


class _Imports:
    """Graph of imports: libraries by their top-level names, own modules by their full names."""

    def __init__(self) -> None:
        self.asked: set[tuple[object, str]] = set()
        self._asked_before = self.asked
        self.versions: dict[str, str] = {}  # of each library when it was first imported here
        self._required: dict[str, set[str]] = {}  # by each of them; known before jobs are forked
        self._edges: dict[str, set[str]] = {}
        self._used: set[str] | None = None  # by the job that this process runs
        self._is_all_used = False

    def heard(self, importer: object, name: str) -> None:
        top = name.partition(".")[0]
        by = _node(importer)
        if by is None:  # on behalf of whoever called it
            by = _caller()
        else:
            self.asked.add((importer, name))
        if top in NO_LIBRARIES or by == top or top.startswith("_sysconfigdata"):
            return
        if top not in self.versions:
            if top in loaded_modules():
                return
            self.versions[top], self._required[top] = as_installed(top), required_by(top)
        self._edges.setdefault(by, set()).add(top)
        is_of_frame = by.partition(".")[0] in (PACKAGE, "accelerator")
        if self._used is not None and (self._is_all_used or by in self._used or not is_of_frame):
            self._use([top])

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Hear of imports by machine code, which calls no function of `builtins`; find nothing."""
        if path is None:
            self.heard(None, name)

    def begin(self, modules: Iterable[str] | None) -> None:
        """Begin a job of some own modules in this process; None: note all that it imports."""
        # What was known may be new to the job. The old set is kept because freeing it takes long.
        self._asked_before, self.asked = self.asked, set()
        self._is_all_used = modules is None
        self._used = set()
        names = self._edges if modules is None else [*modules]
        self._use({*names, *(name.partition(".")[0] for name in names)})  # a method may be a library's

    def _use(self, names: Iterable[str]) -> None:
        assert self._used is not None
        waiting, new = [*names], {}
        while waiting:
            name = waiting.pop()
            if name not in self._used:
                self._used.add(name)
                waiting += self._edges.get(name, ())
                if name in self.versions:
                    new[name] = self.versions[name]
                    waiting += self._required_by(name)
        if new:
            note(versions=new, where=HERE)

    def _required_by(self, library: str) -> list[str]:
        """List loaded libraries that a library requires; machine code imports unheard."""
        if library not in self._required:
            self._required[library] = required_by(library)
        found = [each for each in self._required[library] if each in sys.modules and each not in NO_LIBRARIES]
        for each in found:
            self.versions.setdefault(each, as_installed(each))
        return found


def watch_imports() -> None:
    """Note in this process and its forks which libraries are imported for whom, from now on."""
    if _imports() is not None:
        return
    imports = _Imports()
    heard, original = imports.heard, builtins.__import__

    @wraps(original)
    def imported(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if not level:
            importer = None if globals is None else globals.get("__name__")
            if (importer, name) not in imports.asked:
                heard(importer, name)
        return original(name, globals, locals, fromlist, level)

    imported.imports = imports  # type: ignore[attr-defined]
    builtins.__import__ = imported
    importlib.import_module = _hearing(imports, importlib.import_module)
    importlib.util.find_spec = _hearing(imports, importlib.util.find_spec)
    sys.meta_path.insert(0, imports)


def note_libraries_of(modules: Iterable[str] | None) -> None:
    """Note the libraries that a job, or a program started by one, uses from now on, in forks as well."""
    if (imports := _imports()) is not None:
        imports.begin(modules)


def are_as_loaded() -> bool:
    """True if no library was installed anew since this process has imported it."""
    imports = _imports()
    return imports is None or all(as_installed(name) == each for name, each in imports.versions.items())


def _imports() -> _Imports | None:
    """Return the one graph of this process, however often this module is reloaded."""
    return getattr(builtins.__import__, "imports", None)


def _hearing(imports: _Imports, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def asked(name: str, package: str | None = None) -> Any:
        if not name.startswith("."):
            imports.heard(None, name)
        return original(name, package)

    return asked


def _node(importer: object) -> str | None:
    """Return the node of an importer; None for a module that imports for others."""
    if not isinstance(importer, str):
        return None
    if (top := importer.partition(".")[0]) == PACKAGE or importer in loaded_modules():
        return importer
    return None if top in sys.stdlib_module_names else top


def _caller() -> str:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if (node := _node(frame.f_globals.get("__name__"))) is not None and node != __name__:
            return node
        frame = frame.f_back
    return ""
