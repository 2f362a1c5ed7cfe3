"""What of the code is part of a method's key: every module of this package that it can import,
without comments, docstrings and formatting, and the versions of the libraries that these use.

exax keys a job by its method file and the files in ``depend_extra``. A method here says
``depend_extra = code_of(__file__)``, which names one text file that holds all of the above; exax puts a
copy of it into ``method.tar.gz`` of each job, so that what went into a key can be read there.
"""

from __future__ import annotations

import ast
import json
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from shortloop.jobs.project import cache_directory, write_atomically

__all__ = ["closure", "code_of"]

PACKAGE = "shortloop"
ROOT = Path(__file__).resolve().parents[2]
# Everything rests on these, imported directly or not.
ALWAYS = ("numpy", "scipy")
DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def code_of(method_file: str) -> list[str]:
    """Files for ``depend_extra`` of a method.

    Parameters
    ----------
    method_file : str
        ``__file__`` of the method.

    Returns
    -------
    list of str
        One file: the code of the method's closure and the versions of its libraries.
    """
    method = Path(method_file).resolve()
    modules, libraries = closure(method)
    lines = [f"# python {sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"]
    for library in sorted({*libraries, *ALWAYS}):
        version = _version(library)
        if version is not None:
            lines.append(f"# {library} {version}")
    for name in sorted(modules):
        lines += ["", f"# module {name}", _parsed(modules[name])[0]]
    file = cache_directory("code") / f"{method.parent.name}.{method.stem}.txt"
    text = "\n".join(lines) + "\n"
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        write_atomically(file, text)
    _save_parsed()
    return [str(file)]


def closure(file: Path) -> tuple[dict[str, Path], set[str]]:
    """Modules of this package that a file imports, anywhere in it, directly or through others.

    Parameters
    ----------
    file : Path
        A Python file.

    Returns
    -------
    modules : dict of str to Path
        Modules by name; the packages that hold them are among them, as importing runs them too.
    libraries : set of str
        Top-level names of the other packages that these modules and the file import, but for the
        standard library.
    """
    modules: dict[str, Path] = {}
    libraries: set[str] = set()
    waiting = list(_parsed(file)[1])
    while waiting:
        name = waiting.pop()
        top = name.partition(".")[0]
        if top != PACKAGE:
            if top not in sys.stdlib_module_names and top != "accelerator":
                libraries.add(top)
            continue
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            module = ".".join(parts[:depth])
            found = _file_of(module)
            if found is not None and module not in modules:
                modules[module] = found
                waiting += _parsed(found, module)[1]
    return modules, libraries


def _file_of(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None  # the name of a function or class, imported from its module


@cache
def _version(library: str) -> str | None:
    try:
        return metadata.version(DISTRIBUTIONS.get(library, library))
    except metadata.PackageNotFoundError:
        return None


# Parsing a hundred files costs a second, so what came of it is kept by stat.
_memory: dict[str, list[Any]] = {}
_changed = False


def _parsed(file: Path, module: str = "") -> tuple[str, list[str]]:
    """Normalised source of a file, and the names it imports."""
    global _changed
    if not _memory:
        _memory.update(_load_parsed())
    stat = file.stat()
    key = [stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino]
    known = _memory.get(str(file))
    if known is None or known[0] != key:
        tree = ast.parse(file.read_bytes(), filename=str(file))
        names = sorted(set(_imports(tree, module, file.name == "__init__.py")))
        known = [key, ast.unparse(_strip(tree)), names]
        _memory[str(file)] = known
        _changed = True
    _, text, names = known
    return text, names


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
    """Leaves out docstrings; comments and formatting are gone with parsing."""

    def _body(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        body = node.body  # type: ignore[attr-defined]
        if (
            body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
            and isinstance(body[0].value.value, str)
        ):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
        return node

    visit_Module = visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _body


def _strip(tree: ast.Module) -> ast.Module:
    stripped = _Strip().visit(tree)
    assert isinstance(stripped, ast.Module)
    return stripped


def _load_parsed() -> dict[str, list[Any]]:
    try:
        loaded = json.loads((cache_directory("code") / "parsed.json").read_text(encoding="utf-8"))
        return loaded if isinstance(loaded, dict) else {}
    except (OSError, ValueError):
        return {}


def _save_parsed() -> None:
    global _changed
    if _changed:
        write_atomically(cache_directory("code") / "parsed.json", json.dumps(_memory))
        _changed = False
