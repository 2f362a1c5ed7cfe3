"""What an estimator is: its settings, what can be done with it, and how it is trained.

An estimator is a module beside this one with one record in it. The record is read with every study, so
nothing of size may be imported but within its functions.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from shortloop.errors import InputError
from shortloop.settings.tagged import Tagged

if TYPE_CHECKING:
    from shortloop.eeg.decoding.models import BinModels, Fitted
    from shortloop.eeg.decoding.settings import DecodingSettings
    from shortloop.types import FloatArray, IntArray

__all__ = ["EstimatorSettings", "no_class_weights"]


class EstimatorSettings(Tagged):
    """A classifier; what is said here of all is what most of them are."""

    tag = "kind"
    batched: ClassVar[str] = ""
    """Module of `shortloop.eeg.decoding.batched` that trains it on many labellings at once; empty: none."""

    weighs_classes: ClassVar[bool] = False
    """Whether it may have class weights, so that it has `fit_balanced`."""

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
        """Modules that are imported by name where it is trained: a job's key is to hold them.

        Parameters
        ----------
        batched : bool, default False
            Whether it is trained on many labellings at once, too, if it can be.

        Returns
        -------
        list of str
        """
        more = [f"shortloop.eeg.decoding.batched.{self.batched}"] if batched and self.batched else []
        return [*super().modules(), *more]

    def check_decisions(self, n_classes: int) -> None:
        """Raise InputError unless it has a decision for each class: else only predictions can be scored.

        Parameters
        ----------
        n_classes : int
            Number of classes.
        """

    def fit_balanced(self, x: FloatArray, labels: IntArray) -> Fitted:
        """Fit one classifier to which trials of a class count more the fewer there are.

        Parameters
        ----------
        x, labels
            As of `fit`.

        Returns
        -------
        Fitted

        Raises
        ------
        InputError
            If it knows no class weights.
        """
        raise no_class_weights(str(getattr(self, self.tag)))

    def warm_up(self) -> None:
        """Import and compile what training needs, so that processes forked later share it.

        Raises
        ------
        InputError
            If it cannot be made.
        """
        import numpy as np

        labels = np.tile([0, 1, 2], 8)
        self.fit(np.random.default_rng(0).standard_normal((len(labels), 4)), labels)

    @abstractmethod
    def fit(self, x: FloatArray, labels: IntArray) -> Fitted:
        """Fit one classifier.

        Parameters
        ----------
        x : array of float64, shape (trials, features)
            Selected and scaled features.
        labels : array of int, shape (trials,)
            Class of each trial, 0 … k − 1, every class present.

        Returns
        -------
        Fitted
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
        """Train all folds of one bin together, where that is faster than one by one.

        Parameters
        ----------
        x, labels, folds, n_classes, decoding
            As of `shortloop.eeg.decoding.train.train_bin`.

        Returns
        -------
        BinModels or None
            None: one by one, with `fit`.
        """
        return None


def no_class_weights(found: str) -> InputError:
    """What to say of an estimator that knows no class weights.

    Parameters
    ----------
    found : str
        Which it is.

    Returns
    -------
    InputError
    """
    return InputError(
        "the estimator has no class weights",
        field="decoding.class_weight",
        found=found,
        hint="cut the larger classes in its place: decoding.subsample = true; or choose another estimator",
    )
