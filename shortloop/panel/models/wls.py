"""Weighted least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.base import WithCovariance

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.design import Design
    from shortloop.panel.statistics import Statistics

__all__ = ["Wls"]


class Wls(WithCovariance):
    """Weighted least squares."""

    model: Literal["wls"] = Field(description="weighted least squares")
    weights: str = Field(
        description="column of weights, proportional to one over the variance of each row; no default"
    )

    def roles(self) -> dict[str, str]:
        return {**super().roles(), "weights": self.weights}

    def warm_up(self) -> None:
        from shortloop.panel.least_squares import warm_up

        warm_up()

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics:
        from shortloop.panel.least_squares import fit_least_squares

        return fit_least_squares(
            design.regressors,
            design.outcome,
            starts,
            weights=design.roles["weights"],
            covariance=self.covariance,
            clusters=design.clusters(starts),
            level=level,
        )

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.regression.linear_model import WLS

        return WLS(outcome, rows, weights=roles["weights"]).fit(**self.how(roles))
