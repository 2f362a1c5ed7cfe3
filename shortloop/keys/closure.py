"""Modules that a file can import, directly or indirectly."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import NamedTuple

from shortloop import _PUBLIC
from shortloop.base.errors import InputError
from shortloop.keys.file_state import file_state, once_per_moment
from shortloop.keys.methods import module_of
from shortloop.keys.own_code import PACKAGE, ROOT, is_own, whole_package
from shortloop.keys.source import read_source
from shortloop.project.project import CELLS, project_directory

# Methods and their packages import these to say what they import, and to prepare processes: nothing that a
# result is made of.
SETTING_UP = (
    f"{PACKAGE}.prepare",
    f"{PACKAGE}.keys.code",
    *(f"{PACKAGE}.exax.{name}" for name in ("datasets", "declare", "method")),
    *(f"{PACKAGE}.exax.patches.{name}" for name in ("loading", "processes")),
)
_SETTING_UP = tuple(f"{room}." for room in SETTING_UP)
DECLARE, FUNCTIONS = f"{PACKAGE}.exax.declare", f"{PACKAGE}.stages.function"
SUFFIXES = ("/__init__.py", *EXTENSION_SUFFIXES, ".py")  # as Python looks for them
Modules = dict[str, Path]
Step = tuple[Modules | None, list[str]]  # modules along a name, None: a library; names that it stands for


class _Folder(NamedTuple):
    state: list[int]  # empty if it may change and look the same
    names: dict[str, str]  # kinds of the entries
    asked: set[str]  # modules looked for there

    def found(self) -> dict[str, str]:
        """Those of the names that may be of these modules."""
        return {name: kind for name, kind in self.names.items() if name.partition(".")[0] in self.asked}


# Methods that are looked at one after the other import much the same. What was found is kept with the states
# of the folders where it was looked for, as far as any change of these shows.
_folders: dict[str, _Folder] = {}
_modules: dict[tuple[str, str], tuple[Modules, bool]] = {}
_libraries: dict[str, tuple[str, ...]] = {}
_steps: dict[tuple[str, str], Step] = {}
_generation = 0


def closure(method: Path, more: Iterable[str] = ()) -> tuple[dict[str, Path], set[str]]:
    return closure_of(module_of(method), method, more)


def closure_of(name: str, file: Path, more: Iterable[str] = ()) -> tuple[dict[str, Path], set[str]]:
    parts = name.split(".")
    above = [".".join(parts[:depth]) for depth in range(1, len(parts))]
    refresh_closures()
    if parts[0] == PACKAGE:  # which may be installed: what lies beside it then is libraries
        project = _project_or_here()
        above = [package for package in above if _files_of(ROOT, package)]
    elif parts[0] == CELLS:  # it is written elsewhere, and imports what the project has
        project, above = project_directory(), []
    elif is_own(str(file)):
        project = file.parents[len(parts) - (file.name != "__init__.py")]
        above = [package for package in above if _files_of(project, package)]
    else:  # it counts by the version of what it was installed with
        project, above = project_directory(), above[:1]
    modules: dict[str, Path] = {}
    libraries: set[str] = set()
    done: set[tuple[str, bool]] = set()
    added = [each for name in filter(None, more) for each in (name, *_behind_library(name, project))]
    waiting = [*_names_of(file, name), *((each, False) for each in added)]
    for package in above:  # is loaded, and not asked for what it would import then
        found, _ = _step(package, project)
        if found is None:
            libraries.add(package.partition(".")[0])
        for module, place in (found or {}).items():
            modules[module] = place
            waiting += _names_of(place, module)
    while waiting:
        imported, is_for_types = waiting.pop()
        if (imported, is_for_types) in done or (imported, False) in done:
            continue
        done.add((imported, is_for_types))
        found, behind = _step(imported, project)
        waiting += [(each, is_for_types) for each in behind]
        if found is None:
            if not is_for_types:  # what says only of what type something is computes nothing
                libraries.add(imported.partition(".")[0])
            continue
        for module in found.keys() - modules.keys():
            modules[module] = found[module]
            waiting += _names_of(found[module], module)
    return modules, libraries


def _project_or_here() -> Path:
    """Project directory; the current one without a project, for functions called there."""
    try:
        return project_directory()
    except InputError:
        return Path.cwd()


def _names_of(file: Path, module: str) -> list[tuple[str, bool]]:
    """Names that a file imports, each with True if only for types; the types of options in `stages` count."""
    source = read_source(file, module)
    for_types = source.for_types if module.startswith(f"{PACKAGE}.stages.") else []
    return [(name, name in for_types) for name in source.names]


def _step(name: str, project: Path) -> Step:
    """Modules along a name, None for a library, and names behind it, as of `import *`."""
    if (known := _steps.get((str(project), name))) is not None:
        return known
    top, behind = name.partition(".")[0], _behind(name)
    found: Modules | None = {}
    if not f"{name}.".startswith(_SETTING_UP):
        found = _files_of(ROOT if top == PACKAGE else project, name)
        behind = [*behind, *_starred(name, found)]
        if not found and not _is_no_package(top):
            found = _package(top)
    # Kept if states of folders show a change.
    if (_is_no_package(top) or _files_of(project, name)) and not name.endswith(".*"):
        _steps[str(project), name] = found, behind
    return found, behind


def _is_no_package(top: str) -> bool:
    return top in sys.stdlib_module_names or top in ("accelerator", PACKAGE)


def _package(name: str) -> Modules | None:
    """Call `whole_package`, and cache that a name is a library."""
    if _libraries.get(name) == (*sys.path,):
        return None
    for folder in sys.path:
        _names_in(os.path.abspath(folder), name)
    found = whole_package(name)
    if found is None:
        _libraries[name] = (*sys.path,)
    return found


def _files_of(root: Path, name: str) -> Modules:
    """Modules along a dotted name below a folder; its last part may be a function or class."""
    return _along(str(root), name)[0]


def _along(root: str, name: str) -> tuple[Modules, bool]:
    """Modules along a name, and True if there may be more below."""
    if (root, name) not in _modules:
        above, dot, last = name.rpartition(".")
        found, goes_on = _along(root, above) if dot else ({}, True)
        _modules[root, name] = _below(found, root, above, last) if goes_on else (found, False)
    return _modules[root, name]


def _below(found: Modules, root: str, above: str, last: str) -> tuple[Modules, bool]:
    folder = "/".join([root, *above.split(".")] if above else [root])
    beside, path = _names_in(folder, last), f"{folder}/{last}"
    inside = _names_in(path, "__init__") if last in beside else dict[str, str]()
    for suffix in SUFFIXES:
        is_there = suffix[1:] in inside if suffix[0] == "/" else f"{last}{suffix}" in beside
        if is_there and os.path.isfile(f"{path}{suffix}"):
            return {**found, f"{above}.{last}".lstrip("."): Path(f"{path}{suffix}")}, last in beside
    return found, last in beside and os.path.isdir(path)


def _names_in(folder: str, asked: str) -> Mapping[str, str]:
    """List a folder in which a module is looked for; empty for a file."""
    if folder not in _folders:
        _folders[folder] = _listed(folder, set())
    _folders[folder].asked.add(asked)
    return _folders[folder].names


def _listed(folder: str, asked: set[str]) -> _Folder:
    state, names = _state_of(folder), dict[str, str]()  # before it is read, so that a change meanwhile shows
    with suppress(OSError), os.scandir(folder) as entries:  # else it is missing or unreadable
        names = {each.name: _kind_of(each) for each in entries}
    return _Folder(state, names, asked)


def _state_of(folder: str) -> list[int]:
    with suppress(OSError):
        state, settled = file_state(folder)
        return state if settled else []
    return []


def _kind_of(entry: os.DirEntry[str]) -> str:
    with suppress(OSError):  # a link to what may not be looked at
        return "folder" if entry.is_dir() else "file" if entry.is_file() else ""
    return ""


def refresh_closures() -> int:
    """Clear the caches if a module came or went; return how often: else closures are as they were."""
    once_per_moment(refresh_closures, _refresh)
    return _generation


def _refresh() -> None:
    global _generation
    for folder, before in [*_folders.items()]:
        if before.state and _state_of(folder) == before.state:
            continue
        _folders[folder] = _listed(folder, before.asked)
        if _folders[folder].found() != before.found():
            _generation += 1
            for kept in (_folders, _modules, _libraries, _steps):
                kept.clear()
            break


def _behind_library(name: str, project: Path) -> set[str]:
    """Modules of this package that a module of an installed package imports, if an option names it."""
    top = name.partition(".")[0]
    is_ours = _is_no_package(top) or _files_of(project, top) or _package(top) is not None
    spec = None if is_ours else importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        return set()
    root = Path(spec.origin).parents[1 if spec.submodule_search_locations else 0]
    found, done, waiting = set[str](), set[str](), {name}
    while waiting:
        done.add(module := waiting.pop())
        files = {each: file for each, file in _files_of(root, module).items() if file.suffix == ".py"}
        imported = {each for known, file in files.items() for each in read_source(file, known).names}
        found |= {each for each in imported if each.partition(".")[0] == PACKAGE}
        if found:  # nobody follows what other libraries import
            waiting |= {each for each in imported if each.partition(".")[0] == top} - done
    return found


def _starred(name: str, found: Modules) -> list[str]:
    """Modules that `from package import *` imports, by the package's `__all__`."""
    package = name.removesuffix(".*")
    file = found.get(package)
    if package == name or file is None or file.name != "__init__.py":
        return []
    public = read_source(file, package).public
    if public is None:  # it is not written down, so it may be any
        stems = {each.name.partition(".")[0] for each in file.parent.iterdir()}
        return [f"{package}.{stem}" for stem in sorted(stems) if not stem.startswith("__")]
    return [f"{package}.{each}" for each in public]


def _behind(name: str) -> list[str]:
    """Modules behind names that this package looks up on first use, and behind ``@stage``."""
    if name in (PACKAGE, f"{PACKAGE}.*"):  # then any of them may be used
        return list(_PUBLIC.values())
    if f"{name}.".startswith(f"{DECLARE}."):
        return [FUNCTIONS]
    public = name.removeprefix(f"{PACKAGE}.")
    return [_PUBLIC[public]] if public in _PUBLIC and public != name else []
