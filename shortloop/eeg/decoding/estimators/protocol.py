"""Base class of estimators that wrap a classifier with scikit-learn's interface."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings, no_class_weights
from shortloop.settings.base import tag_of

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.eeg.decoding.models import Fitted


class ClassifierSettings(EstimatorSettings):
    """An estimator that is defined by its unfitted classifier (`make`)."""

    weighs_classes = True

    @abstractmethod
    def make(self) -> Any:
        """Unfitted classifier with scikit-learn's interface."""

    @property
    def libraries(self) -> Mapping[str, str]:
        return {**super().libraries, "sklearn": "scikit-learn"}

    def called(self) -> str:
        """Name of the classifier in messages."""
        return tag_of(type(self))

    @property
    def is_linear(self) -> bool:
        return _is_linear(self.make())

    @property
    def gives_odds(self) -> bool:
        """True of LDA and of multinomial logistic regression."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.linear_model import LogisticRegression

        made = self.make()
        if isinstance(made, LogisticRegression):  # or its subclass that chooses C
            return not (made.solver == "liblinear" or getattr(made, "multi_class", None) == "ovr")
        return isinstance(made, LinearDiscriminantAnalysis)

    def check_decisions(self, n_classes: int) -> None:
        made = self.make()
        if not (hasattr(made, "decision_function") or hasattr(made, "predict_proba")):
            raise InputError(
                "the area under the ROC curve needs an estimator with decision_function or predict_proba",
                field="decoding.score",
                found=self.called(),
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
        _is_linear(self._made())

    def _made(self) -> Any:
        """The classifier, its random state fixed: the same study gives the same bits."""
        # A copy: `make` may give one object each time, and no fold may change that of another.
        made = copy.deepcopy(self.make())
        if "random_state" in (given := made.get_params()) and given["random_state"] is None:
            made.set_params(random_state=0)
        return made

    def fit(self, x: FloatArray, labels: IntArray, *, balanced: bool = False) -> Fitted:
        import numpy as np

        from shortloop.eeg.decoding.models import Fitted

        estimator = self._made()
        if balanced:
            if "class_weight" not in estimator.get_params(deep=False):
                raise no_class_weights(self.called())
            estimator.set_params(class_weight="balanced")
        try:
            estimator.fit(x, labels)
        except (ValueError, NotImplementedError) as error:  # e.g. parameters that exclude each other
            problem = "the estimator cannot be trained"
            found = f"{self.called()} ({error})"
            hint = "correct its parameters, or choose another"
            raise InputError(problem, field="estimator", found=found, hint=hint) from error
        if not _is_linear(estimator):
            return Fitted(None, None, estimator=estimator)
        weights, intercepts = np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)
        intercepts = np.broadcast_to(intercepts, len(weights))
        if len(weights) == 1:  # two classes, one decision
            weights, intercepts = np.vstack([-weights, weights]), np.r_[-intercepts, intercepts]
        return Fitted(weights, intercepts)


def _is_linear(classifier: Any) -> bool:
    from sklearn.linear_model._base import LinearClassifierMixin

    return isinstance(classifier, LinearClassifierMixin)
