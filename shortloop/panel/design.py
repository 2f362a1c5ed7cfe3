"""Outcome and regressors, as columns of numbers: what models are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from shortloop.base.types import FloatArray, IntArray

__all__ = ["Categories", "Columns", "Dependence", "Design", "Evaluated"]

Columns = FloatArray | Sequence[FloatArray]
"""Regressors: an array of shape (coefficients, rows), or arrays each of shape (rows,)."""
Categories = tuple[IntArray, int]
Dependence = Literal["row", "categories", "rows"]


@dataclass(frozen=True)
class Design:
    """Outcome and regressors of some rows.

    names: of the regressors, as formulaic has them.
    regressors: an array of shape (coefficients, rows), or arrays each of shape (rows,): columns of the panel
        itself, where they are regressors.
    outcome: (rows,). If it is counted, the share of successes.
    roles: mapping of str to array. Further columns that the model needs, each of shape (rows,). If the
        outcome is counted, ``"successes"`` and ``"failures"`` among them.
    terms: which term of the formula each regressor belongs to.
    """

    names: tuple[str, ...]
    regressors: Columns
    outcome: FloatArray
    roles: Mapping[str, Any] = field(default_factory=dict)
    terms: tuple[int, ...] = ()

    @property
    def columns(self) -> FloatArray:
        """Regressors in one array, of shape (coefficients, rows); of many rows, a copy."""
        return np.asarray(self.regressors)

    def taken(self, rows: slice | IntArray) -> Design:
        """Some of its rows.

        rows: slice or array of int. Which.
        """
        roles = {name: values[rows] for name, values in self.roles.items()}
        regressors = np.array([column[rows] for column in self.regressors])
        return Design(self.names, regressors, self.outcome[rows], roles, self.terms)

    def missing(self) -> np.ndarray:
        """Which rows lack a value.

        returns: bool, (rows,)
        """
        found = np.zeros(len(self.outcome), bool)
        for column in (self.outcome, *self.regressors):
            with np.errstate(all="ignore"):
                is_whole = not np.isnan(column.sum())  # which is sooner known than what each of them is
            if not is_whole:
                found |= np.isnan(column)
        for values in self.roles.values():
            found |= values < 0 if values.dtype.kind == "i" else np.isnan(values)
        return found

    def trials(self) -> FloatArray | None:
        """How many trials there were.

        returns: float64, (rows,), or None. None if the outcome is not counted.
        """
        return self.roles["successes"] + self.roles["failures"] if "successes" in self.roles else None


@dataclass(frozen=True)
class Evaluated:
    """What became of a formula.

    design: outcome and regressors.
    depends: what the regressors of a row depend on: that row alone; which categories there are; all rows.
    categories: tuple of (array of int, int). Of every factor that is coded by categories, e.g. texts: which
        of them each row has, -1: none; and how many there are.
    has_categories: whether some factor is coded by categories, also if it is not known by which.
    makes_categories: whether rows decide together which categories a factor has, as in ``C(pd.cut(x, 3))``.
    """

    design: Design
    depends: Dependence
    categories: tuple[Categories, ...] = ()
    has_categories: bool = False
    makes_categories: bool = False

    def taken(self, rows: IntArray) -> Evaluated:
        """Some of its rows.

        rows: int. Which.
        """
        categories = tuple((codes[rows], count) for codes, count in self.categories)
        return replace(self, design=self.design.taken(rows), categories=categories)
