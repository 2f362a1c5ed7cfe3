"""Notebook names that a function or class uses, when defined and when called."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

__all__ = ["Reached", "chains", "reached"]

AT_ONCE = ("listcomp", "setcomp", "dictcomp", "genexpr")
"""Scopes of their own that run where they are written."""


class Reached(NamedTuple):
    """Names of the notebook that a statement uses.

    defining: those that are looked up when the statement runs, as decorators, base classes and types.
    calling: those that are looked up when what it defines is called.
    kept: those to which it assigns when it is called.
    """

    defining: frozenset[str]
    calling: frozenset[str]
    kept: frozenset[str]


def reached(text: str, types: bool = False) -> Reached:
    """Names that a statement uses and does not define itself."""
    defining: set[str] = set()
    calling: set[str] = set()
    kept: set[str] = set()
    _walk(symtable.symtable(text, "<notebook>", "exec"), True, defining, calling, kept)
    outer = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)][:1]
    for node in outer if types else []:
        defining |= {*_in_annotations(node.args)}
    return Reached(frozenset(defining), frozenset(calling), frozenset(kept))


def chains(text: str) -> set[str]:
    """Dotted names in a statement, as ``scipy.stats.norm``, with all their beginnings."""
    return {name for node in ast.walk(ast.parse(text)) if (name := _dotted(node))}


def _walk(
    table: symtable.SymbolTable, at_once: bool, defining: set[str], calling: set[str], kept: set[str]
) -> None:
    kind = str(table.get_type())
    for symbol in table.get_symbols():
        # What a class assigns and reads may be read first.
        outside = symbol.is_global() or kind == "module" or (kind == "class" and not symbol.is_free())
        if symbol.is_referenced() and outside:
            (defining if at_once else calling).add(symbol.get_name())
        if symbol.is_declared_global() and symbol.is_assigned():
            kept.add(symbol.get_name())
    for child in table.get_children():
        inside = str(child.get_type()) == "class" or child.get_name() in AT_ONCE
        _walk(child, at_once and inside, defining, calling, kept)


def _in_annotations(arguments: ast.arguments) -> Iterator[str]:
    """Names in the types of parameters, also where these are texts."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    waiting: list[ast.AST] = [each.annotation for each in every if each.annotation is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            with suppress(SyntaxError):
                waiting.append(ast.parse(node.value, mode="eval").body)
        elif isinstance(node, ast.Subscript) and _dotted(node.value).endswith("Literal"):
            waiting.append(node.value)  # texts in it are no types
        else:
            waiting += ast.iter_child_nodes(node)


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    above = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{above}.{node.attr}" if above and isinstance(node, ast.Attribute) else ""
