"""Ridge regression on class labels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from shortloop.base.types import FloatArray, IntArray
    from shortloop.eeg.decoding.models import Fitted


class RidgeSettings(EstimatorSettings):
    """Ridge regression on class labels, as scikit-learn's RidgeClassifier has it."""

    batched = "closed_form"
    weighs_classes = True
    kind: Literal["ridge"] = Field("ridge", description="ridge regression on class labels")
    alpha: float = Field(1.0, gt=0, description="penalty of squared weights; default 1")

    def described(self, n_classes: int) -> str:
        return f"ridge regression on class labels with penalty α = {self.alpha:g} (Hoerl & Kennard, 1970)"

    def fit(self, x: FloatArray, labels: IntArray, *, balanced: bool = False) -> Fitted:
        from shortloop.eeg.decoding.models import Fitted
        from shortloop.eeg.decoding.solvers.ridge import balanced_ridge_weights, ridge_weights

        n_classes = int(labels.max()) + 1
        if balanced:
            return Fitted(*balanced_ridge_weights(x, labels, n_classes, self.alpha))
        weights, intercepts = ridge_weights(x, labels[None], n_classes, self.alpha)
        return Fitted(weights[0], intercepts[0])

    def solver(self, n_classes: int) -> tuple[Callable[..., Any], int]:
        """Solver of many labellings, and its number of machines."""
        from shortloop.eeg.decoding.solvers.ridge import solve

        return partial(solve, alpha=self.alpha), 1 if n_classes == 2 else n_classes
