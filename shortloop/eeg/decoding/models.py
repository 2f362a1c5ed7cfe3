"""Fitted classifiers, and the results of training one bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.metrics.auc import log_odds

NO_MODEL = -1  # predicted class of a trial whose fold has no model


@dataclass(frozen=True)
class Fitted:
    """One fitted classifier, which predicts the class of largest ``x @ weights.T + intercepts``.

    If its decisions are no such product, `weights` and `intercepts` are None, and `estimator` is set.
    """

    weights: FloatArray | None  # (classes, features)
    intercepts: FloatArray | None  # (classes,)
    C: float = np.nan  # the chosen C; NaN where there is no choice
    estimator: Any = None  # fitted, with scikit-learn's interface

    def predict(self, x: FloatArray) -> IntArray:
        """Class of each of the scaled trials (trials, features)."""
        if self.weights is None or self.intercepts is None:
            return np.asarray(self.estimator.predict(x))
        return np.asarray(np.argmax(x @ self.weights.T + self.intercepts, axis=1))

    def decisions(self, x: FloatArray, odds: bool) -> FloatArray:
        """Decision for each class (trials, classes), the larger the likelier, to be ranked for the AUC."""
        # Classifiers with probabilities of all classes together give their log odds (`odds`), which order
        # trials alike. Of estimators without weights it is what scikit-learn's scorers rank: of two classes
        # ``decision_function`` where there is one, of more ``predict_proba``.
        if self.weights is None or self.intercepts is None:
            return _response(self.estimator, x)
        decisions = x @ self.weights.T + self.intercepts
        return log_odds(decisions.T).T if odds else decisions


def _response(estimator: Any, x: FloatArray) -> FloatArray:
    two = len(estimator.classes_) == 2
    names = ("decision_function", "predict_proba") if two else ("predict_proba", "decision_function")
    name = next(name for name in names if hasattr(estimator, name))
    found = np.asarray(getattr(estimator, name)(x), dtype=np.float64)
    if np.isnan(found).any():
        problem = "the estimator's decisions are not all numbers"
        said = f"NaN from {name} of {type(estimator).__name__}"
        hint = 'correct its parameters, or say score = "balanced-accuracy"'
        raise InputError(problem, field="estimator", found=said, hint=hint)
    if two:
        second = found if found.ndim == 1 else found[:, 1]
        return np.stack([-second, second], axis=1)
    return found


@dataclass(frozen=True)
class BinModels:
    """Result of training one bin.

    Weights are those of the scaled features (scaling "separate") or of the features as they are
    ("training"); 0 where a feature is not kept. Their shape is (folds, 0, 0) for estimators without
    weights. Predictions and decisions are those of the fold that held a trial out.
    """

    predicted: IntArray  # int8, (trials,); `NO_MODEL` where the fold has no model
    kept: np.ndarray  # bool, (folds, features); none where a fold has no model
    C: FloatArray  # (folds,), the chosen C; NaN where none was chosen
    weights: FloatArray  # (folds, classes, features)
    intercepts: FloatArray  # (folds, classes)
    decisions: FloatArray  # (trials, classes), the larger the likelier; NaN without a model, or if not wanted

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
