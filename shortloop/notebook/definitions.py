"""Source of notebook definitions, even if the cell was edited since, and edits that keep line numbers."""

from __future__ import annotations

import ast
import linecache
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from typing import NamedTuple

from shortloop.notebook.values import literal

DEEPEST = 50  # decorators
Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


class Definition(NamedTuple):
    """A definition of a function or class."""

    file: str  # Python's name for the cell
    lines: list[str]  # of the cell
    node: Defined

    @property
    def first(self) -> int:
        """Its first line, from 1, including decorators."""
        return _line_of(self.node)


class Imported(NamedTuple):
    """An imported name; both empty for a name that is assigned."""

    module: str
    name: str


def _line_of(node: ast.stmt | ast.expr) -> int:
    first: int = min(each.lineno for each in (node, *getattr(node, "decorator_list", [])))
    return first


def unwrapped(value: object) -> tuple[types.FunctionType | None, int]:
    """The original function behind its decorators, and their number."""
    for layers in range(DEEPEST):
        is_class = isinstance(value, type) or not callable(value)
        inside = None if is_class else getattr(value, "__wrapped__", None)
        if inside is None and not isinstance(value, types.FunctionType | type):
            inside = getattr(value, "py_func", None)  # of numba
        if inside is None:
            return value if isinstance(value, types.FunctionType) else None, layers
        value = inside
    return None, 0


def function_definition(function: types.FunctionType) -> Definition | None:
    """Definition of a function or lambda; None if it is not unique or not available."""
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
        return None  # a method was added afterwards
    places = [(code.co_filename, "".join(linecache.getlines(code.co_filename))) for code in own]
    for file, text in places or reversed(cells):
        tree = _tree(text)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__ and _fits(node, kind, own):
                return Definition(file, _lines(text), node)
    return None


def imports_in(cells: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Imported]]:
    """Names that cells import with ``from … import`` or assign, the last first."""
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
        elif not isinstance(node, Defined):  # their assignments are local
            waiting += reversed([*ast.iter_child_nodes(node)])
    return found[::-1]


def _fits(node: ast.ClassDef, kind: type, codes: Sequence[types.CodeType]) -> bool:
    """True if a class agrees with its source, as far as plain values tell."""
    last = node.end_lineno or node.lineno
    if any(not node.lineno <= code.co_firstlineno <= last for code in codes):
        return False
    assigned, plain = {"__module__", "__qualname__", "__doc__"}, dict[str, object]()
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            assigned.add(each.id)
    for statement in node.body:
        value = getattr(statement, "value", None)
        for target in getattr(statement, "targets", None) or [getattr(statement, "target", None)]:
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                plain[target.id] = value.value
    current = {name: literal(value) for name, value in vars(kind).items()}
    same = all(current.get(name) in (None, literal(value)) for name, value in plain.items())
    added = [
        name for name, value in current.items() if value and name not in assigned and not name.startswith("_")
    ]
    annotated = {
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    return same and not added and annotated == {*vars(kind).get("__annotations__", annotated)}


def _lines(text: str) -> list[str]:
    """Lines as Python counts them: a form feed does not end one."""
    return StringIO(text).readlines()


@lru_cache(maxsize=512)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text) if text else None
    except SyntaxError:
        return None


class Edit(NamedTuple):
    """Replacement of a part of some lines."""

    line: int  # first line, from 1
    column: int  # in bytes
    last: int  # last line
    end: int  # column
    text: str  # with as many lines


def replacing(node: ast.expr, text: str, at_sign: Sequence[str] | None = None) -> Edit:
    """Replace an expression by a text, from its @ on if it is a decorator."""
    last, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    column = node.col_offset
    if at_sign is not None:
        column = at_sign[node.lineno - 1].encode()[:column].rindex(b"@")
    return Edit(node.lineno, column, last, end, text + "\n" * (last - node.lineno))


def renaming(found: Definition, name: str) -> list[Edit]:
    """Give a function or class the name that it has in the notebook."""
    node = found.node
    line = found.lines[node.lineno - 1].encode()[node.col_offset :].decode()
    header = re.match(r"(?:async\s+)?(?:def|class)\s+(\w+)", line)
    if header is None or getattr(node, "name", name) == name:
        return []
    start = node.col_offset + len(line[: header.start(1)].encode())
    return [Edit(node.lineno, start, node.lineno, start + len(header[1].encode()), name)]


def edited(lines: Sequence[str], first: int, edits: Sequence[Edit]) -> list[str]:
    """Apply edits; the number of lines stays."""
    made = [line.encode() for line in lines]
    for edit in sorted(edits, reverse=True):
        top, bottom = edit.line - first, edit.last - first
        text = made[top][: edit.column] + edit.text.encode() + made[bottom][edit.end :]
        made[top : bottom + 1] = text.splitlines(keepends=True)
    return [line.decode() for line in made]


def first_line(found: Definition) -> int | None:
    """First line of a function's body after its docstring; None if it shares its line."""
    body = found.node.body
    assert isinstance(body, list)
    is_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[1] if is_text and len(body) > 1 else body[0]
    line = _line_of(first)
    before = found.lines[line - 1].encode()[: first.col_offset]
    continued = found.lines[line - 2].rstrip().endswith("\\")
    return line if not before.strip() and not continued else None


class Replace(ast.NodeTransformer):
    """Replaces expressions by texts, given by the ``id`` of the node."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts

    def visit(self, node: ast.AST) -> ast.AST:
        """The node, or its replacement."""
        text = self._texts.get(id(node))
        if text is not None:
            return ast.parse(text, mode="eval").body
        visited: ast.AST = self.generic_visit(node)
        return visited
