"""Load methods only if their files changed, in a fork, and without those that cannot be imported.

Whenever somebody begins to run something, exax has a new process load all methods. Here that process notes
what it reads: files, and folders that modules are looked for in. The server compares their states, and keeps
the process if nobody can have changed any of that since it began. Methods of the user's own are imported in a
fork, and afresh in each job. What a method does when it is imported (settings of matplotlib, warning filters,
the environment) would else be inherited by all jobs that are forked from the process that has loaded all
methods. Made for exax 2025.11.11. Upstream: exax could keep its runner while nothing that it read has
changed; `load_methods` could import each method in a fork; a method that cannot be imported could fail its
own builds alone.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import pickle
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from importlib.machinery import all_suffixes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from shortloop.exax.patches import patch
from shortloop.exax.patches.loading import own_modules
from shortloop.keys.file_state import CHANGED, SETTLED_NS, states_of_files
from shortloop.keys.own_code import PACKAGE, is_own, is_own_module
from shortloop.project.project import cache_directory, configuration, write_atomically

# What exax looks for in a method when it loads it.
ASKED = ("depend_extra", "description", "options", "datasets", "jobs", "equivalent_hashes")
LOADED, LIBRARIES = "loaded.json", "libraries.json"
SUFFIXES = tuple(all_suffixes())
LISTS = ("os.listdir", "os.scandir")
LOOKING = "_fill_cache"  # function of Python that looks what modules a folder has

Mod = tuple[object, str, str]  # as exax's `get_mod` gives it
Reads = tuple[set[str], set[str]]  # files that were read, and folders in which modules were looked for


def note_what_is_read() -> _Reading:
    """Note what this process, which loads methods, reads from now on, for the server."""
    runner: Any = sys.modules["__main__"]
    reading = _Reading()
    sys.addaudithook(reading.heard)
    os.register_at_fork(after_in_child=reading.stop)

    @patch(runner, "recvall")
    def receive(original: Any, *arguments: Any, **more: Any) -> Any:
        reading.write()
        return original(*arguments, **more)

    return reading


def forget_what_is_read() -> None:
    """Have the methods loaded again, whether anything changed or not."""
    _file(LOADED).unlink(missing_ok=True)


def keep_methods_as_loaded() -> None:
    """Let the server, when it is to load the methods, keep those whose files are as they were loaded."""
    from accelerator.control import Main

    @patch(Main, "update_methods")
    def update(original: Any, self: Any, *arguments: Any) -> Any:
        runners = {each.pid: each for each in self.Methods.runners.values()}
        if (
            any(arguments)
            or self.broken
            or not all(each._thread.is_alive() for each in runners.values())  # as it hears from it
            or any(each.broken for each in runners.values())
            or not _are_listed(self.Methods.db, self.config)
            or not _is_as_loaded([*runners])
        ):
            return original(self, *arguments)
        self.update_database()
        return None


def do_without_broken_methods() -> None:
    """Let the server, which would not start, know only methods that can be imported, of unique names."""
    from accelerator import methods
    from accelerator.control import Main
    from accelerator.error import AcceleratorError
    from accelerator.runner import Runner

    Runner.broken = ()  # before it has loaded any

    @patch(Runner, "load_methods")
    def load_methods(load: Any, self: Any, *arguments: Any) -> Any:
        warnings, self.broken, *known = load(self, *arguments)
        return [warnings, [], *known]

    @patch(Main, "get_methods")
    def get_methods(_: Any, self: Any) -> dict[str, Any]:
        return {name: self.method_info(name) for name in self.Methods.hash}

    @patch(methods.Methods, "_check_package")
    def check_package(check: Any, self: Any, package: str) -> Any:
        try:
            return check(self, package)
        except (Exception, SystemExit):  # whose methods say why, when a job needs one
            if (folder := _folder_of_package(package)) is None:
                raise AcceleratorError(f"there is no package {package}; see accelerator.conf") from None
            return folder

    @patch(methods, "read_methods_conf")
    def with_unique_names(read: Any, folder: str, discover: bool) -> dict[str, Any]:
        packages: Mapping[str, bool] = configuration().method_directories
        folders = {_folder_of_package(name): found for name, found in packages.items()}
        count = Counter(name for each, found in folders.items() if each for name in read(each, found))
        return {name: each for name, each in read(folder, discover).items() if count[name] < 2}


def import_methods_apart(reading: _Reading) -> None:
    """Import methods of the user's own in a fork, which tells what exax asks of them, from now on."""
    runner: Any = sys.modules["__main__"]
    methods: list[str] = []
    found: dict[str, bytes] = {}
    load: Callable[[str], Mod] = runner.get_mod

    def original(name: str) -> Mod:
        try:
            return load(name)
        except (SystemExit, KeyboardInterrupt) as end:
            raise ImportError(f"{name} ends its process as it is imported") from end

    @functools.wraps(load)
    def get_mod(name: str) -> Mod:
        if not methods:  # of `load_methods`, which calls this for packages first: all methods that it loads
            methods.extend(f"{package}.a_{key}" for package, key in sys._getframe(1).f_locals["data"])
        if not _is_of_user(name):
            return original(name)
        if name not in methods:
            raise ImportError(f"{name} is imported by jobs alone")  # exax needs it for its warnings only
        if not found:
            found.update(_imported_in_fork(runner, original, [*filter(_is_of_user, methods)], reading))
        space, file, prefix = pickle.loads(found[name])
        if isinstance(space, str):
            raise runner.MsgException(space)
        return SimpleNamespace(**space), file, prefix

    runner.get_mod = get_mod


class _Reading:
    def __init__(self) -> None:
        self._process = os.getpid()
        self._since = time.time_ns()
        self._own = f"{cache_directory('')}/"
        self._read: set[str] = set()
        self._looked: set[str] = set()
        self.is_on = True
        self._written = -1

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on or (event != "open" and event not in LISTS):
            return
        path = arguments[0]
        if path is None or isinstance(path, int) or (event == "open" and (arguments[2] or 0) & os.O_WRONLY):
            return
        # Python itself looks what modules a folder has; other files there are of no interest to it.
        if event == "open" or sys._getframe(1).f_code.co_name != LOOKING:
            self._read.add(os.path.abspath(os.fsdecode(path)))

    def stop(self) -> None:
        """Note nothing in a fork, which is a job."""
        self.is_on = False

    def seen(self) -> Reads:
        """Return what was read so far, modules included, and where these were looked for."""
        looked = {os.path.abspath(each) for each in list(sys.path_importer_cache) if os.path.isdir(each)}
        loaded = (getattr(each, "__file__", None) for each in list(sys.modules.values()))
        return {*self._read, *map(os.path.abspath, filter(None, loaded))}, looked | self._looked

    def add(self, reads: Reads) -> None:
        self._read |= reads[0]
        self._looked |= reads[1]

    def write(self) -> None:
        """Note what was read, if that is more than what is noted."""
        if not self.is_on or self._written == len(self._read):
            return
        self._written = len(self._read)
        files_read, looked = self.seen()
        folders = {each: _modules_in(each) for each in looked if is_own(f"{each}/__init__.py")}
        paths = (files_read | looked) - folders.keys()
        read = sorted(each for each in paths if not each.startswith((self._own, "/proc/", "/sys/", "/dev/")))
        files = [each for each in read if os.path.exists(each)]
        states = states_of_files(files)
        # What changed a moment before, or since, may be another by now than what was read.
        if not states or any(each[CHANGED] > self._since - SETTLED_NS for each in states):
            forget_what_is_read()
            return
        note = {
            "process": self._process,
            "files": dict(zip(files, states)),
            "missing": sorted({*read} - {*files}),
            "folders": folders,
        }
        write_atomically(_file(LOADED), json.dumps(note))


def _are_listed(known: Mapping[str, Any], configuration: Mapping[str, Any]) -> bool:
    from accelerator.methods import read_methods_conf

    found = {}
    for package, discover in configuration["method_directories"].items():
        for name, method in read_methods_conf(_folder_of_package(package), discover).items():
            found[name] = package, method.version
    return found == {name: (each.package, each.version) for name, each in known.items()}


def _is_as_loaded(processes: list[int]) -> bool:
    """True if all that a process has read is as it was then."""
    try:
        note = json.loads(_file(LOADED).read_text(encoding="utf-8"))
        return (
            [note["process"]] == processes
            and states_of_files([*note["files"]]) == [tuple(each) for each in note["files"].values()]
            and not any(map(os.path.exists, note["missing"]))
            and all(_modules_in(folder) == names for folder, names in note["folders"].items())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _modules_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in entries if each.name.endswith(SUFFIXES) or each.is_dir())
    except OSError:
        return []
    return [name for name in names if name != "__pycache__"]


def _folder_of_package(package: str) -> str | None:
    module = sys.modules.get(package)
    spec = importlib.util.find_spec(package) if module is None else module.__spec__
    return next(iter((spec.submodule_search_locations if spec else None) or ()), None)


@functools.cache
def _is_of_user(name: str) -> bool:
    """True if a method or its package is neither part of this package nor of an installed library."""
    return name.partition(".")[0] != PACKAGE and is_own_module(name)


def _imported_in_fork(
    runner: Any, original: Callable[[str], Mod], methods: list[str], reading: _Reading
) -> dict[str, bytes]:
    """Return what a fork of this process finds in each method, pickled; else the text of its error."""
    from shortloop.exax.patches.preload import import_all  # a run that builds nothing has no need of these
    from shortloop.units.process_ends import forked

    import_all(_libraries())
    reader, writer = os.pipe()

    def import_them() -> None:
        reading.is_on = True
        found = {name: _content_of(runner, original, name) for name in methods}
        reads = reading.seen()
        reading.stop()
        names = sys.modules.keys() - own_modules().keys()
        libraries = sorted(name for name in names if not name.startswith("_") and "._" not in name)
        if libraries != _libraries():
            write_atomically(_file(LIBRARIES), json.dumps(libraries))
        with open(writer, "wb") as stream:
            stream.write(pickle.dumps((found, reads)))

    child = forked(import_them)
    os.close(writer)
    with open(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    contents = dict.fromkeys(methods, pickle.dumps(("the process that imported it ended", "", "")))
    if data:
        found, reads = pickle.loads(data)
        contents |= found
        reading.add(reads)
    return contents


def _content_of(runner: Any, original: Callable[[str], Mod], name: str) -> bytes:
    try:
        module, file, prefix = original(name)
        space = {each: getattr(module, each) for each in ASKED if hasattr(module, each)}
        if not isinstance(extra := space.get("depend_extra", ()), str):
            named = (os.fspath(each) if isinstance(each, os.PathLike) else each for each in extra)
            space["depend_extra"] = [runner.mod2filename(each) for each in named]
        return pickle.dumps((space, file, prefix))
    except BaseException:
        return pickle.dumps((traceback.format_exc(), "", ""))


def _libraries() -> list[str]:
    """List libraries that methods imported at their top when they were loaded last."""
    with contextlib.suppress(OSError, ValueError):
        return list(json.loads(_file(LIBRARIES).read_text(encoding="utf-8")))
    return []


def _file(name: str) -> Path:
    return cache_directory("warm") / name
