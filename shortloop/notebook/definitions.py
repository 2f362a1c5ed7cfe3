"""Source lines of notebook definitions, even if the cell was edited since."""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import StringIO
from typing import NamedTuple

from shortloop.notebook.values import literal

__all__ = ["Definition", "Imported", "class_definition", "function_definition", "imports_in", "unwrapped"]

DEEPEST = 50  # decorators
Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


class Definition(NamedTuple):
    """A definition of a function or class.

    file: the name that Python has for the cell.
    lines: the lines of the cell.
    node: the definition in it.
    """

    file: str
    lines: list[str]
    node: Defined

    @property
    def first(self) -> int:
        """Its first line, of decorators if it has any; from 1."""
        decorators = getattr(self.node, "decorator_list", [])
        first: int = min([self.node.lineno, *(each.lineno for each in decorators)])
        return first


class Imported(NamedTuple):
    """What an import takes from a module."""

    module: str
    name: str


def unwrapped(value: object) -> tuple[types.FunctionType | None, int]:
    """The function that was written, behind what decorators made of it."""
    for layers in range(DEEPEST):
        inside = (
            None if isinstance(value, type) or not callable(value) else getattr(value, "__wrapped__", None)
        )
        if inside is None and not isinstance(value, types.FunctionType | type):
            inside = getattr(value, "py_func", None)  # of numba
        if inside is None:
            return value if isinstance(value, types.FunctionType) else None, layers
        value = inside
    return None, 0


def function_definition(function: types.FunctionType) -> Definition | None:
    """Where a function, or a lambda, was written."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename))
    lines, tree = _lines(text), _tree(text)
    if tree is None:
        return None
    found: list[Definition] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            fits = code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            fits = node.name == code.co_name
        else:
            continue
        made = Definition(code.co_filename, lines, node)
        if fits and made.first == code.co_firstlineno:
            found.append(made)
    return found[0] if len(found) == 1 else None


def class_definition(kind: type, cells: Sequence[tuple[str, str]]) -> Definition | None:
    """Cell of a class: that of its methods; without methods, the last cell that fits."""
    functions = [
        each
        for value in vars(kind).values()
        if (each := unwrapped(getattr(value, "__func__", getattr(value, "fget", None)) or value)[0])
        is not None
        and each.__module__ == kind.__module__
        and linecache.getlines(each.__code__.co_filename)
    ]
    own = [each.__code__ for each in functions]
    if any(each.__qualname__ != f"{kind.__qualname__}.{each.__name__}" for each in functions):
        return None  # it was put there afterwards
    places = [(code.co_filename, "".join(linecache.getlines(code.co_filename))) for code in own]
    for file, text in places or reversed(cells):
        tree = _tree(text)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__ and _fits(node, kind, own):
                return Definition(file, _lines(text), node)
    return None


def imports_in(cells: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Imported]]:
    """What cells import with ``from … import``, and what they assign, the last first."""
    for _, text in reversed(cells):
        yield from _bound(text)


@lru_cache(maxsize=512)
def _bound(text: str) -> list[tuple[str, Imported]]:
    found: list[tuple[str, Imported]] = []
    waiting: list[ast.AST] = [*reversed(tree.body)] if (tree := _tree(text)) is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(each.asname or each.name, Imported(node.module, each.name)) for each in node.names]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append((node.id, Imported("", "")))
        elif not isinstance(node, Defined):  # what these assign is their own
            waiting += reversed([*ast.iter_child_nodes(node)])
    return found[::-1]


def _fits(node: ast.ClassDef, kind: type, own: Sequence[types.CodeType]) -> bool:
    """Whether a class is as it is written: what of it is plain can be compared."""
    last = node.end_lineno or node.lineno
    if any(not node.lineno <= code.co_firstlineno <= last for code in own):
        return False
    said, plain = {"__module__", "__qualname__", "__doc__"}, dict[str, object]()
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            said.add(each.id)
    for statement in node.body:
        value = getattr(statement, "value", None)
        for target in getattr(statement, "targets", None) or [getattr(statement, "target", None)]:
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                plain[target.id] = value.value
    now = {name: literal(value) for name, value in vars(kind).items()}
    same = all(now.get(name) in (None, literal(value)) for name, value in plain.items())
    later = [name for name, value in now.items() if value and name not in said and not name.startswith("_")]
    annotated = {
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    return same and not later and annotated == {*vars(kind).get("__annotations__", annotated)}


def _lines(text: str) -> list[str]:
    """As Python counts them: a form feed ends none."""
    return StringIO(text).readlines()


@lru_cache(maxsize=512)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text) if text else None
    except SyntaxError:
        return None
