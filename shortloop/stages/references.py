"""Input files on which a unit depends beyond its data: named in the data, or opened while it computes.

A unit's data may hold a path, or a word that it makes a path of, in place of what is in the file. A unit may
also find state that opening the stage, or an earlier unit, has left in the process.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import glob
import hashlib
import importlib.machinery
import os
import pickle
import sys
import sysconfig
import types
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from shortloop.stages.inputs import File

MOST_MARKS = 20  # parts of names that are looked for in every text
SIZE = 20  # bytes of a hash
PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
PACKAGE = str(Path(__file__).parents[1])
LARGE = 1_000_000  # bytes of an array that are not compared
NOT_USERS: tuple[str, ...] = (f"{PACKAGE}/", f"{sysconfig.get_path('stdlib')}/")
CODE = (types.FunctionType, types.BuiltinFunctionType, property, classmethod, staticmethod)
SINGLE = (*CODE, type, types.ModuleType)  # whose parts are not compared
CACHED = functools._lru_cache_wrapper  # noqa: SLF001  the type has no public name

DEPTH = 3  # of parts of an object that cannot be pickled
MANY = 1000  # parts of one that are compared

State = dict[str, object]
Value = TypeVar("Value")
_Names = dict[str, list[File]]


class References:
    """The input files of a stage, by the texts that name them, and which of them its units open."""

    def __init__(self, files: Iterable[File] = (), described: Callable[[], str] = str) -> None:
        self.files = list(files)
        self._described = functools.cache(described)  # all that the job is made from: no unit depends on more
        self.changed: list[str] = []  # state of the process that opening the stage has changed
        self.in_keys: set[Path] = set()  # files whose content is in the keys that were made last
        self.opened: set[Path] = set()  # files that the last unit has opened
        self.state: State | None = None  # of the process before the first unit
        self.left_state = False  # True if a unit opened a file and left state on which others may depend

    def all_inputs(self) -> bytes:
        """A hash of all that the job is made from."""
        self.in_keys.update(each.path for each in self.files)
        return hashlib.blake2b(self._described().encode(), digest_size=SIZE).digest()

    def named_by(self, text: str, is_word: bool) -> list[File] | None:
        """Files that a text names; None if it may name any."""
        if not self.files:
            return []
        paths, words, everything, marks = self._names
        found = paths.get(text) or (words.get(text) if is_word else None)
        if found is None and "/" in text and (part := f"/{os.path.normpath(text).strip('/')}/") in everything:
            found = [each for each in self.files if part in f"/{each.path}/"]
        if found:
            return found
        return None if any(mark in text for mark in marks) else []

    def read(self, path: str) -> None:
        """Note that a library reads a file, a folder with all that is in it, or the files of a pattern."""
        if self.files:
            for each in matching(path):
                self.open(each)

    def open(self, path: str | bytes | os.PathLike[str]) -> None:
        """Note that a file is opened, if it is one of these by whatever path."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            self.opened.add(self._ids[_id(path)])

    @functools.cached_property
    def _ids(self) -> dict[tuple[int, int], Path]:
        return {_id(each.path): each.path for each in self.files}

    @functools.cached_property
    def _names(self) -> tuple[_Names, _Names, str, tuple[str, ...]]:
        """Files by path and by word, all paths in one text, and marks of texts that may name a file."""
        paths: _Names = {}
        words: _Names = {}
        for file in self.files:
            whole = str(file.path)
            for path in dict.fromkeys((whole, os.path.realpath(whole))):
                parts = path.split("/")
                for start in range(len(parts)):
                    paths.setdefault("/".join(parts[start:]), []).append(file)
            for word in {*file.path.parent.parts, file.path.stem}:
                words.setdefault(word, []).append(file)
        telling = {word: files for word, files in words.items() if len(files) < len(self.files)}
        telling |= {each.path.stem: words[each.path.stem] for each in self.files}
        everything = "".join(f"/{each.path}/\n" for each in self.files).replace("//", "/")
        marks = {each.path.suffix or f"/{each.path.name}" for each in self.files}
        return paths, telling, everything, tuple(marks) if len(marks) <= MOST_MARKS else ("/",)


def _id(path: str | bytes | os.PathLike[str]) -> tuple[int, int]:
    state = os.stat(path)
    return state.st_dev, state.st_ino


_here = References()


def here() -> References:
    """References of the stage that this process has opened."""
    return _here


def refer_to(references: References) -> None:
    """From now on, this process has opened a stage with these."""
    global _here
    _here = references


def matching(path: str) -> Iterator[str]:
    """Paths that a reader of files may open for a path."""
    if os.path.isdir(path):
        yield from glob.iglob(f"{glob.escape(path)}/**", recursive=True)
    elif os.path.lexists(path) or not glob.has_magic(path):
        yield path
    else:
        yield from glob.iglob(path, recursive=True)


def files_in(value: object) -> Iterator[File]:
    """Files among options, also inside of lists, dicts and records."""
    if isinstance(value, File):
        yield value
        return
    parts: Iterable[object] = ()
    if isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        parts = vars(value).values()
    for each in parts:
        yield from files_in(each)


_watching: References | None = None
_has_hook = False


def compute_watched(stage: object, compute: Callable[[], Value]) -> tuple[Value, bool]:
    """Compute a unit whose key was just made; True if it depends on inputs that are not in this key."""
    global _watching, _has_hook
    given = here()
    if not given.files:
        return compute(), False
    if not _has_hook:
        sys.addaudithook(_watch)  # forks inherit it, and no process can remove it
        _has_hook = True
    given.opened.clear()
    if given.state is None:
        given.state = _state_with(stage)
    _watching = given
    try:
        with adding_imports(given.state):
            values = compute()
    finally:  # also of a unit that fails: the next one may find what it left
        _watching = None
        depends = given.left_state or not given.opened <= given.in_keys
        if given.opened and not given.left_state:
            given.left_state = depends or bool(changed(given.state, _state_with(stage)))
    return values, depends


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if (given := _watching) is None:
        return
    if event == "open":
        path, _, flags = arguments[:3]
        if not isinstance(path, int) and not (flags or 0) & os.O_WRONLY:
            given.open(path)
    elif event == "sqlite3.connect":
        given.open(arguments[0])
    elif event in PROGRAMS:
        for each in _texts(arguments):
            named = given.named_by(each, False)
            given.opened.update(file.path for file in (given.files if named is None else named))


def _texts(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return [os.fsdecode(value)] if isinstance(value, str | bytes | os.PathLike) else []


def _state_with(stage: object) -> State:
    """State that a unit could leave to the next one."""
    own = {
        f"self.{name}": (id(value), len(value) if hasattr(value, "__len__") else 0)
        for name, value in vars(stage).items()
    }
    return {**state_of_process(), **own}


_users: tuple[object, list[tuple[str, types.ModuleType]]] = None, []


def state_of_process(but: Container[str] = ()) -> State:
    """Variables of the user's modules by name: values, or identities if these cannot be compared."""
    state: State = {"os.environ": dict(os.environ), "os.getcwd()": os.getcwd()}
    for name, module in _users_modules():
        if name not in but:
            state.update(_variables(name, vars(module)))
    return state


@contextlib.contextmanager
def adding_imports(state: State) -> Iterator[None]:
    """Add variables of the user's modules that are imported meanwhile, as they are when an import ends."""
    loader: Any = importlib.machinery.SourceFileLoader
    original, depth = loader.exec_module, 0

    def exec_module(self: object, module: types.ModuleType) -> None:
        nonlocal depth
        depth += 1
        try:
            original(self, module)
        finally:
            depth -= 1
            if not depth:  # modules that one imports may add to its variables
                for name, value in state_of_process(set(map(_module_of, state))).items():
                    state.setdefault(name, value)

    loader.exec_module = exec_module
    try:
        yield
    finally:
        loader.exec_module = original


def changed(before: State, now: State) -> list[str]:
    """Names of variables that have another value, or are new; not those of modules that are new."""
    modules = {_module_of(name) for name in before}
    return [
        name
        for name, value in now.items()
        if (name in before or _module_of(name) in modules)
        and before.get(name) != value
        and not _is_same_object(before.get(name), value)
    ]


def _module_of(name: str) -> str:
    return name.rpartition(".")[0]


def _is_same_object(before: object, now: object) -> bool:
    """True for an object that differs only as it was pickled: its first pickle may leave something in it."""
    if not (isinstance(before, bytes) and isinstance(now, bytes)):
        return False
    try:
        objects = pickle.loads(before), pickle.loads(now)
        for _ in range(2):
            again = [pickle.dumps(each, protocol=5) for each in objects]
    except Exception:  # whatever the type says
        return False
    return again[0] == again[1]


def _users_modules() -> list[tuple[str, types.ModuleType]]:
    global _users
    last = next(reversed(sys.modules))  # of several of which one was imported again, as well
    loaded = len(sys.modules), last, id(sys.modules[last])
    if _users[0] != loaded:
        found = []
        for name, module in [*sys.modules.items()]:
            file = getattr(module, "__dict__", {}).get("__file__")  # some modules import to find attributes
            is_library = file and ("/site-packages/" in file or "/dist-packages/" in file)
            if file and not is_library and not file.startswith(NOT_USERS):
                found.append((name, module))
        _users = loaded, found
    return _users[1]


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
            yield whole, _comparable(value)


def _comparable(value: Any, depth: int = DEPTH) -> object:
    if isinstance(value, str | int | float | bool | None):
        return repr(value)
    try:
        if getattr(value, "nbytes", 0) > LARGE:
            return id(value)
        return pickle.dumps(value, protocol=5)
    except Exception:  # whatever the type says
        return id(value) if isinstance(value, SINGLE) else (id(value), _comparable_parts(value, depth))


def _comparable_parts(value: object, depth: int) -> object:
    """What can be compared of an object that cannot be pickled, e.g. for a function in it."""
    if depth and isinstance(value, contextvars.ContextVar):
        return _comparable(value.get(None), depth - 1)
    inside = dict(enumerate(value)) if isinstance(value, list | tuple) else value
    parts = inside if isinstance(inside, dict) else getattr(value, "__dict__", None)
    if not isinstance(parts, Mapping):
        return None
    if not depth or len(parts) > MANY:
        return len(parts)
    return [(id(name), _comparable(each, depth - 1)) for name, each in [*parts.items()]]
