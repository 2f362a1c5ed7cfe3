"""Whether what a formula computes for a row depends on that row alone.

Then it can be computed for the rows of all groups at once. What is not known to be so is computed group by
group: ``x - np.mean(x)`` is about the mean of the group.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence

import numpy as np

__all__ = ["is_elementwise"]

OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert, ast.UAdd, ast.USub),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)
NAMES = {"I": 1, "log": 1, "log2": 1, "log10": 1, "exp": 1, "exp2": 1, "exp10": 1}
"""Functions that formulaic has under these names, and how many values each takes."""
CATEGORIES, QUOTED = "C", "Q"
OF_NUMPY = {"where": 3}
"""The same of NumPy, beside its universal functions."""


def is_elementwise(expression: str, columns: Container[str]) -> bool:
    """Whether each row's value depends on that row alone.

    Parameters
    ----------
    expression : str
        Python, as a factor of a formula.
    columns : container of str
        Names of columns.

    Returns
    -------
    bool
        False if that is not known.
    """
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == CATEGORIES:
        return bool(tree.args) and _is_elementwise(tree.args[0], columns)  # the rest says how they are coded
    return _is_elementwise(tree, columns)


def _is_elementwise(node: ast.AST, columns: Container[str]) -> bool:
    if isinstance(node, ast.Call):
        known = _is_quoted(node) or len(node.args) == _values_of(node.func, columns)
        return known and not node.keywords and _are_elementwise(node.args, columns)
    if isinstance(node, ast.Name):
        return node.id in columns
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
        return _are_elementwise(list(ast.iter_child_nodes(node)), columns)
    return isinstance(node, (ast.Constant, *OPERATORS))


def _are_elementwise(nodes: Sequence[ast.AST], columns: Container[str]) -> bool:
    return all(_is_elementwise(each, columns) for each in nodes)


def _is_quoted(call: ast.Call) -> bool:
    """Whether it is a column whose name is no name of Python."""
    named = isinstance(call.func, ast.Name) and call.func.id == QUOTED
    return named and len(call.args) == 1 and isinstance(call.args[0], ast.Constant)


def _values_of(function: ast.expr, columns: Container[str]) -> int | None:
    """How many values a function takes; None if it is not known to take those of one row at a time."""
    if isinstance(function, ast.Name):
        return None if function.id in columns else NAMES.get(function.id)
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return None
    if function.value.id != "np" or "np" in columns:
        return None
    found = getattr(np, function.attr, None)
    if isinstance(found, np.ufunc):
        return found.nin if found.signature is None and found.nout == 1 else None
    return OF_NUMPY.get(function.attr)
