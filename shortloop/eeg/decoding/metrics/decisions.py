"""Decisions of classifiers for each class, the larger the likelier: what an area under the ROC curve ranks.

Of classifiers that are trained one against the rest it is the decision of the class's own; of those that
have probabilities of all classes together it is these, or their log odds, which order trials alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shortloop.eeg.decoding.estimators import Fitted, make_sklearn
from shortloop.eeg.decoding.metrics.auc import log_odds
from shortloop.eeg.decoding.settings import EstimatorSettings, LdaSettings, SklearnSettings
from shortloop.errors import InputError
from shortloop.types import FloatArray

__all__ = ["check_decisions", "decide", "gives_odds"]


def gives_odds(settings: EstimatorSettings) -> bool:
    """Whether weights times features are logarithms of the classes' probabilities, up to a constant.

    Parameters
    ----------
    settings : LinearSvmSettings, MatlabSvmSettings, LdaSettings, RidgeSettings or SklearnSettings
        The estimator.

    Returns
    -------
    bool
        True of LDA and of multinomial logistic regression.
    """
    if not isinstance(settings, SklearnSettings):
        return isinstance(settings, LdaSettings)
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression

    made = make_sklearn(settings)
    if isinstance(made, LogisticRegression):  # or its subclass that chooses C
        one_versus_rest = made.solver == "liblinear" or getattr(made, "multi_class", None) == "ovr"
        return not one_versus_rest
    return isinstance(made, LinearDiscriminantAnalysis)


def check_decisions(settings: EstimatorSettings, n_classes: int) -> None:
    """Raise InputError unless an estimator has a decision for each class.

    Parameters
    ----------
    settings : LinearSvmSettings, MatlabSvmSettings, LdaSettings, RidgeSettings or SklearnSettings
        The estimator.
    n_classes : int
        Number of classes.

    Raises
    ------
    InputError
        If it has none: it can be scored by its predictions only.
    """
    if not isinstance(settings, SklearnSettings):
        return
    made = make_sklearn(settings)
    if not (hasattr(made, "decision_function") or hasattr(made, "predict_proba")):
        raise InputError(
            "the area under the ROC curve needs an estimator with decision_function or predict_proba",
            field="decoding.score",
            found=settings.path,
            hint='say score = "balanced-accuracy", or choose another estimator',
        )
    if n_classes > 2 and made.get_params().get("decision_function_shape") == "ovo":
        raise InputError(
            "the area under the ROC curve needs a decision for each class, not for each pair of classes",
            field="estimator.params.decision_function_shape",
            found="ovo",
            expected="ovr",
            hint="remove it",
        )


def decide(fitted: Fitted, x: FloatArray, odds: bool) -> FloatArray:
    """Decision of one classifier for each class.

    Parameters
    ----------
    fitted : Fitted
        The classifier.
    x : array of float, shape (trials, features)
        Scaled features.
    odds : bool
        What `gives_odds` says of its estimator.

    Returns
    -------
    array of float, shape (trials, classes)

    Raises
    ------
    InputError
        If a decision is no number.

    Notes
    -----
    Of estimators without weights it is what scikit-learn's scorers ``roc_auc`` and ``roc_auc_ovr`` rank:
    of two classes ``decision_function`` where there is one, of more ``predict_proba``.
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
