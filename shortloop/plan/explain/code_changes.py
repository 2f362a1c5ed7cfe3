"""Changed functions in a job's code, compared with the previous job."""

from __future__ import annotations

import ast
import copy
import difflib
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from shortloop.keys.closure import closure
from shortloop.keys.code import EXTRA_CODE
from shortloop.keys.methods import find_method
from shortloop.keys.source import NOTHING, normalised, read_source

__all__ = ["changed_names", "code_now", "stored_code", "text_diff"]

ARCHIVE = "method.tar.gz"
HEADING = "# module "


@cache
def stored_code(folder: Path) -> dict[str, str]:
    """Read the code stored with a job."""
    found = _in_archive(folder / ARCHIVE)
    with suppress(OSError, UnicodeDecodeError):  # modules that the method imports by names not in its code
        found |= _modules_in((folder / EXTRA_CODE).read_text(encoding="utf-8"))
    return found


def code_now(method: str, more: Sequence[str] = ()) -> dict[str, tuple[str, Path]]:
    """Read the current code of a method."""
    package, file = find_method(method)
    modules = {f"{package}.a_{method}": file, **closure(file, more)[0]}
    said = {name: (read_source(each, name).text, each) for name, each in modules.items()}
    return {name: (text, each) for name, (text, each) in said.items() if text != NOTHING}


@cache
def changed_names(old: str, new: str) -> list[str]:
    """Functions, classes and constants that differ between two versions of a module."""
    before, after = dict(_named(old)), dict(_named(new))
    changed = [name for name, text in after.items() if before.get(name) != text]
    return [*changed, *(name for name in before if name not in after)]


def text_diff(old: str, new: str, old_name: str, new_name: str) -> list[str]:
    """Unified diff of two texts."""
    return list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), old_name, new_name, lineterm="", n=2)
    )


def _in_archive(file: Path) -> dict[str, str]:
    """Code that exax keeps: the method, and the file written by `shortloop.keys.code.code_of`."""
    found: dict[str, str] = {}
    try:
        with tarfile.open(file) as archive:
            for member in archive:
                stream = archive.extractfile(member)
                text = stream.read().decode() if stream is not None else ""
                if member.name.endswith(".py"):
                    module = ".".join(Path(member.name).with_suffix("").parts[-2:])
                    found[module] = normalised(ast.parse(text))
                else:
                    found.update(_modules_in(text))
    except (OSError, EOFError, tarfile.TarError, SyntaxError, UnicodeDecodeError):
        return {}
    return found


def _modules_in(text: str) -> dict[str, str]:
    """Split a file written by `shortloop.keys.code`."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(HEADING):
            lines = found.setdefault(line.removeprefix(HEADING), [])
        else:
            lines.append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}


def _named(text: str) -> Iterator[tuple[str, str]]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            yield node.name, _head(node)
            for each in node.body:
                for name in _names_of(each):
                    yield f"{node.name}.{name}", ast.unparse(each)
        else:
            for name in _names_of(node):
                yield name, ast.unparse(node)


def _head(node: ast.ClassDef) -> str:
    """Source of a class without its named members."""
    head = copy.copy(node)
    head.body = [each for each in node.body if not _names_of(each)] or [ast.Pass()]
    return ast.unparse(head)


def _names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return []
