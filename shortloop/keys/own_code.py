"""Distinguish own code, keyed by content, from installed libraries, keyed by version."""

from __future__ import annotations

import importlib.util
import os
import site
import sys
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path

from shortloop.keys.installed import version_of

PACKAGE = "shortloop"
ROOT = Path(__file__).resolve().parents[2]  # folder of this package


def is_own(file: str) -> bool:
    """True if a file is own code: of this package, or not installed."""
    path = os.path.abspath(file)
    return path.startswith(f"{ROOT}/{PACKAGE}/") or not path.startswith(_library_folders())


def is_own_module(name: str) -> bool:
    if (spec := _spec(name.partition(".")[0])) is None:
        return True
    places = [spec.origin] if spec.has_location else [*(spec.submodule_search_locations or ())]
    return all(is_own(each) for each in places if each)


def _spec(name: str) -> ModuleSpec | None:
    with suppress(ImportError, ValueError):
        return importlib.util.find_spec(name)
    return None


def whole_package(name: str) -> dict[str, Path] | None:
    """Every module of an own package outside the project: on PYTHONPATH, or installed in place."""
    if (spec := _spec(name)) is None:
        return None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    origin = spec.origin if spec.has_location else None
    places = [*([origin] if origin else []), *map(str, folders)]
    if not places or not (all(map(is_own, places)) or version_of(name) is None):
        return None
    # It counts as a whole, because nobody can say from outside what it imports of itself.
    found = {name: Path(origin)} if origin and os.path.isfile(origin) else {}  # it may be in an archive
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            parts = [name, *file.relative_to(folder).parts]
            stem = file.name.partition(".")[0]
            module = parts[:-1] if stem == "__init__" else [*parts[:-1], stem]
            if file.name.endswith((".py", ".so")) and all(map(str.isidentifier, module)):
                found[".".join(module)] = file
    return found


@cache
def _library_folders() -> tuple[str, ...]:
    folders = {*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)}
    # And where others have installed, with what pip writes beside a library.
    folders |= {folder for folder in sys.path if folder and next(Path(folder).glob("*.dist-info"), None)}
    folders |= {os.path.realpath(folder) for folder in folders if folder}
    return tuple(f"{folder}/" for folder in folders if folder)
