"""Files that a method declares in ``depend_extra``."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from shortloop.base.errors import InputError
from shortloop.keys.file_state import file_state
from shortloop.keys.hashing import hash_file
from shortloop.keys.methods import module_of

__all__ = ["declared_files"]

NAME = "depend_extra"
OURS = f"{NAME} = code_of(__file__)"

# By method: its state, and the files that it declares; by file: its state, and a hash of its bytes. Kept of
# those in whose state any change shows, as they were read.
_lists: dict[Path, tuple[list[int], list[Path]]] = {}
_hashes: dict[Path, tuple[list[int], str]] = {}


def declared_files(method: Path, ours: Callable[[Path], Path]) -> dict[str, tuple[Path, str]]:
    """What a method declares, but for the file that `code_of` writes."""
    state, settled = file_state(method)
    known = _lists.get(method)
    if known is None or known[0] != state:
        known = state, _listed(method)
        if settled:
            _lists[method] = known
    found: dict[str, tuple[Path, str]] = {}
    for file in known[1]:
        if file != ours(method):
            name = str(file.relative_to(method.parent)) if file.is_relative_to(method.parent) else file.name
            found[name if name not in found else str(file)] = file, _hash(file, method)
    return found


def _listed(method: Path) -> list[Path]:
    if not any(map(_may_declare, ast.parse(method.read_bytes()).body)):
        return []
    listed = getattr(_loaded(method), "depend_extra", ())
    if isinstance(listed, str):  # exax would take each letter for a file
        raise _no_file(listed, method)
    return [_file_of(each, method) for each in listed]


def _may_declare(statement: ast.stmt) -> bool:
    """Whether a statement of a method may declare something, in whatever way."""
    if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
        return True
    return NAME in ast.unparse(statement) and ast.unparse(statement) != OURS


def _loaded(method: Path) -> ModuleType:
    """The method as a module of its own, as what it declares may be computed."""
    spec = importlib.util.spec_from_file_location(module_of(method), method)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    try:
        exec(compile(method.read_bytes(), str(method), "exec"), vars(module))
    except Exception as error:
        raise InputError(
            "a method cannot be imported",
            file=method,
            found=f"{type(error).__name__}: {error}",
            hint="correct it and run again",
        ) from error
    return module


def _file_of(each: object, method: Path) -> Path:
    """As exax takes it: a module, or a path that may be relative to the method."""
    path = getattr(each, "__file__", None) if isinstance(each, ModuleType) else each
    if not isinstance(path, str | Path):
        raise _no_file(each, method)
    return method.parent / path


def _no_file(found: object, method: Path) -> InputError:
    return InputError(
        "depend_extra of a method contains an entry that is not a file",
        file=method,
        field=NAME,
        found=repr(found),
        expected="a list of paths and modules",
        hint="correct it and run again",
    )


def _hash(file: Path, method: Path) -> str:
    try:
        state, settled = file_state(file)
        known = _hashes.get(file)
        if known is None or known[0] != state:
            known = state, hash_file(file)
            if settled:
                _hashes[file] = known
    except OSError as error:
        raise InputError(
            "a file that a method declares cannot be read",
            file=file,
            field=f"{NAME} of {method.name}",
            found=error.strerror,
            hint="put it there, or take it out of depend_extra",
        ) from None
    return known[1]
