"""Logistic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.base import WithCovariance

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.design import Design
    from shortloop.panel.statistics import Statistics

__all__ = ["Logit"]


class Logit(WithCovariance):
    """Logistic regression by Newton's method."""

    model: Literal["logit"] = Field(description="logistic regression by Newton's method")

    def warm_up(self) -> None:
        from shortloop.panel.logit import warm_up

        warm_up()

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics:
        from shortloop.panel.logit import fit_logit

        return fit_logit(
            design.regressors,
            design.outcome,
            starts,
            covariance=self.covariance,
            clusters=design.clusters(starts),
            level=level,
        )

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.discrete.discrete_model import Logit as OfStatsmodels

        return OfStatsmodels(outcome, rows).fit(disp=0, **self.how(roles))

    def has_converged(self, results: Any) -> bool | None:
        """statsmodels looks at the coefficients alone, which are tiny where regressors are large."""
        import numpy as np

        from shortloop.panel.kernels.reasons import RISE

        if not results.converged:
            return False
        slope, second = results.model.score(results.params), -results.model.hessian(results.params)
        lengths = np.sqrt(np.diag(second))
        slope, second = slope / lengths, second / np.outer(lengths, lengths)
        return bool(slope @ np.linalg.pinv(second) @ slope < RISE)
