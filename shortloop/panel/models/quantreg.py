"""Quantile regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.model import ModelSettings

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.formulas.design import Design
    from shortloop.panel.statistics import Statistics

TOLERANCE = 1e-6  # as of statsmodels' ``QuantReg.fit``


class Quantreg(ModelSettings):
    """Quantile regression."""

    model: Literal["quantreg"] = Field(description="quantile regression")
    quantile: float = Field(0.5, gt=0, lt=1, description="which quantile of the outcome; default 0.5")

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics:
        import numpy as np

        from shortloop.panel.kernels.batch import Batch
        from shortloop.panel.kernels.groups import NO_CONSTANT
        from shortloop.panel.kernels.quantile import NUMBERS, fit_groups

        batch = Batch(design, starts, NUMBERS)
        size, nobs = len(design.regressors), batch.nobs
        batch.found.numbers[:, NUMBERS.index("bandwidth")] = _widths(nobs, self.quantile)
        numbers = batch.run(fit_groups, self.quantile)
        del numbers["sparsity"], numbers["bandwidth"]
        return batch.statistics(
            level,
            freedom=nobs - size,
            scale=np.where(np.isnan(numbers["iterations"]), np.nan, 1.0),  # as statsmodels has it
            df_model=size - (batch.found.constants != NO_CONSTANT).astype(float),
            **numbers,
        )

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.regression.quantile_regression import QuantReg

        return QuantReg(outcome, rows).fit(q=self.quantile)

    def has_converged(self, results: Any) -> bool | None:
        """statsmodels warns after 1,000 iterations, but its results do not say it."""
        params = results.history["params"]
        before = params[-2] if len(params) > 1 else 1.0
        return bool((abs(params[-1] - before) <= TOLERANCE).all())


def _widths(nobs: FloatArray, quantile: float) -> FloatArray:
    """Widths of the kernel, in scales of the residuals; NaN where rows are too few for so far a quantile."""
    # Hall and Sheather 1988, On the distribution of a studentized quantile, section 2.
    import numpy as np
    from scipy import special

    z = special.ndtri(quantile)
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = nobs ** (-1.0 / 3.0) * special.ndtri(0.975) ** (2.0 / 3.0)
        half *= (1.5 * density**2 / (2.0 * z * z + 1.0)) ** (1.0 / 3.0)
        return np.asarray(special.ndtri(quantile + half) - special.ndtri(quantile - half))
