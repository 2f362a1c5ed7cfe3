"""Any other model of statsmodels, by its name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.panel.models.model import ModelSettings

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray

Plain = None | bool | int | float | str


class OfStatsmodels(ModelSettings):
    """Any model of statsmodels that is made from an outcome and regressors."""

    model: Literal["statsmodels"] = Field(description="any model of statsmodels, by its name")
    path: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="import path, e.g. 'statsmodels.discrete.discrete_model.Probit'; no default",
    )
    arguments: dict[str, Plain] = Field(
        default_factory=dict, description="further arguments of the model; default: none"
    )
    fit: dict[str, Plain] = Field(
        default_factory=dict, description="arguments of its method `fit`; default: none"
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
        return self.kind()(outcome, rows, **self.arguments).fit(**self.fit)
