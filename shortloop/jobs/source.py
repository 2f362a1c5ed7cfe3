"""One Python file: what it says without comments, docstrings and formatting, and what it imports."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

from shortloop.jobs.filestate import file_state
from shortloop.jobs.project import cache_directory, write_atomically

__all__ = ["keep_sources", "normalised", "read_source"]

# Parsing a hundred files costs a second, so what came of it is kept, by the state of the file:
# path -> state, text, names, whether to keep it.
_memory: dict[str, list[Any]] = {}
_changed = False


def read_source(file: Path, module: str) -> tuple[str, list[str]]:
    """What a file says, and what it imports, anywhere in it.

    Parameters
    ----------
    file : Path
        A Python file.
    module : str
        Its name as a module, which relative imports start from.

    Returns
    -------
    text : str
        Its code, normalised: equal for files that differ in comments, docstrings and formatting only.
    names : list of str
        Full names of what it imports: modules, or modules and what is taken from them.

    Raises
    ------
    SyntaxError
        If it is not Python.
    """
    global _changed
    if not _memory:
        _memory.update(_load_kept())
    state, settled = file_state(file)
    known = _memory.get(str(file))
    if known is None or known[0] != state or not known[-1]:
        tree = ast.parse(file.read_bytes(), filename=str(file))
        names = sorted(set(_imports(tree, module, file.name == "__init__.py")))
        known = _memory[str(file)] = [state, normalised(tree), names, settled]
        _changed = True
    _, text, names, _ = known
    return text, names


def normalised(tree: ast.Module) -> str:
    """Code without comments, docstrings and formatting.

    Parameters
    ----------
    tree : ast.Module
        The code, which is changed.

    Returns
    -------
    str
        Equal for code that differs in nothing else.
    """
    return ast.unparse(_Strip().visit(tree))


def keep_sources() -> None:
    """Keep what was parsed for the next process."""
    global _changed
    if _changed:
        files = {file: known for file, known in _memory.items() if known[-1]}
        kept = json.dumps({"parser": _parser(), "files": files})
        write_atomically(cache_directory("code") / "parsed.json", kept)
        _changed = False


def _load_kept() -> dict[str, list[Any]]:
    try:
        loaded = json.loads((cache_directory("code") / "parsed.json").read_text(encoding="utf-8"))
        return dict(loaded["files"]) if loaded["parser"] == _parser() else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _parser() -> list[Any]:
    """What else the text and the names depend on: Python, and this file."""
    return [sys.version, *file_state(Path(__file__))[0]]


def _imports(tree: ast.AST, module: str, is_package: bool) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                above = parts[: len(parts) - node.level + is_package]
                base = ".".join([*above, base]) if base else ".".join(above)
            # `from a.b import c` may import the module a.b.c
            names += [f"{base}.{alias.name}" for alias in node.names]
    return names


class _Strip(ast.NodeTransformer):
    """Leaves out docstrings, as all strings that stand alone; parsing drops comments and formatting."""

    def _body(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.body = [each for each in node.body if not _is_string(each)] or [ast.Pass()]
        return node

    visit_Module = visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _body


def _is_string(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
