"""Compile own code from the very source that is read, and record loaded modules.

Python takes bytecode for valid by the time of its source, in whole seconds, and its size: a module edited
twice within a second, or restored with its old time, runs as it was. So processes that run methods trust only
bytecode that they cached by content.
"""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import os
import sys
from importlib import machinery
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple, cast
from zipimport import zipimporter

from blake3 import blake3

from shortloop.exax.patches import patch
from shortloop.keys.file_state import unless_changed
from shortloop.keys.hashing import hash_file
from shortloop.keys.own_code import is_own
from shortloop.project.project import cache_directory, runs_jobs
from shortloop.store.process_notes import note

AT_START = {"__main__", "sitecustomize", "usercustomize"}  # Python runs these once, before all else

CHECK = blake3.digest_size  # bytes
_hashes: dict[Path, tuple[list[int], str]] = {}
_forgotten: list[ModuleType] = []  # kept, as to take them apart costs a fork more than all else here


class Loaded(NamedTuple):
    file: str
    content: str  # hexadecimal BLAKE3 of the bytes that were loaded


def load_from_source(anew: bool = False) -> None:
    """Load own code from source in this process and its forks, and record loaded modules."""
    if _table() is not None:
        return
    cache = Path(os.devnull)  # without a project, nothing is kept
    with contextlib.suppress(OSError, ValueError):
        cache = cache_directory("bytecode")
    machinery.SourceFileLoader.get_code = _Table(cache)  # type: ignore[method-assign,assignment]
    # Compiled modules, bytecode without a source, and archives are loaded as they are.
    patch(machinery.ExtensionFileLoader, "create_module")(_note_as_it_is)
    for kind in (machinery.SourcelessFileLoader, zipimporter):
        patch(kind, "get_code")(_note_as_it_is)
    if anew or runs_jobs():
        # What is being imported goes on; others get what their sources say.
        specs = {name: getattr(module, "__spec__", None) for name, module in sys.modules.items()}
        running = {name for name, spec in specs.items() if getattr(spec, "_initializing", False)}
        forget_modules(set(own_modules()) - running - AT_START)


def is_noting() -> bool:
    return _table() is not None


def loaded_modules() -> dict[str, Loaded]:
    table = _table()
    return {} if table is None else table.loaded


def is_as_loaded(module: Loaded) -> bool:
    """True if the file of a module holds what was loaded from it."""
    try:
        return unless_changed(_hashes, Path(module.file), hash_file) == module.content
    except OSError:
        return False


def own_modules() -> dict[str, str]:
    """Return the own modules of this process, however they were loaded."""
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    return {name: file for name, file in files.items() if file and is_own(file)}


def forget_modules(names: set[str]) -> None:
    """Reload modules when they are next imported."""
    loaded = loaded_modules()
    for name in names:
        module = sys.modules.pop(name, None)
        if module is not None:
            _forgotten.append(module)
        above, _, last = name.rpartition(".")
        if module is not None and getattr(sys.modules.get(above), last, None) is module:
            delattr(sys.modules[above], last)
        loaded.pop(name, None)


class _Table:
    """Replaces ``SourceFileLoader.get_code``, where it is found again however often this is imported."""

    def __init__(self, cache: Path) -> None:
        self.loaded: dict[str, Loaded] = {}
        self._cache = cache
        self._last: dict[str, tuple[bytes, CodeType]] = {}  # of each file; jobs are forks that import it anew
        self._original = machinery.SourceFileLoader.get_code

    def __get__(self, loader: Any, kind: type | None = None) -> Any:
        return self if loader is None else lambda name: self._code(loader, name)

    def note(self, name: str, file: str, content: str) -> None:
        self.loaded[name] = Loaded(file, content)
        note(loaded={name: (file, content)})

    def _code(self, loader: Any, name: str) -> CodeType | None:
        file = loader.get_filename(name)
        if not is_own(file):
            code: CodeType | None = self._original(loader, name)
            return code
        source = loader.get_data(file)
        self.note(name, file, blake3(source).hexdigest())
        return self._compiled(source, file)

    def _compiled(self, source: bytes, file: str) -> CodeType:
        """Compile a source, or take it from the cache, which has one version of each file."""
        path = os.fsencode(file)
        kept = self._cache / blake3(path).hexdigest()
        what = (importlib.util.MAGIC_NUMBER, bytes([sys.flags.optimize]), path, source)
        key = blake3(b"\0".join(what)).digest()
        if self._last.get(file, (b"",))[0] != key:
            self._last[file] = key, (self._read(kept, key) or self._compile(source, file, kept, key))
        return self._last[file][1]

    def _read(self, kept: Path, key: bytes) -> CodeType | None:
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
            data = kept.read_bytes()
            if data[:CHECK] == key and blake3(data[2 * CHECK :]).digest() == data[CHECK : 2 * CHECK]:
                return cast("CodeType", marshal.loads(data[2 * CHECK :]))
        return None

    def _compile(self, source: bytes, file: str, kept: Path, key: bytes) -> CodeType:
        code = compile(source, file, "exec", dont_inherit=True)
        data = marshal.dumps(code)
        part = kept.with_name(f".{kept.name}.{os.getpid()}")
        with contextlib.suppress(OSError):  # a full disk, or a project that is only read
            part.write_bytes(key + blake3(data).digest() + data)
            part.replace(kept)
        return code


def _table() -> _Table | None:
    found = vars(machinery.SourceFileLoader).get("get_code")
    return found if hasattr(found, "loaded") else None


def _note_as_it_is(original: Any, loader: Any, what: Any) -> Any:
    table, file = _table(), getattr(loader, "path", None) or loader.archive
    if table is not None and is_own(file):
        table.note(getattr(loader, "name", str(what)), file, blake3(Path(file).read_bytes()).hexdigest())
    return original(loader, what)
