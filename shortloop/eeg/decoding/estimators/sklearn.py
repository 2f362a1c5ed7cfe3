"""Any scikit-learn classifier, by import path."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.eeg.decoding.estimators.base import EstimatorSettings, no_class_weights
from shortloop.errors import InputError, TransientError, place_of

if TYPE_CHECKING:
    from shortloop.eeg.decoding.models import Fitted
    from shortloop.types import FloatArray, IntArray

__all__ = ["SklearnSettings", "make_sklearn"]


class SklearnSettings(EstimatorSettings):
    """Any scikit-learn classifier, by import path."""

    weighs_classes = True
    kind: Literal["sklearn"] = Field("sklearn", description="a scikit-learn estimator")
    path: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="import path, e.g. 'sklearn.linear_model.LogisticRegression'; no default",
    )
    params: dict[str, bool | int | float | str | None] = Field(
        default_factory=dict, description="its parameters; default: its own defaults"
    )

    @property
    def is_linear(self) -> bool:
        from sklearn.linear_model._base import LinearClassifierMixin

        return isinstance(make_sklearn(self), LinearClassifierMixin)

    @property
    def gives_odds(self) -> bool:
        """True of LDA and of multinomial logistic regression."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.linear_model import LogisticRegression

        made = make_sklearn(self)
        if isinstance(made, LogisticRegression):  # or its subclass that chooses C
            one_versus_rest = made.solver == "liblinear" or getattr(made, "multi_class", None) == "ovr"
            return not one_versus_rest
        return isinstance(made, LinearDiscriminantAnalysis)

    def modules(self, *, batched: bool = False) -> list[str]:
        return [*super().modules(batched=batched), self.path.rpartition(".")[0]]

    def check_decisions(self, n_classes: int) -> None:
        made = make_sklearn(self)
        if not (hasattr(made, "decision_function") or hasattr(made, "predict_proba")):
            raise InputError(
                "the area under the ROC curve needs an estimator with decision_function or predict_proba",
                field="decoding.score",
                found=self.path,
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

    def warm_up(self) -> None:
        make_sklearn(self)
        from sklearn.linear_model._base import LinearClassifierMixin  # noqa: F401, as `fit` does

    def fit(self, x: FloatArray, labels: IntArray) -> Fitted:
        return self._fitted(make_sklearn(self), x, labels)

    def fit_balanced(self, x: FloatArray, labels: IntArray) -> Fitted:
        made = make_sklearn(self)
        if "class_weight" not in made.get_params(deep=False):
            raise no_class_weights(self.path)
        return self._fitted(made.set_params(class_weight="balanced"), x, labels)

    def _fitted(self, estimator: Any, x: FloatArray, labels: IntArray) -> Fitted:
        import numpy as np
        from sklearn.linear_model._base import LinearClassifierMixin

        from shortloop.eeg.decoding.models import Fitted

        try:
            estimator.fit(x, labels)
        except (ValueError, NotImplementedError) as error:  # e.g. parameters that exclude each other
            raise InputError(
                "the estimator cannot be trained",
                field="estimator",
                found=f"{self.path} ({error})",
                hint="correct its parameters, or choose another",
            ) from error
        if not isinstance(estimator, LinearClassifierMixin):
            return Fitted(None, None, estimator=estimator)
        weights, intercepts = np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)
        intercepts = np.broadcast_to(intercepts, len(weights))
        if len(weights) == 1:  # two classes, one decision
            weights, intercepts = np.vstack([-weights, weights]), np.r_[-intercepts, intercepts]
        return Fitted(weights, intercepts)


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
    return TransientError(
        problem,
        field="estimator.path",
        file=place_of(error),
        found=f"{path} ({type(error).__name__}: {error})",
        hint="mend it and run again",
    )


def _wrong_path(problem: str, found: str) -> InputError:
    return InputError(
        problem,
        field="estimator.path",
        found=found,
        expected="the import path of a scikit-learn classifier",
        hint="for example sklearn.naive_bayes.GaussianNB",
    )
