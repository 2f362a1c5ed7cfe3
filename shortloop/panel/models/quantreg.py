"""Quantile regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.base import ModelSettings

if TYPE_CHECKING:
    from shortloop.types import FloatArray

__all__ = ["Quantreg"]


class Quantreg(ModelSettings):
    """Quantile regression."""

    model: Literal["quantreg"] = Field(description="quantile regression")
    quantile: float = Field(0.5, gt=0, lt=1, description="which quantile of the outcome; default 0.5")

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.regression.quantile_regression import QuantReg

        return QuantReg(outcome, rows).fit(q=self.quantile)
