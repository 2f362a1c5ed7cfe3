"""What training one bin leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray, IntArray

__all__ = ["NO_MODEL", "BinModels", "Fitted"]

NO_MODEL = -1
"""Predicted class of a trial whose fold has no model."""


@dataclass(frozen=True)
class Fitted:
    """One fitted classifier.

    weights: float, (classes, features), or None. The class of largest ``x @ weights.T + intercepts`` is
        predicted; None where the estimator's decisions are no such product.
    intercepts: float, (classes,), or None. See `weights`.
    C: the chosen C; NaN where there is no choice.
    estimator: the fitted scikit-learn estimator where `weights` is None.
    """

    weights: FloatArray | None
    intercepts: FloatArray | None
    C: float = np.nan
    estimator: Any = None

    def predict(self, x: FloatArray) -> IntArray:
        """Class of each trial.

        x: float, (trials, features). Scaled features.
        returns: int, (trials,)
        """
        if self.weights is None or self.intercepts is None:
            return np.asarray(self.estimator.predict(x))
        codes: IntArray = np.argmax(x @ self.weights.T + self.intercepts, axis=1)
        return codes


@dataclass(frozen=True)
class BinModels:
    """What training one bin leaves.

    predicted: int8, (trials,). Class predicted for each trial by the fold that held it out; −1 where that
        fold has no model.
    kept: bool, (folds, features). Selected features; none where a fold has no model.
    C: float, (folds,). The chosen C; NaN where none was chosen.
    weights: float, (folds, classes, features). Weights of the scaled features (scaling "separate") or of the
        features as they are ("training"); 0 where a feature is not kept. Empty, shape (folds, 0, 0), for
        estimators without weights.
    intercepts: float, (folds, classes). Intercepts that go with them.
    decisions: float, (trials, classes). Decision for each class by the fold that held the trial out, the
        larger the likelier; NaN where that fold has no model, or decisions were not asked for.
    """

    predicted: IntArray
    kept: np.ndarray
    C: FloatArray
    weights: FloatArray
    intercepts: FloatArray
    decisions: FloatArray

    @classmethod
    def empty(cls, n_trials: int, n_features: int, n_classes: int, n_folds: int) -> BinModels:
        """Models of no fold, to be filled in."""
        return cls(
            predicted=np.full(n_trials, NO_MODEL, dtype=np.int8),
            kept=np.zeros((n_folds, n_features), dtype=bool),
            C=np.full(n_folds, np.nan),
            weights=np.zeros((n_folds, n_classes, n_features)),
            intercepts=np.zeros((n_folds, n_classes)),
            decisions=np.full((n_trials, n_classes), np.nan),
        )
