"""Evaluation of formulas by formulaic, where Python in them reads each column in its own type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from formulaic.materializers import PandasMaterializer
from formulaic.transforms import TRANSFORMS
from formulaic.utils.layered_mapping import LayeredMapping
from interface_meta import override

from shortloop.base.errors import InputError
from shortloop.base.types import IntArray
from shortloop.panel.column import Column
from shortloop.panel.design import Categories
from shortloop.panel.expressions import coded_column, compares_texts, keeps_digits

CONTEXT = {"pd": pd}
"""Names in formulas beside columns, Python's builtins, and those of formulaic, `np` among them."""


class Materializer(PandasMaterializer):  # type: ignore[misc,no-any-unimported]
    """One evaluation of a formula.

    Lookups read numbers or categories; only Python can tell an integer from a float, or compare texts.
    """

    def __init__(self, columns: Mapping[str, Column], expressions: Mapping[str, str], where: str) -> None:
        self._columns = columns
        self._expressions = expressions
        self._where = where
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
                    raise InputError(
                        "rows have none of the levels that the formula names",
                        field=self._where,
                        found=f"{', '.join(map(str, other.unique()[:3]))}, in {len(other)} rows",
                        expected=f"in {factor} one of {', '.join(map(str, state['categories']))}",
                        hint="name all levels, or leave these rows out",
                    )
                found.append((codes, len(state["categories"])))
        return tuple(found)

    @override
    def _evaluate(self, expr: str, metadata: Any, spec: Any) -> tuple[Any, Any]:
        whole: Any = self.layered_context  # type: ignore[has-type]
        typed = {name: self._read(name, expr) for name in self._columns if name in expr or "Q(" in expr}
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

    def _read(self, name: str, expr: str) -> pd.Series:
        """Convert a column for an expression: to floats, if integers would lose digits."""
        column, expression = self._columns[name], self._expressions.get(expr, expr)
        if column.levels is not None:
            is_coded = coded_column(expression) == name or compares_texts(expression)
            values = column.coded() if is_coded else column.typed()
        elif column.is_large or keeps_digits(expression, self._columns):
            values = column.typed()
        else:
            values = column.typed() if column.dtype == "bool" else column.values
        return pd.Series(values, self.data.index, copy=False)


def _codes(values: Any, categories: Sequence[Any]) -> IntArray:
    """Return the code of each value; -1: none."""
    known = pd.Index(categories)
    if not isinstance(values.dtype, pd.CategoricalDtype):
        return np.asarray(known.get_indexer(pd.Index(values)), np.int64)
    place = np.append(known.get_indexer(values.cat.categories), -1)  # the last is that of what is missing
    return np.asarray(place[values.cat.codes], np.int64)


def _without_extension(value: Any) -> Any:
    """Convert extension types of pandas to floats."""
    is_series = isinstance(value, pd.Series) and not isinstance(value.dtype, np.dtype)
    if not is_series or not pd.api.types.is_numeric_dtype(value.dtype):
        return value
    if hasattr(value, "__formulaic_metadata__"):  # which says how it is coded
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
