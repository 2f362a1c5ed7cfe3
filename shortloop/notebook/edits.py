"""Replace parts of a cell's text while keeping line numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shortloop.notebook.definitions import Definition

__all__ = ["Edit", "Replace", "edited", "first_line", "renaming", "replacing"]


class Edit(NamedTuple):
    """A part of some lines that is replaced.

    line, column: where it begins: line from 1, column in bytes.
    last, end: where it ends.
    text: what stands there then, with as many lines.
    """

    line: int
    column: int
    last: int
    end: int
    text: str


def replacing(node: ast.expr, text: str, at_sign: Sequence[str] | None = None) -> Edit:
    """Have a text in place of an expression."""
    last, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    column = node.col_offset
    if at_sign is not None:
        column = at_sign[node.lineno - 1].encode()[:column].rindex(b"@")
    return Edit(node.lineno, column, last, end, text + "\n" * (last - node.lineno))


def renaming(found: Definition, name: str) -> list[Edit]:
    """Have a function or class the name that the notebook knows it by."""
    node = found.node
    line = found.lines[node.lineno - 1].encode()[node.col_offset :].decode()
    said = re.match(r"(?:async\s+)?(?:def|class)\s+(\w+)", line)
    if said is None or getattr(node, "name", name) == name:
        return []
    start = node.col_offset + len(line[: said.start(1)].encode())
    return [Edit(node.lineno, start, node.lineno, start + len(said[1].encode()), name)]


def edited(lines: Sequence[str], first: int, edits: Sequence[Edit]) -> list[str]:
    """Lines with some parts replaced; their number stays."""
    made = [line.encode() for line in lines]
    for edit in sorted(edits, reverse=True):
        top, bottom = edit.line - first, edit.last - first
        text = made[top][: edit.column] + edit.text.encode() + made[bottom][edit.end :]
        made[top : bottom + 1] = text.splitlines(keepends=True)
    return [line.decode() for line in made]


def first_line(found: Definition) -> int | None:
    """Where a function begins, after its docstring."""
    body = found.node.body
    assert isinstance(body, list)
    is_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[1] if is_text and len(body) > 1 else body[0]
    line = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", []))])
    before = found.lines[line - 1].encode()[: first.col_offset]
    continued = found.lines[line - 2].rstrip().endswith("\\")
    return line if not before.strip() and not continued else None


class Replace(ast.NodeTransformer):
    """Puts texts in place of some expressions.

    texts: by the ``id`` of the node.
    """

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts

    def visit(self, node: ast.AST) -> ast.AST:
        """A node, or what stands in its place."""
        text = self._texts.get(id(node))
        if text is not None:
            return ast.parse(text, mode="eval").body
        visited: ast.AST = self.generic_visit(node)
        return visited
