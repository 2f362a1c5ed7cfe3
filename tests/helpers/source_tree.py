"""The project's files as syntax trees, for tests of its shape."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEMPLATES = ROOT / "shortloop" / "templates"  # what projects of one's own begin with
BEGUN = {"templates", "template"}  # folders of them, of the frame and of analyses
MODULES = sorted(file for file in (ROOT / "shortloop").rglob("*.py") if BEGUN.isdisjoint(file.parts))
METHODS = sorted([*(ROOT / "methods").glob("a_*.py"), *(ROOT / "dev").glob("a_*.py")])
SCRIPTS = sorted([*(ROOT / "build_scripts").glob("build_*.py"), *(ROOT / "dev").glob("build_*.py")])


def id_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(file: Path) -> Iterator[str]:
    """Full names of all that a file imports, inside functions too."""
    package = module_of(file).split(".")
    if file.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            yield from (".".join([*above, *filter(None, [node.module]), a.name]) for a in node.names)


def docstring_of(node: ast.AST) -> str:
    return ast.get_docstring(node) or ""  # type: ignore[arg-type]
