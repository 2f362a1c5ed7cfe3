"""Libraries and modules to import before jobs of a method are forked.

Modules of the user's own are not: each job imports these itself, see `shortloop.exax.patches.isolation`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from shortloop.keys.code import MADE_OF_STAGE, code_state
from shortloop.keys.methods import find_method
from shortloop.keys.own_code import PACKAGE
from shortloop.keys.source import read_source

__all__ = ["imports_of"]

# What every stage needs.
ALWAYS = (
    "multiprocessing.sharedctypes",  # of what hands out units
    "numpy",
    "shortloop.exax.declare",
    "shortloop.stages.fields",
    "shortloop.stages.function",
    "shortloop.stages.output",
)


def imports_of(method: str, modules: Sequence[str] = ()) -> list[str]:
    """What jobs of a method import, but for modules of the user's own."""
    package, file = find_method(method)
    known = code_state(file, modules).modules
    names = {*_imported(file, f"{package}.{file.stem}", code_state(file).modules), *modules}
    names |= _imported_by(modules, known)
    users = {name for name in known if not _is_ours(name)}
    for name in users - {f"{package}.{file.stem}"}:
        names |= _run(known[name], name) & _at_top(known[name])
    return sorted(name for name in names if _is_ours(name) or users.isdisjoint(_along(name)))


def _is_ours(name: str) -> bool:
    return f"{name}.".startswith(f"{PACKAGE}.")


def _along(name: str) -> Iterator[str]:
    """A dotted name and all that it is in."""
    parts = name.split(".")
    return (".".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _imported(file: Path, method: str, known: Mapping[str, Path]) -> set[str]:
    """What a method imports; of one that is made of a stage, what that imports too."""
    names = _run(file, method)
    if not MADE_OF_STAGE & names:
        return names
    stages = {name.rpartition(".")[0] for name in names} & known.keys()
    return {*names, *_imported_by(stages, known), *ALWAYS}


def _imported_by(modules: Iterable[str], known: Mapping[str, Path]) -> set[str]:
    return {name for each in modules if each in known for name in _run(known[each], each)}


def _run(file: Path, module: str) -> set[str]:
    """What a file imports when it is run; what it has for types alone may be heavy."""
    source = read_source(file, module)
    return {*source.names} - {*source.for_types}


def _at_top(file: Path) -> set[str]:
    """What a file imports outside of functions, by absolute names."""
    if file.suffix != ".py":
        return set()
    names: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(file.read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return names
