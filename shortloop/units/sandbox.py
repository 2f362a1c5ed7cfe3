"""Sandbox of a process that computes units on a node without the project.

It refuses reads of undeclared files, which are not on the node, as code that goes on without them comes to
another result, and changes that would stay there. Its messages name paths of the project, not of mirrors.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from shortloop.base.errors import TransientError
from shortloop.keys.own_code import PACKAGE, ROOT
from shortloop.stages.results import Where
from shortloop.store.loaded import here
from shortloop.units.messages import JobWork, Mirrored
from shortloop.units.node_cache import INSIDE, OUTSIDE

ABSENT = "this worker's node does not have the project, only the files that the job's key covers"
HINT = "give the file as an input, as `run.file(…)` does, or declare it in `depend_extra` of the method"
STAYS = "changes would stay on this worker's node, where other jobs would find them"
OUTPUTS = "return it as an output of the stage, or write temporary files into a temporary folder"
READS = "a unit reads a file that is not on this node"
LOOKS = "a unit looks for a file that is not on this node"
LISTS = "a unit lists a folder that is not complete on this node"
CHANGES = "a unit changes a file of the project"
# Audit events, and which of their arguments are paths that change.
CHANGING = {
    **dict.fromkeys(("os.chmod", "os.mkdir", "os.remove", "os.rmdir", "os.truncate"), (0,)),
    **dict.fromkeys(("os.link", "os.symlink"), (1,)),
    "os.rename": (0, 1),
}
# Modules that look for modules, or serve jobs: a missing file changes no result of theirs.
MACHINERY = (
    "_frozen_importlib",
    "importlib.",
    "linecache.",
    "pkg_resources.",
    "pkgutil.",
    "zipimport.",
    *(f"{PACKAGE}.{floor}." for floor in ("exax", "keys", "plan", "project", "run", "stages", "store")),
)
# Modules through which others ask for files.
BETWEEN = {"genericpath", "os", "pathlib", "posixpath", "tokenize", "zipfile", "zipfile._path"}
RESOLVING = {"_joinrealpath", "realpath", "resolve"}

_rules: _Rules | None = None
_refused: list[TransientError] = []
_is_hooked = False


def enter_sandbox(mirrored: Mirrored) -> None:
    """Refuse undeclared files from now on, even to tell whether they exist."""
    _begin(mirrored)
    for name in ("stat", "lstat"):
        _watch(name)


@contextmanager
def sandboxed(mirrored: Mirrored | None) -> Iterator[None]:
    """Refuse undeclared files while modules are imported for a job."""
    global _rules
    if mirrored is not None:
        _begin(mirrored)
    try:
        yield
    finally:
        _rules = None


def check_refused() -> None:
    """Raise the first refusal, even if its error was caught."""
    if _refused:
        raise _refused[0]


def where_of(work: JobWork) -> Where:
    if (mirrored := work.get("mirrored")) is None:
        return here()
    return replace(here(), files={content: Path(place) for content, place in mirrored["inputs"].items()})


def translated(notes: bytes, mirrored: Mirrored | None) -> bytes:
    """Notes with paths as on the machine of the run."""
    if mirrored is None or not notes:
        return notes
    said = b""
    for line in map(json.loads, notes.splitlines()):
        if "located" in line:  # the job itself has noted the state of each input; here it is that of a copy
            continue
        if "loaded" in line:
            loaded = line["loaded"].items()
            line["loaded"] = {name: (original(file, mirrored), content) for name, (file, content) in loaded}
        if "opened" in line:
            line["opened"] = original(line["opened"], mirrored)
        said += json.dumps(line).encode() + b"\n"
    return said


def original(path: str, mirrored: Mirrored) -> str:
    for folder in (mirrored["code"], mirrored["data"]):
        for top, there in ((INSIDE, mirrored["project"]), (OUTSIDE, "")):
            if _above(path, (f"{folder}/{top}/",)):
                return there + path[len(f"{folder}/{top}") :]
    return path


def explained(traceback: str, error: BaseException, mirrored: Mirrored | None) -> str:
    """The traceback of a unit, with a hint if its cause may be an undeclared file."""
    if mirrored is None:
        return traceback
    for folder in (mirrored["code"], mirrored["data"]):
        traceback = traceback.replace(f"{folder}/{INSIDE}", mirrored["project"])
        traceback = traceback.replace(f"{folder}/{OUTSIDE}/", "/")
    seen: list[BaseException] = []
    while error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__ or error
    if not any(isinstance(each, FileNotFoundError) for each in seen):
        return traceback
    return f"{traceback.rstrip()}\n{ABSENT}; {HINT}\n"


def _begin(mirrored: Mirrored) -> None:
    global _rules, _is_hooked
    _rules = _Rules(mirrored)
    if not _is_hooked:  # it stays for good
        _is_hooked = True
        sys.addaudithook(_hook)


class _Rules:
    def __init__(self, mirrored: Mirrored) -> None:
        cache = os.path.dirname(os.path.dirname(mirrored["code"]))
        python = (sys.prefix, sys.base_prefix, f"{ROOT}/{PACKAGE}")
        self.mirrored = mirrored
        self._mirrors = _tops(mirrored["code"], mirrored["data"])
        self._whole = _tops(*mirrored["whole"])
        self._others = _tops(cache, *python, tempfile.gettempdir())
        self._absent = _tops(*mirrored["absent"])

    def refuses(self, name: str, how: str) -> bool:
        """True if a unit may not use a path in this way."""
        if top := _above(name, self._mirrors):
            if _is_hidden(name, top):
                return False
            if how == CHANGES:
                return True
            return not _above(name, self._whole) and (how == LISTS or not os.access(name, os.F_OK))
        top = "" if _above(name, self._others) else _above(name, self._absent)
        return bool(top) and not _is_hidden(name, top)


def _tops(*folders: str) -> tuple[str, ...]:
    return tuple(f"{each}/" for each in folders if each != "/")


def _above(name: str, tops: tuple[str, ...]) -> str:
    return next((top for top in tops if f"{name}/".startswith(top)), "")


def _is_hidden(name: str, top: str) -> bool:
    """True for hidden files and caches, on which no results depend."""
    rest = f"{name[len(top) - 1 :]}/"
    return "/." in rest or "/__pycache__/" in rest


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _rules is None:
        return
    if event == "open":
        flags = arguments[2] or 0
        how = CHANGES if flags & (os.O_WRONLY | os.O_RDWR) else LISTS if flags & os.O_DIRECTORY else READS
        _check(arguments[0], how, sys._getframe(1))
    elif event in ("os.listdir", "os.scandir"):
        _check("." if arguments[0] is None else arguments[0], LISTS, sys._getframe(1))
    else:
        for number in CHANGING.get(event, ()):
            _check(arguments[number], CHANGES, sys._getframe(1))


def _check(path: Any, how: str, frame: FrameType) -> None:
    """Refuse a path if necessary; the error is kept, as a unit may catch it and go on."""
    if _rules is None or isinstance(path, int):
        return
    name = os.path.abspath(os.fsdecode(path))
    if not _rules.refuses(name, how) or _is_machinery(frame):
        return
    found, hint = (STAYS, OUTPUTS) if how == CHANGES else (ABSENT, HINT)
    error = TransientError(how, file=original(name, _rules.mirrored), found=found, hint=hint)
    _refused.append(error)
    raise error


def _is_machinery(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_globals.get("__name__") in BETWEEN:
        if frame.f_code.co_name in RESOLVING:  # only asks for links
            return True
        frame = frame.f_back
    name = frame.f_globals.get("__name__") if frame is not None else ""
    return f"{name}.".startswith(MACHINERY)


def _watch(name: str) -> None:
    """Watch a function of `os` for which Python raises no event."""
    asked: Callable[..., os.stat_result] = getattr(os, name)

    @functools.wraps(asked)
    def watched(path: Any, **named: Any) -> os.stat_result:
        if named.get("dir_fd") is None:
            _check(path, LOOKS, sys._getframe(1))
        return asked(path, **named)

    setattr(os, name, watched)
    for each in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if asked in each:
            each.add(watched)
