"""Linear discriminant analysis with fixed shrinkage."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from shortloop.base.types import FloatArray, IntArray
    from shortloop.eeg.decoding.models import Fitted


class LdaSettings(EstimatorSettings):
    """Linear discriminant analysis with fixed shrinkage, as scikit-learn's least-squares solver has it."""

    batched = "closed_form"
    kind: Literal["lda"] = Field("lda", description="linear discriminant analysis")
    shrinkage: float = Field(
        0.1,
        gt=0,
        le=1,
        description="share of the covariance within classes that is replaced by its mean variance, alike for "
        "all features; default 0.1; above 0, as the covariance may be singular",
    )

    @property
    def gives_odds(self) -> bool:
        return True

    def described(self, n_classes: int) -> str:
        return (
            f"linear discriminant analysis whose covariance within classes was shrunk by {self.shrinkage:g} "
            "towards its mean variance (Blankertz et al., 2011)"
        )

    def fit(self, x: FloatArray, labels: IntArray, *, balanced: bool = False) -> Fitted:
        from shortloop.eeg.decoding.models import Fitted
        from shortloop.eeg.decoding.solvers.lda import lda_weights

        weights, intercepts = lda_weights(x, labels[None], int(labels.max()) + 1, self.shrinkage)
        return Fitted(weights[0], intercepts[0])

    def solver(self, n_classes: int) -> tuple[Callable[..., Any], int]:
        """Solver of many labellings, and its number of machines."""
        from shortloop.eeg.decoding.solvers.lda import solve

        return partial(solve, shrinkage=self.shrinkage), n_classes - 1
