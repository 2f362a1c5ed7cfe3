"""Elastic net."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from shortloop.panel.models.penalized import EXACT, Penalized


class Elasticnet(Penalized):
    """Elastic net: half the mean squared residual plus both penalties."""

    model: Literal["elasticnet"] = Field(
        description="least squares with a penalty on absolute and squared coefficients"
    )
    l1_ratio: float = Field(
        0.5, gt=0, le=1, description="part of the penalty on absolute coefficients, above 0; default 0.5"
    )

    def penalized(self, alpha: float) -> Any:
        from sklearn.linear_model import ElasticNet

        how = {"l1_ratio": self.l1_ratio, "fit_intercept": self._has_constant, **EXACT}
        return ElasticNet(alpha, **how)
