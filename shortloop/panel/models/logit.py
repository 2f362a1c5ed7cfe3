"""Logistic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.model import WithMargins

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.formulas.design import Design
    from shortloop.panel.statistics import Statistics


class Logit(WithMargins):
    """Logistic regression by Newton's method."""

    model: Literal["logit"] = Field(description="logistic regression by Newton's method")

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics:
        import numpy as np
        from scipy import special

        from shortloop.panel.kernels.batch import Batch
        from shortloop.panel.kernels.newton import NUMBERS, fit_groups

        batch = Batch(design, starts, NUMBERS, self.lags_of(np.diff(starts)))
        numbers = batch.run(fit_groups, self.kind())
        ones, nobs = numbers.pop("outcomes"), batch.nobs
        with np.errstate(divide="ignore", invalid="ignore"):
            llnull = special.xlogy(ones, ones / nobs) + special.xlogy(nobs - ones, 1.0 - ones / nobs)
            prsquared = 1.0 - numbers["llf"] / llnull
        scale = np.where(np.isnan(numbers["iterations"]), np.nan, 1.0)  # as statsmodels has it
        return batch.statistics(level, prsquared=prsquared, scale=scale, **numbers)

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.discrete.discrete_model import Logit as OfStatsmodels

        return OfStatsmodels(outcome, rows).fit(disp=0, **self.how(roles))

    def link_of_statsmodels(self) -> Any:
        from statsmodels.genmod.families.links import Logit as Link

        return Link()

    def is_binary(self) -> bool:
        return True

    def has_converged(self, results: Any) -> bool | None:
        """statsmodels looks at the coefficients alone, which are tiny where regressors are large."""
        import numpy as np

        from shortloop.panel.statistics import RISE

        if not results.converged:
            return False
        slope, second = results.model.score(results.params), -results.model.hessian(results.params)
        lengths = np.sqrt(np.diag(second))
        slope, second = slope / lengths, second / np.outer(lengths, lengths)
        return bool(slope @ np.linalg.pinv(second) @ slope < RISE)
