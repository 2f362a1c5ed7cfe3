"""Terms of formulas: what formulaic has parsed, and sums of columns without it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

SUM = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\s*\+\s*[A-Za-z_][A-Za-z0-9_]*)*")
"""Sums of columns: known without formulaic, which takes an eighth of a second to import."""


class Factor(NamedTuple):
    """A factor of a term; `how` is "lookup" of a column, "literal" for the constant, or "python"."""

    expr: str
    how: str


Terms = tuple[tuple[Factor, ...], ...]
CONSTANT = (Factor("1", "literal"),)


def sides_of_sums(formula: str) -> tuple[Terms, Terms] | None:
    """Return the terms of a formula of sums of columns on both sides; None for others."""
    sides = [side.strip() for side in formula.split("~")]
    if len(sides) != 2 or not all(map(SUM.fullmatch, sides)):
        return None
    left, right = (dict.fromkeys(map(str.strip, side.split("+"))) for side in sides)
    return _columns(left), (CONSTANT, *_columns(right))


def _columns(names: Iterable[str]) -> Terms:
    return tuple((Factor(name, "lookup"),) for name in names)


def terms_of(side: Any) -> Terms:
    """Read the terms of a side that formulaic has parsed."""
    return tuple(
        tuple(Factor(str(each.expr), str(each.eval_method.value)) for each in term.factors) for term in side
    )
