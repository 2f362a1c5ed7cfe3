"""What a formula asks for: outcome and regressors, as columns of numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.errors import InputError
from shortloop.panel.batch import Columns
from shortloop.panel.data import LEVELS, Column
from shortloop.panel.design import Categories, Design, Evaluated
from shortloop.panel.elementwise import is_elementwise
from shortloop.panel.infinite import product_of, tell_infinite
from shortloop.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CategoriesError", "Equation"]

INTERCEPT = "Intercept"
MARKED = re.compile("[⧛⧚]|\x1b\\[[0-9;]*m")
"""How formulaic shows where in a formula something is wrong, for terminals."""
QUOTED = re.compile("`([^`]*)`")
Sides = tuple[tuple[str, ...], tuple[int, ...], Columns, Sequence[FloatArray]]
"""Names and terms of regressors, these, and outcomes."""


class CategoriesError(InputError):
    """A formula cannot be computed with the categories that rows have, e.g. as the reference is not there."""


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
        from formulaic.transforms import TRANSFORMS

        found = set()
        for factor in self._factors():
            quoted = QUOTED.findall(str(factor.expr))
            roots = {name.partition(".")[0] for name in quoted}  # which is all that formulaic says of those
            found |= {name for name in (str(factor.expr), *quoted) if name in columns}
            if str(factor.expr) not in columns:
                asked = {str(each.root) for each in factor.required_variables} - {*TRANSFORMS}
                found |= {name for name in asked if name in columns or name not in roots}
        for expression in self._expressions():  # formulaic does not know all that calls are given
            named = ast.walk(ast.parse(expression, mode="eval"))
            found |= {each.id for each in named if isinstance(each, ast.Name) and each.id in columns}
        return sorted(found)

    def _expressions(self) -> list[str]:
        """Factors that are Python, and not names; Q("a name") for what is in backticks."""
        python = (str(each.expr) for each in self._factors() if each.eval_method.value == "python")
        return [QUOTED.sub(lambda name: f"Q({name[1]!r})", each) for each in python]

    def _factors(self) -> Iterator[Any]:
        return (factor for terms in self._sides() for term in terms for factor in term.factors)

    def _sides(self) -> tuple[Any, Any]:
        return self._formula.lhs, self._formula.rhs

    def evaluate(self, columns: Mapping[str, Column], roles: Mapping[str, str]) -> Evaluated:
        """Outcome and regressors of all rows.

        Parameters
        ----------
        columns : mapping of str to Column
            By name.
        roles : mapping of str to str
            Further columns that the model needs, by what for.

        Returns
        -------
        Evaluated

        Raises
        ------
        CategoriesError
            If there are not the categories that it speaks of.
        InputError
            If there is no such column, or it cannot be computed with.
        """
        columns, names = self.needed(columns, roles.values()), self.variables(columns)
        extra = {role: self._role(role, name, columns[name]) for role, name in roles.items()}
        plain = self._plain(columns)
        if plain is not None:
            return Evaluated(_design(plain, extra, self.where), "row")
        found = self._evaluated(_frame(columns, names), extra)
        for name in names:  # a missing text is in none of the columns, which is no number that is missing
            if columns[name].levels is not None:
                found.design.outcome[np.asarray(columns[name].values) < 0] = np.nan
        return found

    def of_group(self, columns: Mapping[str, Column], roles: Mapping[str, str], rows: slice) -> Design:
        """Outcome and regressors of one group, as if there were no other.

        Parameters
        ----------
        columns, roles
            As of `evaluate`.
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

    def needed(self, columns: Mapping[str, Column], beside: Iterable[str]) -> dict[str, Column]:
        """Columns that it reads, and those that the model needs besides.

        Parameters
        ----------
        columns : mapping of str to Column
            By name.
        beside : iterable of str
            Names of those that the model needs besides.

        Returns
        -------
        dict of str to Column

        Raises
        ------
        InputError
            If there is no such column.
        """
        names = self.variables(columns)
        for name in [*names, *beside]:
            if name not in columns:
                raise InputError(
                    "there is no such column",
                    field=self.where,
                    found=name,
                    expected=f"one of {', '.join(columns)}",
                    hint="columns that make groups are not among them: each is one value in a group",
                )
        for name in names:
            if columns[name].refused:
                raise InputError(
                    "that column cannot be in a formula",
                    field=self.where,
                    found=f"{name}: {columns[name].refused}",
                    expected=f"numbers, truth values, or at most {LEVELS} different texts",
                )
        return {name: columns[name] for name in [*names, *beside]}

    def lacking(self, columns: Mapping[str, Column], roles: Mapping[str, str]) -> np.ndarray:
        """Which rows lack a value of a column that it reads.

        Parameters
        ----------
        columns, roles
            As of `evaluate`.

        Returns
        -------
        array of bool, shape (rows,)
        """
        return _lacking(self.needed(columns, roles.values()))

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
        extra = {role: self._role(role, name, columns[name]) for role, name in roles.items()}
        return self._evaluated(frame, extra).design

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
        regressors = [product_of(columns, factors, rows) for factors in found[1]]
        outcomes = [product_of(columns, factors, rows) for factors in found[0]]
        return names, tuple(range(len(names))), regressors, outcomes

    def _evaluated(self, frame: pd.DataFrame, roles: dict[str, FloatArray | IntArray]) -> Evaluated:
        from formulaic.errors import FormulaicError
        from formulaic.materializers import FormulaMaterializer

        computing: Any = FormulaMaterializer.for_data(frame)(frame)
        try:
            with np.errstate(all="ignore"):
                made = computing.get_model_matrix(self._formula, na_action="ignore")
        except ValueError as error:  # of coding categories; what a formula itself raises comes as the other
            raise self._wrong("the formula cannot be computed", error, CategoriesError) from None
        except (FormulaicError, ArithmeticError, TypeError, NameError) as error:
            raise self._wrong("the formula cannot be computed", error) from None
        if made.lhs.shape[1] != 1 + self.is_counted:
            raise InputError(
                "the outcome is not one column of numbers",
                field=self.where,
                found=", ".join(made.lhs.columns),
                hint="outcomes that are texts must be made numbers first, e.g. 0 and 1; outcomes that are "
                "counted are two columns, 'successes + failures ~ …'",
            )
        sides = _numbers(made)
        cached = [each.values for each in computing.factor_cache.values()]
        tell_infinite([*sides[2], *sides[3]], [getattr(each, "__wrapped__", each) for each in cached])
        design = _design(sides, roles, self.where)
        categories = _categories(computing, made) if self._is_elementwise(frame.columns) else None
        if categories is None:
            return Evaluated(design, "rows")
        return Evaluated(design, "categories" if categories else "row", categories)

    def _is_elementwise(self, columns: Container[str]) -> bool:
        return all(is_elementwise(each, columns) for each in self._expressions())

    def _role(self, role: str, name: str, column: Column) -> FloatArray | IntArray:
        if role != "clusters":
            if column.values.dtype.kind == "i":
                raise InputError("that column holds no numbers", field=role, found=name, expected="numbers")
            return np.array(column.values, np.float64)  # that of a file may not be written to
        if column.values.dtype.kind == "i":
            return np.asarray(column.values, np.int64)
        _, codes = np.unique(column.values, return_inverse=True)
        return np.where(np.isnan(column.values), -1, codes).astype(np.int64)

    def _wrong(self, problem: str, error: Exception, kind: type[InputError] = InputError) -> InputError:
        said = " ".join(MARKED.sub("", str(error)).split())
        return kind(problem, field=self.where, found=self.text, expected=said or type(error).__name__)


def _lacking(columns: Mapping[str, Column]) -> np.ndarray:
    found: np.ndarray = np.zeros(len(next(iter(columns.values())).values), bool)
    for column in columns.values():
        found |= column.values < 0 if column.values.dtype.kind == "i" else np.isnan(column.values)
    return found


def _frame(columns: Mapping[str, Column], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    def series(column: Column) -> Any:
        if column.levels is None:
            return column.values
        codes: Any = np.asarray(column.values)
        return pd.Categorical.from_codes(codes, pd.Index(column.levels))

    return pd.DataFrame({name: series(columns[name]) for name in names}, copy=False)


def _categories(computing: Any, made: Any) -> tuple[Categories, ...] | None:
    """Which category each row has, of each factor that is coded by some; None if that is not known."""
    import pandas as pd

    found: list[Categories] = []
    for spec in (made.lhs.model_spec, made.rhs.model_spec):
        for factor, (kind, state) in spec.encoder_state.items():
            if kind.value == "categorical":
                if "categories" not in state:
                    return None
                values: Any = computing.factor_cache[factor].values
                values = pd.Categorical(pd.Series(values.__wrapped__), categories=state["categories"])
                found.append((values.codes.astype(np.int64), len(values.categories)))
    return tuple(found)


def _numbers(made: Any) -> Sides:
    columns = np.ascontiguousarray(made.rhs.to_numpy(np.float64).T)
    terms = [place for place, term in enumerate(made.rhs.model_spec.structure) for _ in term.columns]
    outcomes = [*made.lhs.to_numpy(np.float64, copy=True).T]
    return tuple(map(str, made.rhs.columns)), tuple(terms), columns, outcomes


def _design(sides: Sides, roles: dict[str, FloatArray | IntArray], where: str) -> Design:
    """Of one outcome, or of two that count successes and failures."""
    names, terms, regressors, outcomes = sides
    if len({*names}) < len(names):  # e.g. of a column that is called Intercept
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError("several regressors have one name", field=where, found=", ".join(twice))
    if len(outcomes) == 1:
        return Design(names, regressors, outcomes[0], roles, terms)
    successes, failures = outcomes
    with np.errstate(all="ignore"):
        share = successes / (successes + failures)  # NaN without trials, of which nothing can be said
    share[np.isinf(share)] = -1.0  # as 1 and -1: none that the family can have
    share[np.isinf(outcomes).any(axis=0)] = np.inf
    return Design(names, regressors, share, {**roles, "successes": successes, "failures": failures}, terms)
