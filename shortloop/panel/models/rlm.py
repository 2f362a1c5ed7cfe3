"""Robust regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.base import ModelSettings

if TYPE_CHECKING:
    from shortloop.types import FloatArray

__all__ = ["Rlm"]


class Rlm(ModelSettings):
    """Robust regression with Huber's weights."""

    model: Literal["rlm"] = Field(description="robust regression with Huber's weights")
    t: float = Field(1.345, gt=0, description="residuals beyond this many scales count less; default 1.345")

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        from statsmodels.robust.norms import HuberT
        from statsmodels.robust.robust_linear_model import RLM

        return RLM(outcome, rows, M=HuberT(self.t)).fit()
