"""Reload methods only if a file they were loaded from changed.

Whenever somebody begins to run something, exax has a new process load all methods. Here that process notes
what it reads: files, and folders that modules are looked for in. The server compares their states, and keeps
the process if nobody can have changed any of that since it began.

Made for exax 2025.11.11. Upstream: exax could keep its runner while nothing that it read has changed.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Any

from shortloop.exax.patches.broken_methods import folder_of_package
from shortloop.keys.file_state import CHANGED, SETTLED_NS, states_of_files
from shortloop.keys.own_code import is_own
from shortloop.project.project import cache_directory, write_atomically

__all__ = [
    "add_reads",
    "forget_what_is_read",
    "keep_methods_as_loaded",
    "note_what_is_read",
    "reads_of_fork",
]

SUFFIXES = tuple(all_suffixes())
LISTS = ("os.listdir", "os.scandir")
LOOKING = "_fill_cache"  # function of Python that looks what modules a folder has

Reads = tuple[set[str], set[str]]
"""Files that a process has read, and folders that it has looked for modules in."""
_reading: _Reading | None = None


def note_what_is_read() -> None:
    """Note what this process, which loads methods, reads from now on, for the server."""
    runner: Any = sys.modules["__main__"]
    global _reading
    _reading = reading = _Reading()
    sys.addaudithook(reading.heard)
    os.register_at_fork(after_in_child=reading.stop)
    original: Callable[..., bytes | None] = runner.recvall

    @functools.wraps(original)
    def receive(*arguments: Any, **more: Any) -> bytes | None:
        reading.write()
        return original(*arguments, **more)

    runner.recvall = receive


@contextmanager
def reads_of_fork() -> Iterator[Reads]:
    """In a fork that loads methods: what it reads within the block is of this process, too."""
    reads: Reads = set(), set()
    if _reading is not None:
        _reading.go_on()
    yield reads
    if _reading is not None:
        for all_of_them, found in zip(reads, _reading.seen()):
            all_of_them |= found
        _reading.stop()


def add_reads(reads: Reads) -> None:
    """Take over what a fork has read that has loaded methods."""
    if _reading is not None:
        _reading.add(reads)


def forget_what_is_read() -> None:
    """The methods are to be loaded anew, whether anything changed or not."""
    _note().unlink(missing_ok=True)


def keep_methods_as_loaded() -> None:
    """Let the server, when it is to load the methods, keep those that are as they were loaded."""
    from accelerator.control import Main

    original = Main.update_methods

    @functools.wraps(original)
    def update(self: Any, *arguments: Any) -> Any:
        runners = {each.pid: each for each in self.Methods.runners.values()}
        if (
            any(arguments)
            or self.broken
            or not all(map(_is_alive, runners.values()))
            or any(each.broken for each in runners.values())
            or not _are_listed(self.Methods.db, self.config)
            or not _is_as_loaded([*runners])
        ):
            return original(self, *arguments)
        self.update_database()
        return None

    Main.update_methods = update


class _Reading:
    """What a process reads."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._since = time.time_ns()
        self._own = f"{cache_directory('')}/"
        self._read: set[str] = set()
        self._looked: set[str] = set()
        self._is_on = True
        self._written = -1

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit event."""
        if not self._is_on or (event != "open" and event not in LISTS):
            return
        path = arguments[0]
        if path is None or isinstance(path, int) or (event == "open" and (arguments[2] or 0) & os.O_WRONLY):
            return
        # Python itself looks what modules a folder has; other files there are of no interest to it.
        if event == "open" or sys._getframe(1).f_code.co_name != LOOKING:
            self._read.add(os.path.abspath(os.fsdecode(path)))

    def stop(self) -> None:
        """This is a job now."""
        self._is_on = False

    def go_on(self) -> None:
        """This is a fork that loads methods."""
        self._is_on = True

    def seen(self) -> Reads:
        """What was read so far, modules included, and where these were looked for."""
        looked = {os.path.abspath(each) for each in list(sys.path_importer_cache) if os.path.isdir(each)}
        loaded = (getattr(each, "__file__", None) for each in list(sys.modules.values()))
        return {*self._read, *map(os.path.abspath, filter(None, loaded))}, looked | self._looked

    def add(self, reads: Reads) -> None:
        """Another process has read something for this one."""
        self._read |= reads[0]
        self._looked |= reads[1]

    def write(self) -> None:
        """Note what was read, if that is more than what is noted."""
        if not self._is_on or self._written == len(self._read):
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
        write_atomically(_note(), json.dumps(note))


def _is_alive(runner: Any) -> bool:
    """Whether the server still hears from a process that has loaded methods."""
    hears = getattr(runner, "_thread", None)  # another version of exax may not have it
    return hears is not None and bool(hears.is_alive())


def _are_listed(known: Mapping[str, Any], configuration: Mapping[str, Any]) -> bool:
    """Whether the methods that there are are those that are known."""
    from accelerator.methods import read_methods_conf

    found = {}
    for package, discover in configuration["method_directories"].items():
        folder = folder_of_package(package)
        for name, method in read_methods_conf(folder, discover).items():
            found[name] = package, method.version
    return found == {name: (each.package, each.version) for name, each in known.items()}


def _is_as_loaded(processes: list[int]) -> bool:
    """Whether all that a process has read is as it was then."""
    try:
        note = json.loads(_note().read_text(encoding="utf-8"))
        states = [tuple(each) for each in note["files"].values()]
        return (
            [note["process"]] == processes
            and states_of_files([*note["files"]]) == states
            and not any(map(os.path.exists, note["missing"]))
            and all(_modules_in(folder) == names for folder, names in note["folders"].items())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _modules_in(folder: str) -> list[str]:
    """Names in a folder that may be modules, or packages."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in entries if each.name.endswith(SUFFIXES) or each.is_dir())
    except OSError:
        return []
    return [name for name in names if name != "__pycache__"]


def _note() -> Path:
    return cache_directory("warm") / "loaded.json"
