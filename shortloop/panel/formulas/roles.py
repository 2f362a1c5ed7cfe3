"""Columns beside a formula: weights, offsets, clusters, times, absorbed effects."""

from __future__ import annotations

import re

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.formulas.column import EXACT, Column

CODED = re.compile(r"^(clusters|effect)( \d+)?$|^time$|\.groups( \d+)?$")
"""Roles, arguments of statsmodels among them, of which only equality matters, or order."""


def role_values(role: str, name: str, column: Column) -> FloatArray | IntArray:
    """Convert a column beside the formula to numbers, or codes, negative of what is missing."""
    if not CODED.search(role):
        if column.values.dtype.kind == "i":
            raise InputError("the column is not numeric", field=role, found=name, expected="numbers")
        return np.array(column.values, np.float64)  # that of a file may not be written to
    if column.values.dtype == np.int32:
        if role == "time":
            _check_order(name, column)
        return np.asarray(column.values, np.int64)
    check_distinct(role, name, column)
    _, codes = np.unique(column.values, return_inverse=True)
    return np.where(column.missing(), -1, codes).astype(np.int64)


def check_distinct(field: str, name: str, column: Column) -> None:
    """Refuse floats as codes that may have lost their last digits."""
    if column.dtype not in ("float64", "Float64"):
        return
    values = column.values[np.isfinite(column.values)]
    if len(values) and max(-values.min(), values.max()) >= EXACT:
        problem = "numbers too large to be distinguished"
        found = f"{name}: {values[np.abs(values).argmax()]:.0f}, as a number with a fraction"
        expected = f"whole numbers, or numbers below {EXACT}"
        hint = "in pandas, whole numbers with missing values are floats: use its type Int64, or texts"
        raise InputError(problem, field=field, found=found, expected=expected, hint=hint)


def _check_order(name: str, column: Column) -> None:
    """Refuse texts whose order need not be that of time."""
    if not column.has_order:
        problem, levels = "the order of the values is not known", [*map(str, column.levels or ())]
        found = f"{name}: {column.refused or ', '.join(levels[:3])}"
        expected = "numbers, times, or texts such as 1999-12-31, 1999-12 or 1999Q4"
        raise InputError(problem, field="time", found=found, expected=expected)
