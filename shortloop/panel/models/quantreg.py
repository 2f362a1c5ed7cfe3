"""Quantile regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.base import ModelSettings

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.design import Design
    from shortloop.panel.statistics import Statistics

__all__ = ["Quantreg"]

TOLERANCE = 1e-6
"""As of statsmodels' ``QuantReg.fit``."""


class Quantreg(ModelSettings):
    """Quantile regression."""

    model: Literal["quantreg"] = Field(description="quantile regression")
    quantile: float = Field(0.5, gt=0, lt=1, description="which quantile of the outcome; default 0.5")

    def warm_up(self) -> None:
        from shortloop.panel.quantile import warm_up

        warm_up()

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics:
        from shortloop.panel.quantile import fit_quantile

        return fit_quantile(design.regressors, design.outcome, starts, self.quantile, level=level)

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.regression.quantile_regression import QuantReg

        return QuantReg(outcome, rows).fit(q=self.quantile)

    def has_converged(self, results: Any) -> bool | None:
        """statsmodels warns after 1,000 iterations, but its results do not say it."""
        params = results.history["params"]
        before = params[-2] if len(params) > 1 else 1.0
        return bool((abs(params[-1] - before) <= TOLERANCE).all())
