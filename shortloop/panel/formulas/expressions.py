"""Static analysis of the Python in formulas: independence of rows, and digits of integers.

Elementwise expressions are computed for the rows of all groups at once, all others group by group: ``x -
np.mean(x)`` is about the mean of the group.

NumPy wraps around in silence beyond 64 bits, and floats round beyond 2**53. So bounds of integers are
computed by Python, which does neither.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Container
from functools import lru_cache
from itertools import product
from typing import TypeGuard

import numpy as np

from shortloop.panel.formulas.column import EXACT, LARGEST, NamedColumns

EXPRESSIONS = 256  # trees that are remembered
OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert, ast.UAdd, ast.USub),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)
NAMES = {"I": 1, "abs": 1, "log": 1, "log2": 1, "log10": 1, "exp": 1, "exp2": 1, "exp10": 1}
"""Functions that formulaic has under these names, and how many values each takes."""
CATEGORIES, QUOTED = "C", "Q"
BUILTINS = ("int", "float", "str", "bool")  # types that values of a column are made
NUMERIC = ("abs", "clip", "round")
METHODS = (*NUMERIC, "astype", "between", "fillna", "isin", "isna", "isnull", "notna", "notnull")
"""Methods of a column that look at one row at a time."""
OF_NUMPY = {
    "where": 3,
    "clip": 3,
}  # elementwise functions of NumPy that are no ufuncs, and their numbers of arguments
INTEGERS = ("int64", "Int64")
TRUTH = ("bool", "boolean")
Bounds = tuple[int, int]  # least and largest value; None in place of it: no whole numbers
OF_FLOAT = -EXACT, EXACT  # bounds of floats that become integers
HIGHEST = 64  # largest power that is computed to see whether it is too large


def with_outcome(formula: str, outcome: str | None) -> str:
    """Add an outcome to the right side of a formula; None: it has one."""
    return formula if outcome is None else f"{outcome} ~ {formula.strip().removeprefix('~').strip()}"


def is_elementwise(expression: str, columns: Container[str]) -> bool:
    """True if each row's value is known to depend on that row alone."""
    tree = parsed(expression)
    if is_call(tree, CATEGORIES):
        tree = tree.args[0] if tree.args else None  # the rest says how they are coded
    return tree is not None and _is_elementwise(tree, columns)


@lru_cache(EXPRESSIONS)
def parsed(expression: str) -> ast.expr | None:
    """Parse a factor; None if it is not Python."""
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def quoted(node: ast.AST) -> str | None:
    """Return the column in ``Q("a name")``; None for any other expression."""
    if not is_call(node, QUOTED) or len(node.args) != 1 or node.keywords:
        return None
    return str(node.args[0].value) if isinstance(node.args[0], ast.Constant) else None


def coded_name(expression: str) -> str | None:
    """Return the column of an expression that only sets its coding, as ``C(k)``; None for others."""
    tree = parsed(expression)
    if not is_call(tree, CATEGORIES) or not tree.args:
        return None
    return tree.args[0].id if isinstance(tree.args[0], ast.Name) else quoted(tree.args[0])


def compares_texts(expression: str) -> bool:
    """True if an expression only tests which values equal constants, as in ``I(k == 'a')``."""
    tree = parsed(expression)
    if is_call(tree, "I", CATEGORIES):
        tree = tree.args[0] if tree.args else None
    if not isinstance(tree, ast.Compare) or not isinstance(tree.left, ast.Name):
        return False
    is_equality = all(isinstance(op, ast.Eq | ast.NotEq) for op in tree.ops)
    return is_equality and all(isinstance(each, ast.Constant) for each in tree.comparators)


def is_call(node: ast.AST | None, *names: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def keeps_state(expression: str, columns: Container[str]) -> bool:
    """True if other new rows decide no value, as in ``center(x)``."""
    from formulaic.transforms import TRANSFORMS

    tree = parsed(expression)

    class Replace(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            kind = TRANSFORMS.get(node.func.id) if isinstance(node.func, ast.Name) else None
            is_stateful = getattr(kind, "__is_stateful_transform__", False) and not is_call(node, CATEGORIES)
            if is_stateful and node.args and _is_elementwise(node.args[0], columns):
                return ast.Constant(0.0)
            return self.generic_visit(node)

    found = tree and Replace().visit(copy.deepcopy(tree))
    if is_call(found, CATEGORIES):
        found = found.args[0] if found.args else None
    return found is not None and _is_elementwise(found, columns)


def _is_elementwise(node: ast.AST, columns: Container[str]) -> bool:
    if quoted(node) is not None:
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            fills = any(each.arg in ("method", "limit") for each in node.keywords)  # from other rows
            given = [node.func.value, *node.args, *(each.value for each in node.keywords)]
            return not fills and all(
                _is_given(each, columns) or _is_elementwise(each, columns) for each in given
            )
        known = len(node.args) == _values_of(node.func, columns)
        return known and not node.keywords and all(_is_elementwise(each, columns) for each in node.args)
    if isinstance(node, ast.Name):
        return node.id in columns
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
        return all(_is_elementwise(each, columns) for each in ast.iter_child_nodes(node))
    return isinstance(node, (ast.Constant, *OPERATORS))


def _is_given(node: ast.AST, columns: Container[str]) -> bool:
    """True for a type, or for constants in brackets."""
    if isinstance(node, ast.Name):
        return node.id in BUILTINS and node.id not in columns
    brackets = isinstance(node, ast.List | ast.Tuple | ast.Set)
    return brackets and all(isinstance(each, ast.Constant | ast.UnaryOp) for each in node.elts)  # type: ignore[attr-defined]


def _values_of(function: ast.expr, columns: Container[str]) -> int | None:
    """Return how many arguments an elementwise function takes; None for other functions."""
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


class _LosesDigitsError(Exception):
    """Digits may be lost."""


def keeps_digits(expression: str, columns: NamedColumns) -> bool:
    """True if it is known that no digit of integers is lost in an expression."""
    if (tree := parsed(expression)) is None:
        return False
    try:
        found = _bounds(tree, columns)
        if not is_call(tree, CATEGORIES):
            _check_floats(found)
    except _LosesDigitsError:
        return False
    return True


def _bounds(node: ast.AST, columns: NamedColumns) -> Bounds | None:
    name = quoted(node) or (node.id if isinstance(node, ast.Name) else None)
    if name is not None and name in columns:
        column = columns[name]
        if column.dtype in TRUTH:
            return 0, 1
        return column.bounds() if column.dtype in INTEGERS else None
    if isinstance(node, ast.Constant):
        return (int(node.value), int(node.value)) if isinstance(node.value, int) else None
    if isinstance(node, ast.UnaryOp):
        return _bounds_of_sign(node.op, _bounds(node.operand, columns))
    if isinstance(node, ast.BinOp):
        return _bounds_of_operation(node.op, _bounds(node.left, columns), _bounds(node.right, columns))
    if isinstance(node, ast.Compare):
        sides = [_bounds(each, columns) for each in (node.left, *node.comparators)]
        if None in sides:
            _check_floats(*sides)
        return 0, 1
    if isinstance(node, ast.Call):
        return _bounds_of_call(node, columns)
    if isinstance(node, ast.Subscript | ast.Attribute):  # of texts, as t.str[0]
        _check_texts(node, columns)
        return None
    raise _LosesDigitsError


def _bounds_of_sign(op: ast.unaryop, of: Bounds | None) -> Bounds | None:
    if of is None or isinstance(op, ast.UAdd):
        return of
    if isinstance(op, ast.USub):
        return _within(-of[1], -of[0])
    return min(of[0], ~of[1]), max(of[1], ~of[0])


def _bounds_of_operation(op: ast.operator, left: Bounds | None, right: Bounds | None) -> Bounds | None:
    if left is None or right is None or isinstance(op, ast.Div):
        _check_floats(left, right)
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
            _check_floats(left, right)
        return (0, right[1] - 1) if isinstance(op, ast.Mod) and right[0] > 0 else (-most, most)
    if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
        return _within(-2 * most, 2 * most)
    raise _LosesDigitsError


def _bounds_of_call(node: ast.Call, columns: NamedColumns) -> Bounds | None:
    if is_call(node, "I", CATEGORIES) and node.args:
        return _bounds(node.args[0], columns)
    if not isinstance(node.func, ast.Attribute):
        raise _LosesDigitsError
    given = [*node.args, *(each.value for each in node.keywords)]
    method, argument = node.func.attr, given[0] if given else None
    if method not in METHODS:
        _check_texts(node.func, columns)
        return None
    of = _bounds(node.func.value, columns)
    if method == "astype":
        kind = argument.id if isinstance(argument, ast.Name) else str(getattr(argument, "value", ""))
        if kind.startswith("float"):
            _check_floats(of)
        return (of or OF_FLOAT) if kind.startswith("int") else (0, 1) if kind == "bool" else None
    if method in NUMERIC:
        _check_floats(of, *(_bounds(each, columns) for each in given))
        if of is not None:  # whole numbers that others may multiply until they wrap around
            raise _LosesDigitsError
        return None
    if method == "fillna" and argument is not None:
        other = _bounds(argument, columns)
        if of is None or other is None:
            _check_floats(of)
            return None
        return min(of[0], other[0]), max(of[1], other[1])
    return 0, 1  # the others are truth values


def _check_texts(node: ast.AST, columns: NamedColumns) -> None:
    """Refuse other columns than texts: their result is not known."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and (each.id not in columns or columns[each.id].levels is None):
            raise _LosesDigitsError


def _within(least: int, most: int) -> Bounds:
    if least < -LARGEST or most >= LARGEST:
        raise _LosesDigitsError
    return least, most


def _check_floats(*each: Bounds | None) -> None:
    """Refuse whole numbers that floats cannot hold."""
    if any(of is not None and not -EXACT <= of[0] <= of[1] <= EXACT for of in each):
        raise _LosesDigitsError
