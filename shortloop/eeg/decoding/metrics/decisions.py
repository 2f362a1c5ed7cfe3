"""Decisions of classifiers for each class, the larger the likelier: what an area under the ROC curve ranks.

Of classifiers that are trained one against the rest it is the decision of the class's own; of those that
have probabilities of all classes together it is these, or their log odds, which order trials alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray
from shortloop.eeg.decoding.metrics.auc import log_odds
from shortloop.eeg.decoding.models import Fitted

__all__ = ["decide"]


def decide(fitted: Fitted, x: FloatArray, odds: bool) -> FloatArray:
    """Decision of one classifier for each class.

    Of estimators without weights it is what scikit-learn's scorers ``roc_auc`` and ``roc_auc_ovr`` rank:
    of two classes ``decision_function`` where there is one, of more ``predict_proba``.

    x: float, (trials, features). Scaled features.
    returns: float, (trials, classes)
    """
    if fitted.weights is None or fitted.intercepts is None:
        return _response(fitted.estimator, x)
    decisions = x @ fitted.weights.T + fitted.intercepts
    return log_odds(decisions.T).T if odds else decisions


def _response(estimator: Any, x: FloatArray) -> FloatArray:
    two = len(estimator.classes_) == 2
    names = ("decision_function", "predict_proba") if two else ("predict_proba", "decision_function")
    name = next(name for name in names if hasattr(estimator, name))
    found = np.asarray(getattr(estimator, name)(x), dtype=np.float64)
    if np.isnan(found).any():
        raise InputError(
            "the estimator's decisions are not all numbers",
            field="estimator",
            found=f"NaN from {name} of {type(estimator).__name__}",
            hint='correct its parameters, or say score = "balanced-accuracy"',
        )
    if two:
        second = found if found.ndim == 1 else found[:, 1]
        return np.stack([-second, second], axis=1)
    return found
