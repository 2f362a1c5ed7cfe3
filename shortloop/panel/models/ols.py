"""Ordinary least squares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.model import WithCovariance

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.formulas.design import Design
    from shortloop.panel.statistics import Statistics


class LeastSquares(WithCovariance):
    """A linear model; its coefficients have the first nine digits of those of statsmodels."""

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics:
        import numpy as np
        from scipy import special

        from shortloop.panel.kernels.batch import Batch
        from shortloop.panel.kernels.groups import IMPLICIT, NO_CONSTANT
        from shortloop.panel.kernels.least_squares import NUMBERS, fit_groups
        from shortloop.panel.statistics import Reason

        batch = Batch(design, starts, NUMBERS, self.lags_of(np.diff(starts)))
        numbers = batch.run(fit_groups, self.kind())
        size, nobs, constants = len(design.regressors), batch.nobs, batch.found.constants
        ssr, out = numbers["ssr"], batch.found.reasons != Reason.VOUCHED
        has_constant = (constants != NO_CONSTANT).astype(float)
        df_resid, df_model = nobs - size, size - has_constant
        total = np.where(has_constant > 0, numbers["centered_tss"], numbers["uncentered_tss"])
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = ssr / df_resid
            rsquared = 1.0 - ssr / total
            rsquared_adj = 1.0 - (nobs - has_constant) / df_resid * (1.0 - rsquared)
            llf = -0.5 * nobs * (math.log(2 * math.pi) + np.log(ssr / nobs) + 1.0)
            if "weights" in design.roles:
                llf += 0.5 * numbers["log_weights"]
            freedom, below = None, df_resid
            if self.covariance == "nonrobust":
                bse = np.sqrt(batch.variances * scale[:, np.newaxis])
                if self.tests:
                    batch.found.covariance[:] *= scale[:, np.newaxis, np.newaxis]
                fvalue = (total - ssr) / df_model / scale
                freedom = df_resid
            else:
                bse = np.sqrt(batch.variances)
                fvalue = np.where(out | (constants == IMPLICIT), np.nan, numbers["wald"])
                if self.covariance == "cluster":
                    below = numbers["clusters"] - 1.0
            fvalue[df_model == 0] = np.nan
        return batch.statistics(
            level,
            bse,
            freedom,
            rsquared=rsquared,
            rsquared_adj=rsquared_adj,
            fvalue=fvalue,
            f_pvalue=special.fdtrc(df_model, below, fvalue),
            llf=llf,
            scale=scale,
            df_model=df_model,
            df_resid=df_resid,
            condition_number=numbers["condition_number"],
        )


class Ols(LeastSquares):
    """Ordinary least squares."""

    model: Literal["ols"] = Field(description="ordinary least squares")

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.regression.linear_model import OLS

        return OLS(outcome, rows).fit(**self.how(roles))
