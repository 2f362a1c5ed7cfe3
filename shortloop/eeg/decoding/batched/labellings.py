"""Label vectors of the same trials, and what all estimators that train on many of them at once share."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.solvers.class_weights import dummy_codes

__all__ = ["Labellings"]


class Labellings:
    """Label vectors of the same trials and folds, in the forms that training on all of them needs.

    labels: int, (labellings, trials). Class of each trial under each labelling.
    folds: int, (trials,). Fold that holds out each trial.
    n_classes, n_folds: their numbers.
    """

    def __init__(self, labels: IntArray, folds: IntArray, n_classes: int, n_folds: int) -> None:
        self.labels = np.asarray(labels)
        self.folds, self.n_classes, self.n_folds = folds, n_classes, n_folds
        self._inner: dict[tuple[int, int], IntArray] = {}
        members = np.arange(n_classes, dtype=self.labels.dtype)[:, np.newaxis, np.newaxis] == self.labels.T
        self.held_out = [np.flatnonzero(folds == fold) for fold in range(n_folds)]
        self.truth = [members[:, rows] for rows in self.held_out]  # (classes, held-out trials, labellings)
        held_out_counts = np.stack([each.sum(axis=1) for each in self.truth])
        self.counts: IntArray = held_out_counts.sum(axis=0)  # (classes, labellings)
        self.train_counts = (self.counts - held_out_counts).astype(np.float64)  # (folds, …)
        if (self.counts.sum(axis=0) != len(folds)).any():
            raise InputError(
                "a labelling has an unknown class", field="labels", expected=f"0 … {n_classes - 1}, no others"
            )

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def codes(self) -> FloatArray:
        """See `dummy_codes`."""
        return dummy_codes(self.labels, self.n_classes)

    @cached_property
    def held_out_codes(self) -> list[FloatArray]:
        """Those of each fold's held-out trials, (trials, (classes − 1) · labellings)."""
        return [self.codes[rows].reshape(len(rows), -1) for rows in self.held_out]

    def require_all_classes(self) -> None:
        """Raise InputError unless every fold trains on every class."""
        if (self.train_counts == 0).any():
            raise InputError(
                "this classifier needs training trials of every class in every fold",
                field="labels",
                expected=f"each of 0 … {self.n_classes - 1}",
                hint="use fewer folds, or leave out rare classes",
            )

    @cached_property
    def train(self) -> list[IntArray]:
        """Trials that each fold trains on."""
        return [np.flatnonzero(self.folds != fold) for fold in range(self.n_folds)]

    @cached_property
    def signs(self) -> FloatArray:
        """1 for the members of a machine's class, −1 for the others, (trials, machines, labellings).

        Classes are told apart one against the rest; for two classes one machine is enough, the second's.
        """
        classes = np.arange(self.n_classes, dtype=self.labels.dtype)[1 if self.n_classes == 2 else 0 :]
        return np.where(self.labels.T[:, np.newaxis] == classes[:, np.newaxis], 1.0, -1.0)

    def inner_folds(self, fold: int, n_inner: int) -> IntArray:
        """Inner folds of a fold's training trials under each labelling, (training trials, labellings)."""
        if (fold, n_inner) not in self._inner:
            known = self.labels[:, self.train[fold]]
            made = np.stack([stratified_folds(each, n_inner) for each in known], axis=1)
            self._inner[fold, n_inner] = made
        return self._inner[fold, n_inner]
