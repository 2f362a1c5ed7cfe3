"""Whether what a formula computes for a row depends on that row alone.

Then it can be computed for the rows of all groups at once. What is not known to be so is computed group by
group: ``x - np.mean(x)`` is about the mean of the group.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import TypeGuard

import numpy as np

__all__ = [
    "CATEGORIES",
    "METHODS",
    "coded_column",
    "compares_texts",
    "is_coding",
    "is_elementwise",
    "parsed",
    "quoted",
]

EXPRESSIONS = 256
"""Trees that are remembered."""
OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert, ast.UAdd, ast.USub),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)
NAMES = {"I": 1, "log": 1, "log2": 1, "log10": 1, "exp": 1, "exp2": 1, "exp10": 1}
"""Functions that formulaic has under these names, and how many values each takes."""
CATEGORIES, QUOTED = "C", "Q"
BUILTINS = ("int", "float", "str", "bool")
"""Types that values of a column are made."""
METHODS = ("astype", "between", "fillna", "isin", "isna", "isnull", "notna", "notnull")
"""Methods of a column that look at one row at a time."""
OF_NUMPY = {"where": 3}
"""The same of NumPy, beside its universal functions."""


def is_elementwise(expression: str, columns: Container[str]) -> bool:
    """True if each row's value is known to depend on that row alone."""
    tree = parsed(expression)
    if tree is None:
        return False
    if is_coding(tree):
        return bool(tree.args) and _is_elementwise(tree.args[0], columns)  # the rest says how they are coded
    return _is_elementwise(tree, columns)


@lru_cache(EXPRESSIONS)
def parsed(expression: str) -> ast.expr | None:
    """The tree of a factor that is Python; None if it is none."""
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def quoted(node: ast.AST) -> str | None:
    """The column in ``Q("a name")``, whose name is no name of Python; None of all else."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == QUOTED):
        return None
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Constant):
        return None
    return str(node.args[0].value)


def coded_column(expression: str) -> str | None:
    """The column of an expression that only says how it is coded, as ``C(k)``; None of others."""
    tree = parsed(expression)
    if not is_coding(tree) or not tree.args:
        return None
    return tree.args[0].id if isinstance(tree.args[0], ast.Name) else quoted(tree.args[0])


def compares_texts(expression: str) -> bool:
    """True if all that is done is to see which values are equal to constants, as in ``I(k == 'a')``."""
    tree = parsed(expression)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in ("I", CATEGORIES):
        tree = tree.args[0] if tree.args else None
    if not isinstance(tree, ast.Compare) or not all(isinstance(op, ast.Eq | ast.NotEq) for op in tree.ops):
        return False
    return isinstance(tree.left, ast.Name) and all(
        isinstance(each, ast.Constant) for each in tree.comparators
    )


def is_coding(node: ast.AST | None) -> TypeGuard[ast.Call]:
    """True of ``C(…)``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == CATEGORIES


def _is_elementwise(node: ast.AST, columns: Container[str]) -> bool:
    if quoted(node) is not None:
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS and not node.keywords:
            return _is_elementwise(node.func.value, columns) and all(
                _is_given(each, columns) or _is_elementwise(each, columns) for each in node.args
            )
        known = len(node.args) == _values_of(node.func, columns)
        return known and not node.keywords and _are_elementwise(node.args, columns)
    if isinstance(node, ast.Name):
        return node.id in columns
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
        return _are_elementwise(list(ast.iter_child_nodes(node)), columns)
    return isinstance(node, (ast.Constant, *OPERATORS))


def _are_elementwise(nodes: Sequence[ast.AST], columns: Container[str]) -> bool:
    return all(_is_elementwise(each, columns) for each in nodes)


def _is_given(node: ast.AST, columns: Container[str]) -> bool:
    """True of a type, or of constants in brackets."""
    if isinstance(node, ast.Name):
        return node.id in BUILTINS and node.id not in columns
    brackets = isinstance(node, ast.List | ast.Tuple | ast.Set)
    return brackets and all(isinstance(each, ast.Constant | ast.UnaryOp) for each in node.elts)  # type: ignore[attr-defined]


def _values_of(function: ast.expr, columns: Container[str]) -> int | None:
    """Number of values a function takes; None if it is not known to take those of one row at a time."""
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
