"""Base class of estimators.

Each is a module with one record, which every study imports: it must import heavy libraries inside its
functions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from shortloop.base.errors import InputError
from shortloop.settings.base import Tagged

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.eeg.decoding.models import BinModels, Fitted
    from shortloop.eeg.decoding.settings import DecodingSettings


class EstimatorSettings(Tagged):
    """A classifier; the defaults here are those of most."""

    tag = "kind"
    group = "shortloop.estimators"
    batched: ClassVar[str] = ""
    """Module of `shortloop.eeg.decoding.batched` that trains it on many labellings at once; empty: none."""
    papers: ClassVar[Mapping[str, str]] = {}
    """References that only `described` cites, in full, by their citation: ``"Ho, 1995"``."""
    weighs_classes: ClassVar[bool] = False  # True if `fit` can be asked for a balanced fit

    @property
    def libraries(self) -> Mapping[str, str]:
        """Libraries that train it, for methods sections: names by import names."""
        top = type(self).__module__.partition(".")[0]
        return {} if top == "shortloop" else {top: top}

    @property
    def is_linear(self) -> bool:
        """True if its decisions are weights times features, so that a fit can be stored."""
        return True

    @property
    def gives_odds(self) -> bool:
        """True if weights times features are logarithms of the classes' probabilities, up to a constant."""
        return False

    @property
    def nested_folds(self) -> int | None:
        """Number of inner folds that choose a parameter; None: there are none."""
        return None

    def modules(self, *, batched: bool = False) -> list[str]:
        """Modules imported by name in training, which must be in a job's key."""
        more = [f"shortloop.eeg.decoding.batched.{self.batched}"] if batched and self.batched else []
        return [*super().modules(), *more]

    def check_decisions(self, n_classes: int) -> None:
        """Raise InputError unless it has a decision for each class, which the AUC needs."""

    def warm_up(self) -> None:
        """Import and compile the training, before processes are forked."""
        import numpy as np

        labels = np.tile([0, 1, 2], 8)
        self.fit(np.random.default_rng(0).standard_normal((len(labels), 4)), labels)

    @abstractmethod
    def described(self, n_classes: int) -> str:
        """Words for methods sections, to follow "The classifier was"."""

    @abstractmethod
    def fit(self, x: FloatArray, labels: IntArray, *, balanced: bool = False) -> Fitted:
        """Fit one classifier to selected, scaled features (trials, features); every class is present."""
        # Of a balanced fit, trials weigh more the smaller their class; asked for only if `weighs_classes`.

    def train_folds(
        self, x: FloatArray, labels: IntArray, folds: IntArray, n_classes: int, decoding: DecodingSettings
    ) -> BinModels | None:
        """Train all folds of one bin together, if that is faster than one by one; None: it is not."""
        return None


def no_class_weights(found: str) -> InputError:
    """InputError for an estimator without class weights."""
    problem = "the estimator has no class weights"
    hint = "subsample the larger classes instead (decoding.subsample = true), or choose another estimator"
    return InputError(problem, field="decoding.class_weight", found=found, hint=hint)


def one_versus_rest(n_classes: int) -> str:
    """Words for several binary classifiers; empty for two classes."""
    return "one-versus-rest " if n_classes > 2 else ""
