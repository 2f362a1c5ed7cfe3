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
        import numpy as np
        from statsmodels.regression.linear_model import WLS

        weights = roles["weights"]
        if not np.isfinite(weights).all() or (weights < 0.0).any():  # of which statsmodels makes NaN
            raise ValueError(f"{self.weights}: a weight is below 0 or not finite")
        return WLS(outcome, rows, weights=weights).fit(**self.how(roles))
