"""Ordinary least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.base import WithCovariance

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.design import Design
    from shortloop.panel.statistics import Statistics

__all__ = ["Ols"]


class Ols(WithCovariance):
    """Ordinary least squares."""

    model: Literal["ols"] = Field(description="ordinary least squares")

    def warm_up(self) -> None:
        from shortloop.panel.least_squares import warm_up

        warm_up()

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics:
        from shortloop.panel.least_squares import fit_least_squares

        return fit_least_squares(
            design.regressors,
            design.outcome,
            starts,
            covariance=self.covariance,
            clusters=design.clusters(starts),
            level=level,
        )

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.regression.linear_model import OLS

        return OLS(outcome, rows).fit(**self.how(roles))
