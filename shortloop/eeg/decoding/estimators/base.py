"""What an estimator is: its settings, what can be done with it, and how it is trained.

An estimator is a module beside this one with one record in it. The record is read with every study, so
nothing of size may be imported but within its functions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from shortloop.base.errors import InputError
from shortloop.settings.record_by_kind import Tagged

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.eeg.decoding.models import BinModels, Fitted
    from shortloop.eeg.decoding.settings import DecodingSettings

__all__ = ["EstimatorSettings", "no_class_weights", "one_versus_rest"]


class EstimatorSettings(Tagged):
    """A classifier; what is said here of all is what most of them are."""

    tag = "kind"
    group = "shortloop.estimators"
    batched: ClassVar[str] = ""
    """Module of `shortloop.eeg.decoding.batched` that trains it on many labellings at once; empty: none."""

    papers: ClassVar[Mapping[str, str]] = {}
    """What `described` cites and Shortloop does not, in full, by how it is cited: ``"Ho, 1995"``."""
    weighs_classes: ClassVar[bool] = False
    """Whether it may have class weights, so that it has `fit_balanced`."""

    @property
    def libraries(self) -> Mapping[str, str]:
        """Names of libraries that train it, for methods sections, by the names that they are imported by."""
        top = type(self).__module__.partition(".")[0]
        return {} if top == "shortloop" else {top: top}

    @property
    def is_linear(self) -> bool:
        """Whether its decisions are weights times features, so that a fit can be stored."""
        return True

    @property
    def gives_odds(self) -> bool:
        """Whether weights times features are logarithms of the classes' probabilities, up to a constant."""
        return False

    @property
    def nested_folds(self) -> int | None:
        """Folds within the training trials of a fold, by which it chooses a parameter; None: none."""
        return None

    def modules(self, *, batched: bool = False) -> list[str]:
        """Modules that are imported by name where it is trained: a job's key is to hold them."""
        more = [f"shortloop.eeg.decoding.batched.{self.batched}"] if batched and self.batched else []
        return [*super().modules(), *more]

    def check_decisions(self, n_classes: int) -> None:
        """Raise InputError unless it has a decision for each class: else only predictions can be scored."""

    def fit_balanced(self, x: FloatArray, labels: IntArray) -> Fitted:
        """Fit one classifier to which trials of a class count more the fewer there are."""
        raise no_class_weights(str(getattr(self, self.tag)))

    def warm_up(self) -> None:
        """Import and compile what training needs, so that processes forked later share it."""
        import numpy as np

        labels = np.tile([0, 1, 2], 8)
        self.fit(np.random.default_rng(0).standard_normal((len(labels), 4)), labels)

    @abstractmethod
    def described(self, n_classes: int) -> str:
        """Say what it is, for methods sections: what follows "The classifier was"."""

    @abstractmethod
    def fit(self, x: FloatArray, labels: IntArray) -> Fitted:
        """Fit one classifier.

        x: float64, (trials, features). Selected and scaled features.
        labels: int, (trials,). Class of each trial, 0 … k − 1, every class present.
        """

    def train_folds(
        self,
        x: FloatArray,
        labels: IntArray,
        folds: IntArray,
        *,
        n_classes: int,
        decoding: DecodingSettings,
    ) -> BinModels | None:
        """Train all folds of one bin together, where that is faster than one by one."""
        return None


def no_class_weights(found: str) -> InputError:
    """What to say of an estimator that knows no class weights."""
    return InputError(
        "the estimator has no class weights",
        field="decoding.class_weight",
        found=found,
        hint="cut the larger classes in its place: decoding.subsample = true; or choose another estimator",
    )


def one_versus_rest(n_classes: int) -> str:
    """Say how classifiers of two classes tell more apart."""
    return "one-versus-rest " if n_classes > 2 else ""
