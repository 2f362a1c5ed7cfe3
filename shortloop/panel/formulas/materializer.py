"""Evaluation of formulas by formulaic, where Python in them reads each column in its own type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from formulaic.materializers import PandasMaterializer
from formulaic.materializers.types import FactorValues
from formulaic.transforms import TRANSFORMS
from formulaic.utils.layered_mapping import LayeredMapping
from interface_meta import override

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.formulas.column import NamedColumns
from shortloop.panel.formulas.design import Categories, NotByGroupError
from shortloop.panel.formulas.expressions import coded_name, compares_texts, is_elementwise, keeps_digits

CONTEXT = {"pd": pd}  # names in formulas beside columns, builtins, and those of formulaic, `np` among them


class Materializer(PandasMaterializer):  # type: ignore[misc,no-any-unimported]
    """One evaluation of a formula.

    Lookups read numbers or categories; only Python can tell an integer from a float, or compare texts.
    Expressions that look at several rows are evaluated group by group (rows in `groups`).
    """

    def __init__(
        self,
        columns: NamedColumns,
        expressions: Mapping[str, str],
        where: str,
        groups: Sequence[slice] | None = None,
    ) -> None:
        self._columns = columns
        self._expressions = expressions
        self._where = where
        self._groups = groups
        self.failed: dict[int, Exception] = {}  # groups that an expression fails for; its values are NaN
        frame = pd.DataFrame({name: column.coded() for name, column in columns.items()}, copy=False)
        super().__init__(frame, CONTEXT)

    def missing(self, categorical: bool = False) -> np.ndarray:
        """Find rows in which some factor, or one coded by categories, is missing, shape (rows,)."""
        found = np.zeros(self.nrows, bool)
        for factor in self.factor_cache.values():
            if not categorical or factor.metadata.kind.value == "categorical":
                found |= _without_value(factor.values)
        return found

    def coded(self) -> list[str]:
        return [name for name, each in self.factor_cache.items() if each.metadata.kind.value == "categorical"]

    def categories(self, made: Any, rows: IntArray) -> tuple[Categories, ...] | None:
        """Return the codes of each factor coded by categories; None if they are not known."""
        found: list[Categories] = []
        for spec in (made.lhs.model_spec, made.rhs.model_spec):
            for factor, (kind, state) in spec.encoder_state.items():
                if kind.value != "categorical":
                    continue
                if "categories" not in state:
                    return None
                values: Any = self.factor_cache[factor].values
                values = pd.Series(values.__wrapped__).iloc[rows]
                codes = _codes(values, state["categories"])
                if (other := values[(codes < 0) & values.notna().to_numpy()]).size:
                    problem = "rows have none of the levels that the formula names"
                    said = f"{', '.join(map(str, other.unique()[:3]))}, in {len(other)} rows"
                    expected = f"in {factor} one of {', '.join(map(str, state['categories']))}"
                    hint = "name all levels, or leave these rows out"
                    raise InputError(problem, field=self._where, found=said, expected=expected, hint=hint)
                found.append((codes, len(state["categories"])))
        return tuple(found)

    def unseen(self, spec: Any) -> dict[str, np.ndarray]:
        """Find values of no known category, by factor; None elsewhere."""
        found = {}
        for factor, (kind, state) in spec.encoder_state.items():
            if kind.value == "categorical" and "categories" in state:
                raw: Any = self.factor_cache[factor].values
                values = pd.Series(getattr(raw, "__wrapped__", raw))
                is_new = (_codes(values, state["categories"]) < 0) & values.notna().to_numpy()
                if is_new.any():
                    found[str(factor)] = np.where(is_new, values.to_numpy(object), np.array(None))
        return found

    @override
    def _evaluate(self, expr: str, metadata: Any, spec: Any) -> tuple[Any, Any]:
        read = {name: each for name, each in self._columns.items() if name in expr or "Q(" in expr}
        if self._groups is None or is_elementwise(self._expressions.get(expr, expr), self._columns):
            return self._evaluate_rows(expr, metadata, spec, read, self.data.index)
        tables: dict[int, dict[Any, FloatArray]] = {}
        found: tuple[Any, Any] = (None, None)  # values and variables, of the last group
        for group, rows in enumerate(self._groups):
            some = {name: column.taken(rows).trimmed() for name, column in read.items()}
            own = replace(spec, transform_state={})  # knots, means and scales are those of the group
            index = pd.RangeIndex(rows.stop - rows.start)
            try:
                found = self._evaluate_rows(expr, metadata, own, some, index)
            except Exception as error:  # Python in a formula may raise any
                self.failed.setdefault(group, error)
            else:
                tables[group] = _table(found[0], index)
        if not tables:
            raise next(iter(self.failed.values()), NotByGroupError())
        return self._joined(tables, found[0]), found[1]

    def _evaluate_rows(
        self, expr: str, metadata: Any, spec: Any, columns: NamedColumns, index: pd.Index
    ) -> tuple[Any, Any]:
        whole: Any = self.layered_context  # type: ignore[has-type]
        typed = {name: self._read(name, expr, columns, index) for name in columns}
        self.layered_context = LayeredMapping(
            LayeredMapping(typed, name="data"),
            LayeredMapping(CONTEXT, name="context"),
            LayeredMapping(TRANSFORMS, name="transforms"),
        )
        try:
            value, variables = super()._evaluate(expr, metadata, spec)
        finally:
            self.layered_context = whole
        return _without_extension(value), variables

    def _read(self, name: str, expr: str, columns: NamedColumns, index: pd.Index) -> pd.Series:
        """Convert a column for an expression: to floats, if integers would lose digits."""
        column, expression = columns[name], self._expressions.get(expr, expr)
        if column.levels is not None:
            is_coded = coded_name(expression) == name or compares_texts(expression)
            values = column.coded() if is_coded else column.typed()
        elif column.is_large or keeps_digits(expression, columns):
            values = column.typed()
        else:
            values = column.typed() if column.dtype == "bool" else column.values
        return pd.Series(values, index, copy=False)

    def _joined(self, tables: Mapping[int, dict[Any, FloatArray]], value: Any) -> Any:
        """Put columns of groups together, in the form of `value`; NotByGroupError if they are not alike."""
        assert self._groups is not None
        described = getattr(value, "__formulaic_metadata__", None)
        names = [*next(iter(tables.values()))]
        is_coded = described is not None and described.kind.value == "categorical"
        if is_coded or any([*each] != names for each in tables.values()):
            raise NotByGroupError
        whole = {name: np.full(self.nrows, np.nan) for name in names}
        for group, table in tables.items():
            for name, values in table.items():
                whole[name][self._groups[group]] = values
        columns = {name: pd.Series(values, self.data.index, copy=False) for name, values in whole.items()}
        found: Any = columns.get("", columns)
        if found is columns and not isinstance(getattr(value, "__wrapped__", value), dict | pd.DataFrame):
            found = np.column_stack([*whole.values()])
        return found if described is None else FactorValues(found, metadata=described)


def _codes(values: Any, categories: Sequence[Any]) -> IntArray:
    """Return the code of each value; -1: none."""
    known = pd.Index(categories)
    if not isinstance(values.dtype, pd.CategoricalDtype):
        return np.asarray(known.get_indexer(pd.Index(values)), np.int64)
    place = np.append(known.get_indexer(values.cat.categories), -1)  # the last is that of what is missing
    return np.asarray(place[values.cat.codes], np.int64)


def _without_extension(value: Any) -> Any:
    """Convert extension types of pandas to floats."""
    is_extension = isinstance(value, pd.Series) and not isinstance(value.dtype, np.dtype)
    is_coded = hasattr(value, "__formulaic_metadata__")  # which says how
    if not is_extension or is_coded or not pd.api.types.is_numeric_dtype(value.dtype):
        return value
    return pd.Series(value.to_numpy(np.float64, na_value=np.nan), value.index)


def _without_value(factor: Any) -> np.ndarray:
    """Find rows in which a factor is missing, shape (rows,), or one for all."""
    factor = getattr(factor, "__wrapped__", factor)
    if isinstance(factor, dict):
        parts = [_without_value(each) for name, each in factor.items() if not str(name).startswith("__")]
        return np.asarray(np.logical_or.reduce(parts))
    found = np.asarray(pd.isna(factor))
    return np.asarray(found.any(axis=1) if found.ndim == 2 else found)


def _table(value: Any, index: pd.Index) -> dict[Any, FloatArray]:
    """Columns of what an expression returns for a group, each (rows,); "" if it is one column."""
    value = getattr(value, "__wrapped__", value)
    if not isinstance(value, dict | pd.DataFrame):
        value = {"": value} if np.ndim(value) < 2 else dict(enumerate(np.asarray(value).T))
    columns = {name: each for name, each in value.items() if not str(name).startswith("__")}
    for each in columns.values():  # formulaic codes objects as categories, and moves rows to their index
        is_moved = isinstance(each, pd.Series) and not each.index.equals(index)
        is_number = pd.api.types.is_numeric_dtype(each if hasattr(each, "dtype") else np.asarray(each))
        if is_moved or not is_number or np.shape(each) not in ((), (len(index),)):
            raise NotByGroupError
    return {name: np.broadcast_to(np.asarray(each, np.float64), len(index)) for name, each in columns.items()}
