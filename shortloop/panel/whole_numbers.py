"""Whether whole numbers keep all digits in an expression of a formula, as 64 bits and as floats.

NumPy wraps around in silence beyond 64 bits, and floats round beyond 2**53. So bounds are computed by Python,
which does neither.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import product

from shortloop.panel.column import EXACT, LARGEST, Column
from shortloop.panel.elementwise import CATEGORIES, METHODS, is_coding, parsed, quoted

__all__ = ["INTEGERS", "keeps_digits"]

INTEGERS = ("int64", "Int64")
TRUTH = ("bool", "boolean")
Bounds = tuple[int, int]
"""Least and largest value; None in place of it: no whole numbers."""
OF_FLOAT = -EXACT, EXACT
"""Bounds of floats that become integers."""
HIGHEST = 64
"""Largest power that is computed to see whether it is too large."""


class _LosesDigitsError(Exception):
    """Digits may be lost, or it is not known what becomes of them."""


def keeps_digits(expression: str, columns: Mapping[str, Column]) -> bool:
    """True if no digit of whole numbers is lost in an expression; False also if that is not known."""
    tree = parsed(expression)
    if tree is None:
        return False
    try:
        found = _bounds(tree, columns)
        if not is_coding(tree):
            _as_float(found)
    except _LosesDigitsError:
        return False
    return True


def _bounds(node: ast.AST, columns: Mapping[str, Column]) -> Bounds | None:
    name = quoted(node) or (node.id if isinstance(node, ast.Name) else None)
    if name is not None and name in columns:
        column = columns[name]
        if column.dtype in TRUTH:
            return 0, 1
        return column.bounds() if column.dtype in INTEGERS else None
    if isinstance(node, ast.Constant):
        return (int(node.value), int(node.value)) if isinstance(node.value, int) else None
    if isinstance(node, ast.UnaryOp):
        return _signed(node.op, _bounds(node.operand, columns))
    if isinstance(node, ast.BinOp):
        return _joined(node.op, _bounds(node.left, columns), _bounds(node.right, columns))
    if isinstance(node, ast.Compare):
        sides = [_bounds(each, columns) for each in (node.left, *node.comparators)]
        if None in sides:
            for side in sides:
                _as_float(side)
        return 0, 1
    if isinstance(node, ast.Call):
        return _called(node, columns)
    if isinstance(node, ast.Subscript | ast.Attribute):  # of texts, as t.str[0]
        _check_texts(node, columns)
        return None
    raise _LosesDigitsError


def _signed(op: ast.unaryop, of: Bounds | None) -> Bounds | None:
    if of is None:
        return None
    if isinstance(op, ast.USub):
        return _within(-of[1], -of[0])
    return of if isinstance(op, ast.UAdd) else (min(of[0], ~of[1]), max(of[1], ~of[0]))


def _joined(op: ast.operator, left: Bounds | None, right: Bounds | None) -> Bounds | None:
    """Of two operands."""
    if left is None or right is None or isinstance(op, ast.Div):
        _as_float(left)
        _as_float(right)
        return None
    most = max(map(abs, (*left, *right)))
    if isinstance(op, ast.Add):
        return _within(left[0] + right[0], left[1] + right[1])
    if isinstance(op, ast.Sub):
        return _within(left[0] - right[1], left[1] - right[0])
    if isinstance(op, ast.Mult):
        corners = [one * other for one, other in product(left, right)]
        return _within(min(corners), max(corners))
    if isinstance(op, ast.Pow) and 0 <= right[0] <= right[1] <= HIGHEST:
        most = max(1, *(abs(each) ** right[1] for each in left))
        return _within(-most, most)
    if isinstance(op, ast.FloorDiv | ast.Mod):
        if right[0] <= 0 <= right[1]:  # which makes floats of them
            _as_float(left)
        return (0, right[1] - 1) if isinstance(op, ast.Mod) and right[0] > 0 else (-most, most)
    if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
        return _within(-2 * most, 2 * most)
    raise _LosesDigitsError


def _called(node: ast.Call, columns: Mapping[str, Column]) -> Bounds | None:
    if isinstance(node.func, ast.Name) and node.func.id in ("I", CATEGORIES) and node.args:
        return _bounds(node.args[0], columns)
    if not isinstance(node.func, ast.Attribute):
        raise _LosesDigitsError
    method = node.func.attr
    if method not in METHODS:
        _check_texts(node.func, columns)
        return None
    of = _bounds(node.func.value, columns)
    if method == "astype":
        asked = node.args[0] if node.args else None
        kind = asked.id if isinstance(asked, ast.Name) else str(getattr(asked, "value", ""))
        if kind.startswith("float"):
            _as_float(of)
        return (of or OF_FLOAT) if kind.startswith("int") else (0, 1) if kind == "bool" else None
    if method == "fillna" and node.args:
        other = _bounds(node.args[0], columns)
        if of is None or other is None:
            _as_float(of)
            return None
        return min(of[0], other[0]), max(of[1], other[1])
    return 0, 1  # the others are truth values


def _check_texts(node: ast.AST, columns: Mapping[str, Column]) -> None:
    """See that only texts are read: what is made of other columns is not known."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and (each.id not in columns or columns[each.id].levels is None):
            raise _LosesDigitsError


def _within(least: int, most: int) -> Bounds:
    if least < -LARGEST or most >= LARGEST:
        raise _LosesDigitsError
    return least, most


def _as_float(of: Bounds | None) -> None:
    if of is not None and not -EXACT <= of[0] <= of[1] <= EXACT:
        raise _LosesDigitsError
