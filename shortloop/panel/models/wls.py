"""Weighted least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.ols import LeastSquares

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray


class Wls(LeastSquares):
    """Weighted least squares."""

    model: Literal["wls"] = Field(description="weighted least squares")
    weights: str = Field(
        description="column of weights, proportional to one over the variance of each row; no default"
    )

    def roles(self) -> dict[str, str]:
        return {**super().roles(), "weights": self.weights}

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.regression.linear_model import WLS

        return WLS(outcome, rows, weights=roles["weights"]).fit(**self.how(roles))
