"""Any other model of statsmodels, by its name."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PlainValidator

from shortloop.base.errors import InputError
from shortloop.panel.models.model import ModelSettings
from shortloop.settings.base import Settings

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray


class OfColumns(Settings):
    """An argument that is a column of the panel, or several beside each other."""

    column: str | tuple[str | Literal[1], ...] = Field(
        description="a column, e.g. 'days', or several, e.g. [1, 'age'], where 1 is the constant; no default"
    )

    def names(self) -> dict[str, str]:
        """Map places, each an ending of a role, to columns."""
        if isinstance(self.column, str):
            return {"": self.column}
        return {f" {i}": name for i, name in enumerate(self.column) if isinstance(name, str)}


def _argument(value: object) -> object:
    """Check an argument; tables with a column become `OfColumns`."""
    if value is None or isinstance(value, OfColumns | bool | int | float | str):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("a finite number")
        return value
    if isinstance(value, Mapping) and "column" not in value:
        return {str(name): _argument(each) for name, each in value.items()}
    if not isinstance(value, Mapping):
        raise ValueError("a number, text or truth value, a table of these, or {column = 'a column'}")
    column = value["column"]
    names = [column] if isinstance(column, str) else column
    if len(value) > 1 or not isinstance(names, list | tuple) or not names:
        raise ValueError("{column = 'a column'} or {column = ['one', 'another']}, with nothing beside")
    if not all(isinstance(each, str) or each == 1 for each in names):
        raise ValueError("names of columns, or 1 for the constant, e.g. {column = [1, 'age']}")
    return OfColumns(column=column if isinstance(column, str) else tuple(column))


Argument = Annotated[Any, PlainValidator(_argument)]
TABLES = ("arguments", "fit")


class OfStatsmodels(ModelSettings):
    """Any model of statsmodels that is made from an outcome and regressors."""

    model: Literal["statsmodels"] = Field(description="any model of statsmodels, by its name")
    path: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="import path, e.g. 'statsmodels.discrete.discrete_model.Probit'; no default",
    )
    arguments: dict[str, Argument] = Field(
        default_factory=dict,
        description="further arguments of the model; a table {column = 'days'} is that column; default: none",
    )
    fit: dict[str, Argument] = Field(
        default_factory=dict,
        description="arguments of its method `fit`, e.g. {cov_type = 'HAC', cov_kwds = {maxlags = 4}}; "
        "default: none",
    )

    def modules(self) -> list[str]:
        return [*super().modules(), self.path.rpartition(".")[0]]

    def kind(self) -> type:
        module, _, name = self.path.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InputError("no such model", field="path", found=self.path, expected=str(error)) from None
        if not isinstance(found, type) or not hasattr(found, "fit"):
            expected = "a class with `fit`"
            raise InputError("not a model class", field="path", found=self.path, expected=expected)
        return found

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        arguments, fit = (_filled(name, getattr(self, name), roles) for name in TABLES)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "unknown kwargs")  # which statsmodels would leave out
            return self.kind()(outcome, rows, **arguments).fit(**fit)

    def check(self) -> None:
        self.kind()

    def is_binary(self) -> bool:
        from statsmodels.discrete.discrete_model import BinaryModel

        return issubclass(self.kind(), BinaryModel)

    def has_basis(self) -> bool:
        return False  # e.g. of a penalized fit, or with coefficients to start from

    def roles(self) -> dict[str, str]:
        found = dict(pair for name in TABLES for pair in _columns(name, getattr(self, name)))
        return {**super().roles(), **found}


def _columns(place: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield roles and columns of an argument; `place` is where it is."""
    if isinstance(value, OfColumns):
        yield from ((place + ending, name) for ending, name in value.names().items())
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _columns(f"{place}.{name}", each)


def _filled(place: str, value: Any, roles: Mapping[str, Any]) -> Any:
    """Replace columns in an argument by their values."""
    import numpy as np

    if isinstance(value, Mapping):
        return {name: _filled(f"{place}.{name}", each, roles) for name, each in value.items()}
    if not isinstance(value, OfColumns):
        return value
    if isinstance(value.column, str):
        return roles[place]
    ones = np.ones(len(next(iter(roles.values()))))
    return np.column_stack([roles.get(f"{place} {i}", ones) for i in range(len(value.column))])
