"""Locate numba's cached machine code by everything it was compiled from.

numba takes machine code for valid as long as the file of the function is the same, although it holds
functions and constants of other files. Here it is valid for the code of all modules that the function's
module can import. Shortloop's functions are compiled once for each user, by content; those of a project once
for the project. numba finds this module by the variable `NUMBA_CACHE_LOCATOR_CLASSES`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import config
from numba.core.caching import IndexDataCacheFile, InTreeCacheLocator
from numba.core.dispatcher import Dispatcher

from shortloop.base.errors import InputError
from shortloop.exax.patches.loading import Loaded, is_noting, loaded_modules
from shortloop.keys.closure import closure_of
from shortloop.keys.file_state import State, states_of_files
from shortloop.keys.hashing import digest
from shortloop.keys.installed import as_installed, required_by
from shortloop.keys.own_code import PACKAGE, ROOT, is_own
from shortloop.keys.source import keep_sources, normalised_hash, read_source
from shortloop.project.project import cache_directory, user_cache

KEPT = 4  # folders of a module, of as many versions of it

# Hashes by what is loaded, with the files and their states: the same for all functions of a module, and asked
# for at each of them.
_known: dict[tuple[str, str, tuple[tuple[str, Loaded], ...]], tuple[list[str], list[State], str]] = {}


class ByClosure(InTreeCacheLocator):
    """Machine code of an own function, valid for the code of all modules that its module can import."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        super().__init__(py_func, py_file)  # type: ignore[no-untyped-call]
        self._module = py_func.__module__
        folder: str = config.CACHE_DIR  # type: ignore[attr-defined]  # set by its environment
        if folder:  # several projects may use it at a time, each with code of its own
            code = _code_of(self._module, py_file, tuple(loaded_modules().items()))
            self._cache_path = os.path.join(folder, f"{self._module}-{code[:16]}")
            return
        with contextlib.suppress(OSError):
            if Path(py_file).is_relative_to(ROOT / PACKAGE):
                self._cache_path = _for_all_projects(self._module, py_file)
                return
        with contextlib.suppress(InputError, OSError):  # else beside the file, as numba does
            self._cache_path = str(cache_directory("numba") / self._module)

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> ByClosure | None:
        if not os.path.isfile(py_file) or not is_own(py_file):
            return None
        found: ByClosure | None = super().from_function(py_func, py_file)  # type: ignore[no-untyped-call]
        return found

    def get_source_stamp(self) -> str | _Stamp:
        if not is_noting():  # later, the files may hold other code than was loaded
            if not _known:  # the first of a script or notebook
                atexit.register(keep_sources)
            return _code_of(self._module, self._py_file, ())
        return _Stamp(lambda: _code_of(self._module, self._py_file, tuple(loaded_modules().items())))


def load_compiled(module: ModuleType) -> None:
    """Load cached machine code of a module's functions, for any types; compile nothing."""
    for function in vars(module).values():
        if not isinstance(function, Dispatcher) or function.__module__ != module.__name__:
            continue
        cache: Any = getattr(function, "_cache", None)
        target: Any = function.targetctx
        codegen = target.codegen()
        index = cache._cache_file._load_index() if hasattr(cache, "_cache_file") else {}
        for key in index:
            if key == cache._index_key(key[0], codegen):  # that of this processor
                function.compile(key[0])


@functools.cache
def _for_all_projects(module: str, file: str) -> str:
    place = user_cache("machine-code")
    made_of = [Path(file).read_bytes(), numba.__version__.encode(), np.__version__.encode()]
    folder = place / f"{module}-{hashlib.sha256(bytes(1).join(made_of)).hexdigest()[:16]}"
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True)
        for each in sorted(place.glob(f"{module}-*"), key=lambda each: each.stat().st_mtime)[:-KEPT]:
            shutil.rmtree(each, ignore_errors=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(folder)
    return str(folder)


def _save(self: Any, key: object, data: object) -> None:
    """Save machine code in a file named by its content, where numba numbers files."""
    # Two processes that compile at the same time may choose one number, and find each other's code there.
    name = hashlib.sha256(self._dump((key, self._source_stamp))).digest()
    file = self._data_name(int.from_bytes(name[:8], "big"))
    with contextlib.suppress(OSError):  # it is compiled again
        os.makedirs(self._cache_path, exist_ok=True)
        self._save_data(file, data)  # before there is an index that names it
        self._save_index({**self._load_index(), key: file})


IndexDataCacheFile.save = _save  # type: ignore[method-assign]


class _Stamp:
    """A text that is made when it is compared or kept."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    def __eq__(self, other: object) -> bool:
        return str(self._text()) == other

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (self._text(),)


def _code_of(name: str, path: str, loaded: tuple[tuple[str, Loaded], ...]) -> str:
    """Hash the code that a module can import; of loaded modules as they were loaded."""
    asked = (name, path, loaded)
    files, states, found = _known.get(asked, ([], [], ""))
    if not found or states_of_files(files) != states:
        file, module = Path(path), name
        place = file.parent if file.name == "__init__.py" else file.with_suffix("")
        if [*place.parts[-len(name.split(".")) :]] != name.split("."):  # a script, or loaded by its path
            module = place.name
        modules, libraries = closure_of(module, file)
        modules = {**modules, module: file}
        files = list(map(str, modules.values()))
        _known[asked] = files, states_of_files(files), _hash_of(modules, libraries, loaded)
    return _known[asked][-1]


def _hash_of(modules: dict[str, Path], libraries: set[str], loaded: tuple[tuple[str, Loaded], ...]) -> str:
    contents = {found.file: found.content for _, found in loaded}
    code = {module: read_source(each, module).hash for module, each in modules.items()}
    for module, each in modules.items():
        if (content := contents.get(str(each))) is not None:
            code[module] = normalised_hash(content) or content
    waiting, versions = [*libraries], dict[str, str]()
    while waiting:  # a function may inline those of libraries beneath others
        library = waiting.pop()
        if library not in versions:
            versions[library] = as_installed(library)
            waiting += required_by(library)
    return digest({"code": code, "versions": versions})
