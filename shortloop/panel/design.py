"""What a formula asks for: outcome and regressors, as columns of numbers."""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shortloop.errors import InputError
from shortloop.panel.batch import Columns
from shortloop.panel.data import Column
from shortloop.panel.elementwise import is_elementwise
from shortloop.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dependence", "Design", "Equation"]

INTERCEPT = "Intercept"
Dependence = Literal["row", "texts", "rows"]
Sides = tuple[tuple[str, ...], Columns, Sequence[FloatArray]]  # names, regressors, outcomes


@dataclass(frozen=True)
class Design:
    """Outcome and regressors of some rows.

    Parameters
    ----------
    names : tuple of str
        Of the regressors, as formulaic has them.
    regressors : Columns
        An array of shape (coefficients, rows), or arrays each of shape (rows,): columns of the panel itself,
        where they are regressors.
    outcome : array, shape (rows,)
        If it is counted, the share of successes.
    roles : mapping of str to array
        Further columns that the model needs, each of shape (rows,). If the outcome is counted,
        ``"successes"`` and ``"failures"`` among them.
    """

    names: tuple[str, ...]
    regressors: Columns
    outcome: FloatArray
    roles: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> FloatArray:
        """Regressors in one array, of shape (coefficients, rows); of many rows, a copy."""
        return np.asarray(self.regressors)

    def taken(self, rows: slice | IntArray) -> Design:
        """Some of its rows.

        Parameters
        ----------
        rows : slice or array of int
            Which.

        Returns
        -------
        Design
        """
        roles = {name: values[rows] for name, values in self.roles.items()}
        regressors = np.array([column[rows] for column in self.regressors])
        return Design(self.names, regressors, self.outcome[rows], roles)

    def missing(self) -> np.ndarray:
        """Which rows lack a value.

        Returns
        -------
        array of bool, shape (rows,)
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

        Returns
        -------
        array of float64, shape (rows,), or None
            None if the outcome is not counted.
        """
        return self.roles["successes"] + self.roles["failures"] if "successes" in self.roles else None

    def clusters(self, starts: IntArray) -> IntArray | None:
        """Clusters numbered from 0 in each group, without gaps.

        Parameters
        ----------
        starts : array of int, shape (groups + 1,)
            First row of each group, and the end of the last.

        Returns
        -------
        array of int64, shape (rows,), or None
            None if the model has no clusters.
        """
        from shortloop.panel.kernels.rows import numbered_in_groups

        if "clusters" not in self.roles:
            return None
        return numbered_in_groups(self.roles["clusters"].astype(np.int64), starts)


class Equation:
    """A formula with an outcome.

    Parameters
    ----------
    formula : str
        As of formulaic; without a left side if there is an outcome.
    outcome : str, optional
        The left side.
    where : str, default "formula"
        Field of the settings, for messages.

    Raises
    ------
    InputError
        If it is no formula, or its left side is not there or there twice.
    """

    def __init__(self, formula: str, outcome: str | None = None, where: str = "formula") -> None:
        from formulaic import Formula
        from formulaic.errors import FormulaicError

        self.where = where
        self.text = formula if outcome is None else f"{outcome} ~ {formula.replace('~', ' ', 1).strip()}"
        sides = formula.split("~")
        if outcome is None and (len(sides) != 2 or not sides[0].strip()):
            raise InputError(
                "the formula says no outcome",
                field=where,
                found=formula,
                expected="e.g. 'y ~ x1 + x2'",
                hint="write the outcome left of ~, or name `outcomes`",
            )
        if outcome is not None and len(sides) > 1 and sides[0].strip():
            raise InputError(
                "the outcome is said twice",
                field=where,
                found=formula,
                expected="nothing left of ~ where `outcomes` are named",
            )
        try:
            self._formula: Any = Formula(self.text)
        except (FormulaicError, SyntaxError, TypeError, ValueError) as error:
            raise self._wrong("this is no formula", error) from None
        left = [[factor.eval_method.value for factor in term.factors] for term in self._sides()[0]]
        self._is_counted = len(left) == 2 and all(len(term) == 1 and term != ["literal"] for term in left)

    @property
    def is_counted(self) -> bool:
        """Whether the left side is two columns: how often something was so, and how often not."""
        return self._is_counted

    def variables(self, columns: Container[str]) -> list[str]:
        """Columns that it reads.

        Parameters
        ----------
        columns : container of str
            Those that there are.

        Returns
        -------
        list of str
            Sorted; with names that are no columns, where it can be nothing else.
        """
        found = set(map(str, self._formula.required_variables))
        for expression in self._expressions():  # formulaic does not know all that calls are given
            named = ast.walk(ast.parse(expression, mode="eval"))
            found |= {each.id for each in named if isinstance(each, ast.Name) and each.id in columns}
        return sorted(found)

    def _expressions(self) -> list[str]:
        """Factors that are Python, and not names."""
        factors = (factor for terms in self._sides() for term in terms for factor in term.factors)
        return [str(factor.expr) for factor in factors if factor.eval_method.value == "python"]

    def _sides(self) -> tuple[Any, Any]:
        return self._formula.lhs, self._formula.rhs

    def design(self, columns: Mapping[str, Column], roles: Mapping[str, str]) -> tuple[Design, Dependence]:
        """Outcome and regressors of all rows.

        Parameters
        ----------
        columns : mapping of str to Column
            By name.
        roles : mapping of str to str
            Further columns that the model needs, by what for.

        Returns
        -------
        design : Design
        depends : {"row", "texts", "rows"}
            What the regressors of a row depend on: that row alone; which texts there are; all rows.

        Raises
        ------
        InputError
            If there is no such column, or it cannot be computed with.
        """
        for name in [*(names := self.variables(columns)), *roles.values()]:
            if name not in columns:
                raise InputError(
                    "there is no such column",
                    field=self.where,
                    found=name,
                    expected=f"one of {', '.join(columns)}",
                )
        extra = {role: self._role(role, name, columns[name]) for role, name in roles.items()}
        plain = self._plain(columns)
        if plain is not None:
            return _design(plain, extra), "row"
        outcome, regressors, depends = self._evaluated(_frame(columns, names))
        made = _design(_numbers(outcome, regressors), extra)
        for name in names:  # a missing text is in none of the columns, which is no number that is missing
            if columns[name].levels is not None:
                made.outcome[np.asarray(columns[name].values) < 0] = np.nan
        return made, depends

    def of_group(self, columns: Mapping[str, Column], roles: Mapping[str, str], rows: slice) -> Design:
        """Outcome and regressors of one group, as if there were no other.

        Parameters
        ----------
        columns, roles
            As of `design`.
        rows : slice
            The group's.

        Returns
        -------
        Design
            Of the rows that have all values. What other rows decide, e.g. a mean, all rows of the group
            decide, as in statsmodels; only if none were left so, those that have all values.
        """
        names = self.variables(columns)
        some = {name: columns[name].taken(rows) for name in {*names, *roles.values()}}
        whole = ~_lacking(some)
        made = self._of_rows(some, names, roles, whole)
        left = whole & ~made.missing()
        if whole.any() and not left.any() and not whole.all():
            kept = np.flatnonzero(whole)
            some = {name: column.taken(kept) for name, column in some.items()}
            made = self._of_rows(some, names, roles, np.ones(len(kept), bool))
            left = ~made.missing()
        return made.taken(np.flatnonzero(left))

    def lacking(self, columns: Mapping[str, Column], roles: Mapping[str, str]) -> np.ndarray:
        """Which rows lack a value of a column that it reads.

        Parameters
        ----------
        columns, roles
            As of `design`.

        Returns
        -------
        array of bool, shape (rows,)
        """
        names = {*self.variables(columns), *roles.values()}
        return _lacking({name: columns[name] for name in names})

    def _of_rows(
        self, columns: Mapping[str, Column], names: Sequence[str], roles: Mapping[str, str], whole: np.ndarray
    ) -> Design:
        """Outcome and regressors of all rows, with those texts only that whole rows have."""
        frame = _frame(columns, names)
        for name in names:
            levels = columns[name].levels
            if levels is not None:
                seen = np.unique(columns[name].values[whole])
                frame[name] = frame[name].cat.set_categories([levels[int(each)] for each in seen])
        outcome, regressors, _ = self._evaluated(frame)
        extra = {role: self._role(role, name, columns[name]) for role, name in roles.items()}
        return _design(_numbers(outcome, regressors), extra)

    def _plain(self, columns: Mapping[str, Column]) -> Sides | None:
        """Names, regressors and outcomes where all are columns of numbers, or products of them."""
        found = []
        for terms in self._sides():
            made = []
            for term in terms:
                factors = [str(factor.expr) for factor in term.factors]
                for factor in term.factors:
                    name, how = str(factor.expr), factor.eval_method.value
                    is_one = how == "literal" and name == "1"
                    if not is_one and (how != "lookup" or columns[name].levels is not None):
                        return None
                made.append(factors)
            found.append(made)
        if len(found[0]) != 1 + self.is_counted or not found[1]:
            return None
        rows = len(next(iter(columns.values())).values)
        names = tuple(INTERCEPT if each == ["1"] else ":".join(each) for each in found[1])
        regressors = [_product(columns, factors, rows) for factors in found[1]]
        outcomes = [_product(columns, factors, rows) for factors in found[0]]
        return names, regressors, outcomes

    def _evaluated(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, Dependence]:
        from formulaic.errors import FormulaicError

        try:
            with np.errstate(all="ignore"):
                made = self._formula.get_model_matrix(frame, na_action="ignore")
        except (FormulaicError, ArithmeticError, TypeError, ValueError, NameError) as error:
            raise self._wrong("the formula cannot be computed", error) from None
        specs = (made.lhs.model_spec, made.rhs.model_spec)
        kinds = {kind.value for spec in specs for kind, _ in spec.encoder_state.values()}
        if made.lhs.shape[1] != 1 + self.is_counted:
            raise InputError(
                "the outcome is not one column of numbers",
                field=self.where,
                found=", ".join(made.lhs.columns),
                hint="outcomes that are texts must be made numbers first, e.g. 0 and 1; outcomes that are "
                "counted are two columns, 'successes + failures ~ …'",
            )
        if not all(is_elementwise(each, frame.columns) for each in self._expressions()):
            return made.lhs, made.rhs, "rows"
        return made.lhs, made.rhs, "texts" if "categorical" in kinds else "row"

    def _role(self, role: str, name: str, column: Column) -> FloatArray | IntArray:
        if role != "clusters":
            if column.levels is not None:
                raise InputError("that column holds texts", field=role, found=name, expected="numbers")
            return np.array(column.values, np.float64)  # that of a file may not be written to
        if column.levels is not None:
            return np.asarray(column.values, np.int64)
        _, codes = np.unique(column.values, return_inverse=True)
        return np.where(np.isnan(column.values), -1, codes).astype(np.int64)

    def _wrong(self, problem: str, error: Exception) -> InputError:
        said = " ".join(str(error).split())
        return InputError(problem, field=self.where, found=self.text, expected=said or type(error).__name__)


def _lacking(columns: Mapping[str, Column]) -> np.ndarray:
    found: np.ndarray = np.zeros(len(next(iter(columns.values())).values), bool)
    for column in columns.values():
        found |= np.isnan(column.values) if column.levels is None else column.values < 0
    return found


def _product(columns: Mapping[str, Column], factors: Sequence[str], rows: int) -> FloatArray:
    """A product of columns; a single one is not copied, nor is the constant written out."""
    if factors[0] == "1":
        return np.broadcast_to(1.0, rows)
    product: Any = columns[factors[0]].values
    for name in factors[1:]:
        product = product * columns[name].values
    return np.asarray(product, np.float64)


def _frame(columns: Mapping[str, Column], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    def series(column: Column) -> Any:
        if column.levels is None:
            return column.values
        codes: Any = np.asarray(column.values)
        return pd.Categorical.from_codes(codes, pd.Index(column.levels))

    return pd.DataFrame({name: series(columns[name]) for name in names}, copy=False)


def _numbers(outcome: pd.DataFrame, regressors: pd.DataFrame) -> Sides:
    columns = np.ascontiguousarray(regressors.to_numpy(np.float64).T)
    return tuple(map(str, regressors.columns)), columns, [*outcome.to_numpy(np.float64, copy=True).T]


def _design(sides: Sides, roles: dict[str, FloatArray | IntArray]) -> Design:
    """Of one outcome, or of two that count successes and failures."""
    names, regressors, outcomes = sides
    if len(outcomes) == 1:
        return Design(names, regressors, outcomes[0], roles)
    successes, failures = outcomes
    with np.errstate(all="ignore"):
        share = successes / (successes + failures)  # NaN without trials, of which nothing can be said
    share[np.isinf(outcomes).any(axis=0)] = np.inf
    return Design(names, regressors, share, {**roles, "successes": successes, "failures": failures})
