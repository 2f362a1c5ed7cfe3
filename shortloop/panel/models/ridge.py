"""Ridge regression."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from shortloop.panel.models.penalized import Penalized


class Ridge(Penalized):
    """Ridge regression: squared residuals plus alpha times squared coefficients."""

    model: Literal["ridge"] = Field(description="least squares with a penalty on squared coefficients")

    def penalized(self, alpha: float) -> Any:
        from sklearn.linear_model import Ridge as OfSklearn

        return OfSklearn(alpha, fit_intercept=self._has_constant)
