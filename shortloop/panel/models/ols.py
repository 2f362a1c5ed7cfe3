"""Ordinary least squares."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from shortloop.panel.models.model import WithCovariance

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.formulas.design import Design
    from shortloop.panel.statistics import Statistics


class LeastSquares(WithCovariance):
    """A linear model; its coefficients have the first nine digits of those of statsmodels."""

    bootstrap: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="draws of the wild cluster bootstrap, e.g. 9999, for covariance 'cluster' of one "
        "column; default: none",
    )
    bootstrap_seed: int = Field(0, ge=0, lt=2**32, description="seed of its draws; default 0")

    @model_validator(mode="after")
    def _has_clusters_to_draw(self) -> Self:
        if self.bootstrap and (self.clusters is None or "clusters 2" in self.roles()):
            raise ValueError("bootstrap: only with covariance 'cluster', of one column")
        return self

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
        absorbed, factor, of_effects = self._effects(design, starts, size)
        batch.found.reasons[nobs <= size + absorbed] = Reason.TOO_FEW_ROWS
        ssr, out = numbers["ssr"], batch.found.reasons != Reason.VOUCHED
        has_constant = (constants != NO_CONSTANT).astype(float)
        df_resid: FloatArray = nobs - size - absorbed
        df_model = size - has_constant
        total = np.where(has_constant > 0, numbers["centered_tss"], numbers["uncentered_tss"])
        if self.covariance in ("HC1", "cluster") and absorbed.any():
            batch.found.covariance[:] *= factor[:, np.newaxis, np.newaxis]
            numbers["wald"] /= factor
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
            known: dict[str, FloatArray] = {"rsquared": rsquared, "rsquared_adj": rsquared_adj}
            known |= {"df_model": df_model, "llf": llf}
            known |= {name: np.where(out, np.nan, values) for name, values in of_effects(ssr, llf).items()}
        return batch.statistics(
            level,
            bse,
            freedom,
            fvalue=fvalue,
            f_pvalue=special.fdtrc(df_model, below, fvalue),
            scale=scale,
            df_resid=df_resid,
            condition_number=numbers["condition_number"],
            **known,
        )

    def _effects(
        self, design: Design, starts: IntArray, size: int
    ) -> tuple[FloatArray, FloatArray, Callable[..., dict[str, FloatArray]]]:
        """Return degrees of freedom of absorbed effects, a factor, and other statistics.

        The factor is that of covariances with a correction for small samples; statistics are those of a
        regression on dummies of the effects, from the squares of its residuals and its likelihood.
        """
        import numpy as np

        nobs = np.diff(starts).astype(np.float64)
        if "absorbed" not in design.roles:
            return np.zeros(len(nobs)), np.ones(len(nobs)), lambda ssr, llf: {}
        first = np.minimum(starts[:-1], len(design.outcome) - 1)
        absorbed, free, total = (design.roles[name][first] for name in ("absorbed", "not nested", "total"))
        counted = free if self.covariance == "cluster" else absorbed

        def statistics(ssr: FloatArray, llf: FloatArray) -> dict[str, FloatArray]:
            rsquared, parameters = 1.0 - ssr / total, size + absorbed
            adjusted = 1.0 - (nobs - 1.0) / (nobs - parameters) * (1.0 - rsquared)
            found = {"rsquared": rsquared, "rsquared_adj": adjusted, "df_model": parameters - 1.0}
            found |= {"aic": 2.0 * parameters - 2.0 * llf, "bic": np.log(nobs) * parameters - 2.0 * llf}
            return found

        with np.errstate(all="ignore"):
            return absorbed, (nobs - size) / (nobs - size - counted), statistics


class Ols(LeastSquares):
    """Ordinary least squares."""

    model: Literal["ols"] = Field(description="ordinary least squares")

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        import numpy as np
        from statsmodels.regression.linear_model import OLS

        from shortloop.panel.formulas.design import Design

        if "absorbed" not in roles:
            return OLS(outcome, rows).fit(**self.how(roles))
        design, starts = Design((), rows.T, outcome, roles), np.array([0, len(outcome)])
        absorbed, factor, statistics = self._effects(design, starts, rows.shape[1])
        made = OLS(outcome, rows)
        made.df_resid = len(outcome) - rows.shape[1] - absorbed[0]
        results = made.fit(**self.how(roles))._results  # noqa: SLF001
        if self.covariance == "cluster":
            results.cov_params_default = results.cov_params_default * factor[0]
        tested = {"fvalue": results.fvalue, "f_pvalue": results.f_pvalue}  # of the regressors alone
        found = {name: float(values[0]) for name, values in statistics(results.ssr, results.llf).items()}
        results.df_model = found.pop("df_model")
        results._cache.update({**tested, **found})  # noqa: SLF001
        return results

    def takes_effects(self) -> bool:
        return self.covariance not in ("HC2", "HC3") and not self.bootstrap
