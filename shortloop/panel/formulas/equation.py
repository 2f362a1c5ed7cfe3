"""Formulas: outcome and regressors as columns of numbers."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.formulas.column import EXACT, LEVELS, Column, NamedColumns
from shortloop.panel.formulas.design import Design, Evaluated, NotByGroupError, Sides, design_from
from shortloop.panel.formulas.expressions import (
    coded_name,
    is_elementwise,
    keeps_digits,
    keeps_state,
    parsed,
    quoted,
    with_outcome,
)
from shortloop.panel.formulas.roles import check_distinct, role_values
from shortloop.panel.formulas.terms import CONSTANT, Factor, Terms, sides_of_sums, terms_of

MARKED = re.compile("[⧛⧚]|\x1b\\[[0-9;]*m")  # marks of formulaic around errors in formulas, for terminals
BACKTICKS = re.compile("`([^`]*)`")


class CategoriesError(InputError):
    """Rows lack categories that a formula names, e.g. the reference."""


class Equation:
    """A formula with an outcome; `where` is the field of the settings, for messages."""

    def __init__(self, formula: str, outcome: str | None = None, where: str = "formula") -> None:
        self.where = where
        self.text = with_outcome(formula, outcome)
        self.effects: dict[str, str] = {}
        self._sides = sides_of_sums(self.text) or self._parsed_sides(formula, outcome)
        self._factors = [factor for terms in self._sides for term in terms for factor in term]
        python = (each.expr for each in self._factors if each.how == "python")
        self._expressions = {each: _quoted(each) for each in python}
        left = self._sides[0]
        self.is_counted = len(left) == 2 and all(len(term) == 1 and term != CONSTANT for term in left)
        """True if the left side is two columns: successes and failures."""

    def _parsed_sides(self, formula: str, outcome: str | None) -> tuple[Terms, Terms]:
        """Return the terms of both sides, as formulaic has them; InputError if it does not."""
        if outcome is not None and hasattr(self._parsed(formula), "lhs"):
            expected = "nothing left of ~ if `outcomes` are given"
            raise self._error("the outcome is given twice", formula, expected)
        found = self._formula
        if not getattr(found, "lhs", ()):
            hint = "write the outcome left of ~, or name `outcomes`"
            raise self._error("the formula has no outcome", formula, "e.g. 'y ~ x1 + x2'", hint)
        if isinstance(found.rhs, tuple) and len(found.rhs) == 2:
            self.effects = self._absorbed(found.rhs[1])
            found = self._formula = type(found)(lhs=found.lhs, rhs=found.rhs[0])
        if not found.rhs:
            raise self._error("the formula has no regressor", formula, "e.g. 'y ~ 1', the mean alone")
        if isinstance(found.lhs, tuple) or isinstance(found.rhs, tuple):
            hint = (
                "absorbed effects are columns, e.g. y ~ x | firm + year; | of truth values belongs into I(…)"
            )
            expected = "one part on the left of ~, and at most two on the right"
            raise self._error("the formula has several parts", self.text, expected, hint)
        return terms_of(found.lhs), terms_of(found.rhs)

    def _absorbed(self, part: Any) -> dict[str, str]:
        """Return a role for each column in the part of the formula after |."""
        terms = [term for term in terms_of(part) if term != CONSTANT]
        factors = [factor for term in terms for factor in term]
        if not factors or any(factor.how != "lookup" for factor in factors):
            found, expected = self.text, "columns after |, e.g. y ~ x | firm + year"
            raise self._error("absorbed effects are not columns", found, expected)
        if len(factors) > len(terms):
            expected = "columns, e.g. one of firms and years together"
            raise self._error("absorbed effects cannot be interactions", self.text, expected)
        return {f"effect {i}": factor.expr for i, factor in enumerate(factors)}

    @cached_property
    def _formula(self) -> Any:
        """What formulaic evaluates: the formula without absorbed effects."""
        return self._parsed(self.text)

    def _parsed(self, formula: str) -> Any:
        from formulaic import Formula
        from formulaic.errors import FormulaicError

        if "`1`" in formula:
            hint = "write Q('1') for the column"
            raise self._error("formulaic takes `1` for the constant", formula, hint=hint)
        try:
            return Formula(formula)
        except (FormulaicError, SyntaxError, TypeError, ValueError) as error:
            hint = "wrap comparisons and chained method calls in I(…), e.g. I(x > 0)"
            raise self._wrong("invalid formula", error, hint=hint) from None

    def variables(self, columns: Container[str], factors: Sequence[Factor] | None = None) -> list[str]:
        """List the columns that it reads, and names that are no columns but can be nothing else."""
        found: set[str] = set()
        for factor in self._factors if factors is None else factors:
            if factor.how == "lookup" or factor.expr in columns:
                found.add(factor.expr)
            elif factor.how == "python" and (tree := parsed(_quoted(factor.expr))) is not None:
                from formulaic.transforms import TRANSFORMS

                found |= {name for node in ast.walk(tree) if (name := quoted(node)) is not None}
                names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
                own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
                own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
                own |= {*TRANSFORMS, *vars(builtins), "pd"}
                found |= {node.id for node in names if node.id in columns or node.id not in own}
        return sorted(found)

    def evaluate(
        self,
        columns: NamedColumns,
        roles: Mapping[str, str],
        starts: IntArray,
        drop: np.ndarray | None = None,
    ) -> Evaluated:
        """Compute outcome and regressors of all rows; `roles` maps purposes to further columns."""
        # `starts`, (groups + 1,), are first rows of groups, each of which an expression sees alone. Rows of
        # `drop`, bool, (rows,), are left out, but may decide e.g. a mean. The outcome of rows that lack a
        # category is NaN. Raises CategoriesError if categories that it names are missing, InputError for
        # columns that do not exist or cannot be computed with.
        roles = {**roles, **self.effects}
        columns, names = self.needed(columns, roles.values()), self.variables(columns)
        extra = {role: role_values(role, name, columns[name]) for role, name in roles.items()}
        if drop is not None and drop.any():
            extra = {role: each[~drop] for role, each in extra.items()}
        elif (plain := self._plain(columns)) is not None:
            return Evaluated(self._design(plain, extra))
        read = {name: columns[name] for name in names}
        groups = [slice(*map(int, each)) for each in pairwise(starts)]
        try:
            return self._evaluated(read, extra, drop, groups)
        except NotByGroupError:
            assert drop is None  # groups that were alike together are alike in parts
            return self._evaluated(read, extra)

    def of_group(self, columns: NamedColumns, roles: Mapping[str, str], rows: slice) -> Evaluated:
        """Compute outcome and regressors of one group alone, without rows in which a factor is missing."""
        # As in formulaic, all rows decide e.g. a mean; only if none were left so, those that lack no value.
        names, roles = self.variables(columns), {**roles, **self.effects}
        some = {name: columns[name].taken(rows) for name in {*names, *roles.values()}}
        whole = ~_missing(some)
        try:
            made = self._of_rows(some, names, roles)
        except CategoriesError:
            if whole.all() or not whole.any():
                raise
            made = None
        if (made is None or not len(made.design.outcome)) and whole.any() and not whole.all():
            kept = np.flatnonzero(whole)
            made = self._of_rows({name: each.taken(kept) for name, each in some.items()}, names, roles)
            made = replace(made, rows=kept[made.rows])
        assert made is not None
        return made

    def _of_rows(self, columns: NamedColumns, names: Sequence[str], roles: Mapping[str, str]) -> Evaluated:
        """Compute a design of complete rows, with only the categories that these have."""
        extra = {role: role_values(role, name, columns[name]) for role, name in roles.items()}
        read = {name: columns[name].trimmed() for name in names}
        found = self._evaluated(read, extra)
        missing = found.design.missing()
        kept = np.flatnonzero(~missing)
        if found.has_categories and len(kept) and missing.any():
            read = {name: column.trimmed(kept) for name, column in read.items()}
            found = self._evaluated(read, {role: each[kept] for role, each in extra.items()}, missing)
            again = np.flatnonzero(~found.design.missing())
            return replace(found, design=found.design.taken(again), rows=kept[again])
        return replace(found, design=found.design.taken(kept), rows=kept)

    def reads(self, side: int, columns: Container[str]) -> list[str]:
        """List the columns that the left (0) or right (1) side reads."""
        return self.variables(columns, [each for term in self._sides[side] for each in term])

    def applied(
        self, side: int, specs: Sequence[Any], columns: NamedColumns
    ) -> tuple[FloatArray, list[list[str]]]:
        """Compute a side of new rows by others' categories and states."""
        # Returns (columns, rows), NaN in rows that lack something, and what each lacks. No `specs`: plain.
        if not specs:
            _, products = self._products(side, columns)
            missing = _missing({name: columns[name] for name in self.reads(side, columns)})
            lacks = np.broadcast_to(missing, products[0].shape)
            found = np.where(lacks, np.nan, products)
            return found, [["missing value"] if each else [] for each in lacks]
        from shortloop.panel.formulas.materializer import Materializer

        spec = specs[side]
        materializer = Materializer(columns, self._expressions, self.where)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = materializer.get_model_matrix(spec, na_action="ignore")
        said: list[list[str]] = [[] for _ in range(materializer.nrows)]
        for factor, values in materializer.unseen(spec).items():
            for row in np.flatnonzero(values != None):  # noqa: E711  elementwise
                said[row].append(f"{values[row]} of {factor} is not among the rows of the fit")
        for row in np.flatnonzero(np.broadcast_to(materializer.missing(), len(said))):
            said[row].append("missing value")
        found = np.array(made.to_numpy(np.float64).T, order="C")
        found[:, [bool(each) for each in said]] = np.nan
        return found, said

    def stateless(self, side: int, columns: Container[str]) -> str | None:
        """Return an expression of a side that may mix new rows."""
        texts = {self._expressions.get(each.expr, "") for term in self._sides[side] for each in term}
        return next((each for each in sorted(texts) if each and not keeps_state(each, columns)), None)

    def needed(self, columns: NamedColumns, beside: Iterable[str]) -> dict[str, Column]:
        """Return the columns that it reads, and those `beside`; InputError if one does not exist."""
        names, beside = self.variables(columns), [*beside, *self.effects.values()]
        self.check_columns([*names, *beside], columns)
        for name in names:
            if columns[name].refused:
                found = f"{name}: {columns[name].refused}"
                expected = f"numbers, truth values, or at most {LEVELS} different texts"
                raise self._error("unsupported column type in a formula", found, expected)
        self._check_large({name: columns[name] for name in names if columns[name].is_large}, columns)
        for name in filter(None, map(coded_name, self._expressions.values())):
            if name in columns:
                check_distinct(self.where, name, columns[name])
        return {name: columns[name] for name in [*names, *beside]}

    def check_columns(self, names: Iterable[str], columns: Iterable[str]) -> None:
        """Refuse names that are none of the columns."""
        for name in names:
            if name not in columns:
                is_in = name in (*self.variables(()), *self.effects.values())
                where = self.where if is_in else self.where.rpartition("formula")[0].rstrip(".")
                hint = "columns that make groups are not among them: each is one value in a group"
                expected = f"one of {', '.join(columns)}"
                raise InputError(
                    "no such column", field=where or None, found=name, expected=expected, hint=hint
                )

    def _check_large(self, large: NamedColumns, columns: NamedColumns) -> None:
        """Refuse expressions that lose digits of integers which floats cannot hold."""
        for factor in self._factors if large else ():
            expr = factor.expr
            named = [name for name in large if name == expr or name in expr]
            if named and (expr in large or not keeps_digits(_quoted(expr), columns)):
                name, (least, most) = named[0], large[named[0]].bounds()
                found = f"{expr}, of {name} from {least} to {most}"
                expected = f"numbers up to {EXACT}, all of which are floats"
                hint = f"take them as categories, C({name}), or less a number, I({name} - {least})"
                raise self._error("integers would lose digits", found, expected, hint)

    def missing(self, columns: NamedColumns, roles: Mapping[str, str]) -> np.ndarray:
        return _missing(self.needed(columns, roles.values()))

    def _plain(self, columns: NamedColumns) -> Sides | None:
        """Compute both sides if all factors are columns of numbers, or products of them; else None."""
        if not (self.is_plain(0, columns) and self.is_plain(1, columns)):
            return None
        (left, outcomes), (right, regressors) = (self._products(side, columns) for side in (0, 1))
        if len(left) != 1 + self.is_counted or not right:
            return None
        return right, tuple(range(len(right))), regressors, outcomes

    def is_plain(self, side: int, columns: NamedColumns) -> bool:
        """True if all factors of a side are columns of numbers."""
        factors = [factor for term in self._sides[side] for factor in term]
        return all(
            (each,) == CONSTANT or (each.how == "lookup" and columns[each.expr].levels is None)
            for each in factors
        )

    def _products(self, side: int, columns: NamedColumns) -> tuple[tuple[str, ...], list[FloatArray]]:
        """Name and compute the terms of a plain side."""
        terms = [[each.expr for each in term] for term in self._sides[side]]
        names = tuple("Intercept" if each == ["1"] else ":".join(each) for each in terms)
        rows = len(next(iter(columns.values())).values)
        return names, [_product(columns, each, rows) for each in terms]

    def _evaluated(
        self,
        columns: NamedColumns,
        roles: dict[str, FloatArray | IntArray],
        drop: np.ndarray | None = None,
        groups: Sequence[slice] | None = None,
    ) -> Evaluated:
        """Evaluate rows; those to drop are left out, but may decide e.g. a mean."""
        from formulaic.errors import DataMismatchWarning, FormulaicError

        from shortloop.panel.formulas.materializer import Materializer

        materializer = Materializer(columns, self._expressions, self.where, groups)
        dropped = None if drop is None else {*np.flatnonzero(drop).tolist()}
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", DataMismatchWarning)  # of missing values; of others see below
                warnings.simplefilter("ignore", RuntimeWarning)  # e.g. the mean of a group without values
                made = materializer.get_model_matrix(self._formula, na_action="ignore", drop_rows=dropped)
        except ValueError as error:  # of coding categories; what a formula itself raises comes as the other
            raise self._wrong("the formula cannot be computed", error, CategoriesError) from None
        except (FormulaicError, ArithmeticError, TypeError, NameError) as error:
            if isinstance(error.__cause__, NotByGroupError):
                raise error.__cause__ from None
            raise self._wrong("the formula cannot be computed", error) from None
        if made.lhs.shape[1] != 1 + self.is_counted:
            hint = (
                "make numbers of texts, e.g. 0 and 1; of objects in pandas, infer_objects(); outcomes that "
                "are counted are two columns, 'successes + failures ~ …'"
            )
            found = ", ".join(made.lhs.columns[:3]) + " …" * (made.lhs.shape[1] > 3)
            raise self._error("the outcome is not one column of numbers", found, hint=hint)
        rows = np.arange(materializer.nrows) if drop is None else np.flatnonzero(~drop)
        sides = _numbers(made)
        _mark_infinite([*sides[2], *sides[3]], lambda: materializer.missing()[rows])
        design = self._design(sides, roles)
        by_row = all(is_elementwise(each, columns) for each in self._expressions.values())
        is_known = by_row or groups is not None  # on what a row depends
        names_levels = any("levels" in each for each in self._expressions)
        categories = materializer.categories(made, rows) if is_known or names_levels else None
        design.outcome[materializer.missing(categorical=True)[rows]] = np.nan
        coded = [self._expressions.get(each, "") for each in materializer.coded()]
        apart = [each for each in coded if not each or coded_name(each) or is_elementwise(each, columns)]
        known = categories if is_known else None
        failed = None if by_row else tuple(materializer.failed)
        specs = made.lhs.model_spec, made.rhs.model_spec
        return Evaluated(design, known, bool(coded), len(apart) < len(coded), failed, specs=specs)

    def _design(self, sides: Sides, roles: dict[str, FloatArray | IntArray]) -> Design:
        names, terms, regressors, outcomes = sides
        if self.effects and "Intercept" in names:
            place = names.index("Intercept")
            names, terms = names[:place] + names[place + 1 :], terms[:place] + terms[place + 1 :]
            regressors = [column for j, column in enumerate(regressors) if j != place]
            if not names:
                raise self._error("no regressor beside the absorbed effects", self.text, "e.g. y ~ x | firm")
        return design_from((names, terms, regressors, outcomes), roles, self.where)

    def _error(
        self, problem: str, found: str, expected: str | None = None, hint: str | None = None
    ) -> InputError:
        return InputError(problem, field=self.where, found=found, expected=expected, hint=hint)

    def _wrong(
        self, problem: str, error: Exception, kind: type[InputError] = InputError, hint: str | None = None
    ) -> InputError:
        said = " ".join(MARKED.sub("", str(error)).split()) or type(error).__name__
        return kind(problem, field=self.where, found=self.text, expected=said, hint=hint)


def _quoted(expression: str) -> str:
    """Replace backticks in an expression by Q("a name")."""
    return BACKTICKS.sub(lambda name: f"Q({name[1]!r})", expression)


def _missing(columns: NamedColumns) -> np.ndarray:
    return np.asarray(np.logical_or.reduce([column.missing() for column in columns.values()]))


def _numbers(made: Any) -> Sides:
    columns = np.ascontiguousarray(made.rhs.to_numpy(np.float64).T)
    terms = [place for place, term in enumerate(made.rhs.model_spec.structure) for _ in term.columns]
    outcomes = [*made.lhs.to_numpy(np.float64, copy=True).T]
    return tuple(map(str, made.rhs.columns)), tuple(terms), columns, outcomes


def _product(columns: NamedColumns, factors: Sequence[str], rows: int) -> FloatArray:
    """Multiply columns; a single one is not copied, nor is the constant written out."""
    if factors[0] == "1":
        return np.broadcast_to(1.0, rows)
    product: Any = columns[factors[0]].values
    for name in factors[1:]:
        with np.errstate(invalid="ignore"):
            product = product * columns[name].values
    whole: FloatArray = np.asarray(product, np.float64)
    if len(factors) > 1:
        _mark_infinite([whole], lambda: np.logical_or.reduce([columns[name].missing() for name in factors]))
    return whole


def _mark_infinite(columns: Iterable[FloatArray], find_missing: Callable[[], np.ndarray]) -> None:
    """Replace NaN by infinity if every factor is a number: zero times infinity is no missing value."""
    # `columns`, each of shape (rows,), are written to; `find_missing` finds rows that lack a factor.
    known: np.ndarray | None = None
    for column in columns:
        wrong = np.isnan(column)
        if not wrong.any():
            continue
        known = find_missing() if known is None else known
        column[wrong & ~known] = np.inf
