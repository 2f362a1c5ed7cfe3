"""The estimators a study can name, all fitted through one door."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortloop.eeg.decoding.settings import (
    EstimatorSettings,
    LdaSettings,
    LinearSvmSettings,
    MatlabSvmSettings,
    RidgeSettings,
    SklearnSettings,
)
from shortloop.eeg.decoding.solvers.lda import lda_weights
from shortloop.eeg.decoding.solvers.ridge import ridge_weights
from shortloop.errors import InputError, estimator_fails
from shortloop.types import FloatArray, IntArray

__all__ = ["Fitted", "fit", "is_linear", "make_sklearn"]


@dataclass(frozen=True)
class Fitted:
    """One fitted classifier.

    Parameters
    ----------
    weights : array of float, shape (classes, features), or None
        The class of largest ``x @ weights.T + intercepts`` is predicted; None where the estimator's
        decisions are no such product.
    intercepts : array of float, shape (classes,), or None
        See `weights`.
    C : float
        The chosen C; NaN where there is no choice.
    estimator : object
        The fitted scikit-learn estimator where `weights` is None.
    """

    weights: FloatArray | None
    intercepts: FloatArray | None
    C: float = np.nan
    estimator: Any = None

    def predict(self, x: FloatArray) -> IntArray:
        """Class of each trial.

        Parameters
        ----------
        x : array of float, shape (trials, features)
            Scaled features.

        Returns
        -------
        array of int, shape (trials,)
        """
        if self.weights is None or self.intercepts is None:
            return np.asarray(self.estimator.predict(x))
        return np.argmax(x @ self.weights.T + self.intercepts, axis=1)


def fit(x: FloatArray, labels: IntArray, settings: EstimatorSettings) -> Fitted:
    """Fit one classifier.

    Parameters
    ----------
    x : array of float64, shape (trials, features)
        Selected and scaled features.
    labels : array of int, shape (trials,)
        Class of each trial, 0 … k − 1, every class present.
    settings : LinearSvmSettings, MatlabSvmSettings, LdaSettings, RidgeSettings or SklearnSettings
        Which classifier.

    Returns
    -------
    Fitted
    """
    if isinstance(settings, LinearSvmSettings):
        return _fit_linear_svm(x, labels, settings)
    if isinstance(settings, MatlabSvmSettings):
        return _fit_matlab_svm(x, labels, settings)
    if isinstance(settings, LdaSettings):
        weights, intercepts = lda_weights(x, labels[np.newaxis], int(labels.max()) + 1, settings.shrinkage)
        return Fitted(weights[0], intercepts[0])
    if isinstance(settings, RidgeSettings):
        weights, intercepts = ridge_weights(x, labels[np.newaxis], int(labels.max()) + 1, settings.alpha)
        return Fitted(weights[0], intercepts[0])
    return _fit_sklearn(x, labels, settings)


def is_linear(settings: EstimatorSettings) -> bool:
    """Whether the estimator's decisions are weights times features, so that a fit can be stored.

    Parameters
    ----------
    settings : LinearSvmSettings, MatlabSvmSettings, LdaSettings, RidgeSettings or SklearnSettings
        The estimator.

    Returns
    -------
    bool
    """
    if not isinstance(settings, SklearnSettings):
        return True
    from sklearn.linear_model._base import LinearClassifierMixin

    return isinstance(make_sklearn(settings), LinearClassifierMixin)


def make_sklearn(settings: SklearnSettings) -> Any:
    """An unfitted scikit-learn estimator, its random state fixed.

    Parameters
    ----------
    settings : SklearnSettings
        Import path and parameters.

    Returns
    -------
    object

    Raises
    ------
    InputError
        If the import path or a parameter is wrong, or the estimator is no classifier.
    TransientError
        If its own code fails.
    """
    made = _make(settings.path)
    known = _parameters(made, settings.path)
    unknown = sorted(set(settings.params) - set(known))
    if unknown:
        raise InputError(
            "the estimator has no such parameter",
            field=f"estimator.params.{unknown[0]}",
            found=unknown[0],
            expected=", ".join(sorted(made.get_params(deep=False))) or "none",
            hint="correct the name, or remove it",
        )
    try:
        made.set_params(**settings.params)
        if hasattr(made, "_parameter_constraints"):  # which a class of one's own need not have
            made._validate_params()
    except ValueError as error:
        raise InputError(
            "the estimator does not take this value",
            field="estimator.params",
            found=str(error),
            hint="correct the value, or remove it for the estimator's default",
        ) from None
    except Exception as error:
        raise _fails("the estimator does not take its parameters", settings.path, error) from error
    if "random_state" in known and made.get_params()["random_state"] is None:
        made.set_params(random_state=0)  # the same study gives the same bits
    return made


def _make(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            raise _wrong_path("the estimator cannot be made", f"{path} ({error})") from None
        raise _fails("the module of the estimator cannot be imported", path, error) from error
    except (Exception, SystemExit) as error:
        raise _fails("the module of the estimator cannot be imported", path, error) from error
    if found is None:
        raise _wrong_path("the estimator cannot be made", f"{path} ({module} has no {name})")
    try:
        return found()
    except TypeError as error:
        raise _wrong_path("the estimator cannot be made", f"{path} ({error})") from None
    except Exception as error:
        raise _fails("the estimator cannot be made", path, error) from error


def _parameters(made: Any, path: str) -> dict[str, Any]:
    """Those of a classifier, its parts' included."""
    from sklearn.base import is_classifier

    try:
        if hasattr(made, "get_params") and is_classifier(made):
            return dict(made.get_params(deep=True))
    except Exception as error:
        raise _fails("the estimator does not say what it is", path, error) from error
    raise _wrong_path("the estimator is no classifier", path)


def _fails(problem: str, path: str, error: BaseException) -> Exception:
    if isinstance(error, OSError | MemoryError):  # of the machine
        return error
    return estimator_fails(problem, path, error)


def _wrong_path(problem: str, found: str) -> InputError:
    return InputError(
        problem,
        field="estimator.path",
        found=found,
        expected="the import path of a scikit-learn classifier",
        hint="for example sklearn.naive_bayes.GaussianNB",
    )


def _fit_linear_svm(x: FloatArray, labels: IntArray, settings: LinearSvmSettings) -> Fitted:
    from shortloop.eeg.decoding.solvers.svm import choose_and_fit

    gram = x @ x.T
    gram += 1.0  # the intercept's feature
    best, dual = choose_and_fit(gram, labels, settings.C, settings.inner_folds, settings.tol)
    return Fitted(dual @ x, dual.sum(axis=1), settings.C[best])


def _fit_matlab_svm(x: FloatArray, labels: IntArray, settings: MatlabSvmSettings) -> Fitted:
    """One-versus-all on one kernel; the largest decision is also fitcecoc's smallest hinge loss, as
    max(0, 1 − s) − max(0, 1 + s) falls with s."""
    from sklearn.svm import SVC

    gram, scale = x @ x.T, settings.kernel_scale
    if scale == "auto":
        square = np.diag(gram)
        distance = np.sqrt(np.maximum(square[:, np.newaxis] + square - 2 * gram, 0))
        # MATLAB's own heuristic is a random subsample and not published; this is its stated aim.
        scale = float(np.median(distance[labels[:, np.newaxis] != labels])) or 1.0
    gram /= scale**2
    weights, intercepts = [], []
    for k in range(int(labels.max()) + 1):
        machine = SVC(C=settings.C, kernel="precomputed", tol=settings.tol).fit(gram, labels == k)
        weights.append(machine.dual_coef_[0] @ x[machine.support_] / scale**2)
        intercepts.append(machine.intercept_[0])
    return Fitted(np.array(weights), np.array(intercepts))


def _fit_sklearn(x: FloatArray, labels: IntArray, settings: SklearnSettings) -> Fitted:
    from sklearn.linear_model._base import LinearClassifierMixin

    estimator = make_sklearn(settings)
    try:
        estimator.fit(x, labels)
    except (ValueError, NotImplementedError) as error:  # e.g. parameters that exclude each other
        raise InputError(
            "the estimator cannot be trained",
            field="estimator",
            found=f"{settings.path} ({error})",
            hint="correct its parameters, or choose another",
        ) from error
    if not isinstance(estimator, LinearClassifierMixin):
        return Fitted(None, None, estimator=estimator)
    weights, intercepts = np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)
    intercepts = np.broadcast_to(intercepts, len(weights))
    if len(weights) == 1:  # two classes, one decision
        weights, intercepts = np.vstack([-weights, weights]), np.r_[-intercepts, intercepts]
    return Fitted(weights, intercepts)
