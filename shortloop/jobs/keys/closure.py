"""Which modules a file can import, anywhere in it, directly or through others."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from shortloop import _PUBLIC
from shortloop.errors import InputError
from shortloop.jobs.keys.file_state import State, file_state, states_of_files
from shortloop.jobs.keys.methods import module_of
from shortloop.jobs.keys.own_code import PACKAGE, ROOT, is_own, whole_package
from shortloop.jobs.keys.source import read_source
from shortloop.jobs.project import CELLS, project_directory

__all__ = ["SETTING_UP", "closure", "closure_of"]

# Methods and their packages import these to say what they import, and to prepare processes: nothing that a
# result is made of.
SETTING_UP = (
    f"{PACKAGE}.prepare",
    f"{PACKAGE}.jobs.keys.code",
    *(f"{PACKAGE}.jobs.exax.{room}" for room in ("datasets", "declare", "loading", "method", "processes")),
)
DECLARE, FUNCTIONS = f"{PACKAGE}.jobs.exax.declare", f"{PACKAGE}.worker.function"
SUFFIXES = ("/__init__.py", *EXTENSION_SUFFIXES, ".py")  # as Python looks for them
Modules = dict[str, Path]

# Methods that are looked at one after the other import much the same. What was found is kept with the states
# of the folders where it was looked for, as far as any change of these shows.
_folders: dict[str, tuple[list[State], bool, frozenset[str]]] = {}
_modules: dict[tuple[str, str], Modules] = {}
_libraries: dict[str, tuple[str, ...]] = {}


def closure(method: Path, more: Iterable[str] = ()) -> tuple[dict[str, Path], set[str]]:
    """Modules of one's own that a method can import.

    Parameters
    ----------
    method : Path
        The method, in one of the packages of the configuration.
    more : iterable of str
        Modules that it imports by a name that its code does not say.

    Returns
    -------
    modules : dict of str to Path
        Modules by name: of this package, of the project, and of other code of one's own; the packages that
        hold them are among them, as importing runs them too.
    libraries : set of str
        Top-level names of the other packages that these modules and the file import, but for the
        standard library and exax; the package of a method that was installed is among them.
    """
    return closure_of(module_of(method), method, more)


def closure_of(name: str, file: Path, more: Iterable[str] = ()) -> tuple[dict[str, Path], set[str]]:
    """Modules of one's own that a module can import.

    Parameters
    ----------
    name : str
        Its name.
    file : Path
        Its file.
    more : iterable of str
        As of `closure`.

    Returns
    -------
    modules, libraries
        As of `closure`.
    """
    parts = name.split(".")
    above = [".".join(parts[:depth]) for depth in range(1, len(parts))]
    _forget_what_changed()
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
    waiting = [*_names_of(file, name), *((each, False) for each in filter(None, more))]
    for package in above:  # is loaded, and not asked for what it would import then
        found, _ = _found(package, project)
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
        waiting += [(each, is_for_types) for each in _behind(imported)]
        if f"{imported}.".startswith(tuple(f"{room}." for room in SETTING_UP)):
            continue
        found, star = _found(imported, project)
        waiting += [(each, is_for_types) for each in star]
        if found is None:
            if not is_for_types:  # what says only of what type something is computes nothing
                libraries.add(imported.partition(".")[0])
            continue
        for module in found.keys() - modules.keys():
            modules[module] = found[module]
            waiting += _names_of(found[module], module)
    return modules, libraries


def _project_or_here() -> Path:
    """Functions of this package are also called where there is no project."""
    try:
        return project_directory()
    except InputError:
        return Path.cwd()


def _names_of(file: Path, module: str) -> list[tuple[str, bool]]:
    """What a file imports, and whether for types alone: of what runs stages, as types of options are used."""
    source = read_source(file, module)
    for_types = source.for_types if module.startswith(f"{PACKAGE}.worker.") else []
    return [(name, name in for_types) for name in source.names]


def _found(name: str, project: Path) -> tuple[Modules | None, list[str]]:
    """Modules along a name, and what `import *` brings with it; None in place of them for a library."""
    top = name.partition(".")[0]
    root = ROOT if top == PACKAGE else project
    found = _files_of(root, name)
    if found:
        return found, _starred(name, found)
    if top in sys.stdlib_module_names or top == "accelerator" or top == PACKAGE:
        return {}, []
    return _package(top), []


def _package(name: str) -> Modules | None:
    """As of `whole_package`. Of a library, which has no modules of one's own, that is kept."""
    if _libraries.get(name) == (*sys.path,):
        return None
    for folder in sys.path:
        _names_in(os.path.abspath(folder))
    found = whole_package(name)
    if found is None:
        _libraries[name] = (*sys.path,)
    return found


def _files_of(root: Path, name: str) -> Modules:
    """Modules along a dotted name below a folder; its last part may be a function or class of one."""
    if (str(root), name) not in _modules:
        _modules[str(root), name] = _looked_for(root, name)
    return _modules[str(root), name]


def _looked_for(root: Path, name: str) -> Modules:
    parts = name.split(".")
    found = {}
    path = str(root)
    for depth, part in enumerate(parts, 1):
        beside, path = _names_in(path), f"{path}/{part}"
        inside = _names_in(path) if part in beside else frozenset[str]()
        for suffix in SUFFIXES:
            is_there = suffix[1:] in inside if suffix[0] == "/" else f"{part}{suffix}" in beside
            if is_there and os.path.isfile(f"{path}{suffix}"):
                found[".".join(parts[:depth])] = Path(f"{path}{suffix}")
                break
        else:
            if part not in beside or not os.path.isdir(path):
                break
    return found


def _names_in(folder: str) -> frozenset[str]:
    """What lies in a folder; nothing in what is none."""
    if folder not in _folders:
        state = _state_of(folder)  # before it is read, so that a change meanwhile shows
        settled, names = True, frozenset[str]()
        with suppress(OSError):
            settled = file_state(Path(folder))[1]
            names = frozenset(os.listdir(folder))
        _folders[folder] = state, settled, names
    return _folders[folder][2]


def _state_of(folder: str) -> list[State]:
    """Empty for what is not there, or not to be looked at."""
    try:
        return states_of_files([folder])
    except OSError:
        return []


def _forget_what_changed() -> None:
    """Look anew if a folder is another one by now, or might be."""
    if not all(settled and _state_of(each) == state for each, (state, settled, _) in _folders.items()):
        for kept in (_folders, _modules, _libraries):
            kept.clear()


def _starred(name: str, found: Modules) -> list[str]:
    """Modules that `from package import *` imports: what the package's `__all__` names."""
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
