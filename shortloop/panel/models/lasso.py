"""Lasso."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from shortloop.panel.models.penalized import EXACT, Penalized


class Lasso(Penalized):
    """Lasso: half the mean squared residual plus alpha times absolute coefficients."""

    model: Literal["lasso"] = Field(description="least squares with a penalty on absolute coefficients")

    def penalized(self, alpha: float) -> Any:
        from sklearn.linear_model import Lasso as OfSklearn

        return OfSklearn(alpha, fit_intercept=self._has_constant, **EXACT)
