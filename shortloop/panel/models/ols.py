"""Ordinary least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.least_squares import LeastSquares

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray


class Ols(LeastSquares):
    """Ordinary least squares."""

    model: Literal["ols"] = Field(description="ordinary least squares")

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.regression.linear_model import OLS

        return OLS(outcome, rows).fit(**self.how(roles))
