"""Robust regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.model import ModelSettings

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.formulas.design import Design
    from shortloop.panel.statistics import Statistics

TOLERANCE = 1e-8  # as of statsmodels' ``RLM.fit``


class Rlm(ModelSettings):
    """Robust regression with Huber's weights.

    The scale is the median of absolute residuals, found again in each iteration; covariances are ``H1``.
    """

    model: Literal["rlm"] = Field(description="robust regression with Huber's weights")
    t: float = Field(1.345, gt=0, description="residuals beyond this many scales count less; default 1.345")

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics:
        from shortloop.panel.kernels.batch import Batch
        from shortloop.panel.kernels.huber import NUMBERS, fit_groups

        batch = Batch(design, starts, NUMBERS)
        return batch.statistics(level, **batch.run(fit_groups, self.t))

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.robust.norms import HuberT
        from statsmodels.robust.robust_linear_model import RLM

        return RLM(outcome, rows, M=HuberT(self.t)).fit()

    def has_converged(self, results: Any) -> bool | None:
        """statsmodels stops after 50 iterations without a word."""
        before, now = results.fit_history["deviance"][-2:]
        return None if results.scale == 0.0 else bool(abs(now - before) <= TOLERANCE)
