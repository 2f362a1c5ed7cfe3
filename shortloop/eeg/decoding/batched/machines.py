"""Label vectors of the same trials, and the linear classifiers that are trained on all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.selection.scaling import zscore
from shortloop.eeg.decoding.solvers.common import dummy_codes

# Numbers in the largest temporary of a block of label vectors, which must stay in a core's cache.
IN_CACHE = 131072


class Labellings:
    """Label vectors (labellings, trials) with common folds (trials,), in the forms that training needs."""

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
        """Dummy codes (trials, classes − 1, labellings)."""
        return dummy_codes(self.labels, self.n_classes)

    @cached_property
    def held_out_codes(self) -> list[FloatArray]:
        """Dummy codes of each fold's held-out trials, (trials, (classes − 1) · labellings)."""
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
        """Training trials of each fold."""
        return [np.flatnonzero(self.folds != fold) for fold in range(self.n_folds)]

    @cached_property
    def signs(self) -> FloatArray:
        """1 for the members of a machine's class, −1 for the others, (trials, machines, labellings).

        Machines are one-versus-rest; two classes need only the second's.
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


class Machines:
    """Linear classifiers of one bin and fold, trained on each of many label vectors.

    The weights (coordinates + 1, machines, labellings) are those of a trial's coordinates and 1. There is a
    machine for each class, and the largest decision wins; or one for each class but the first, which decides
    between its class and the first. `mean` and `std` (features,) are the moments of the training trials.
    `project` gives coordinates (trials, coordinates) of scaled trials, which it may overwrite.
    """

    def __init__(
        self,
        mean: FloatArray,
        std: FloatArray,
        weights: FloatArray,
        project: Callable[[FloatArray], FloatArray],
    ) -> None:
        self._mean, self._std, self._project = mean, std, project
        self.weights = weights

    def coordinates(self, x: FloatArray, scaling: str) -> FloatArray:
        """Coordinates (sets · trials, coordinates + 1) of trials (sets, trials, features), the last one 1.

        The trials of a set are scaled together.
        """
        if scaling == "training":
            scaled = (x.reshape(-1, x.shape[-1]) - self._mean) / self._std
        else:
            scaled = np.concatenate([zscore(each) for each in x])
        found = np.ones((len(scaled), len(self.weights)))
        found[:, :-1] = self._project(scaled)
        return found

    def blocks(self, rows: int) -> Iterator[tuple[slice, FloatArray]]:
        """Label vectors in blocks whose decisions on so many trials stay in cache, and their weights."""
        length, n_machines, n_labels = self.weights.shape
        size = block_size(rows * n_machines)
        for start in range(0, n_labels, size):
            part = slice(start, min(start + size, n_labels))
            yield part, self.weights[:, :, part].reshape(length, -1)


def block_size(numbers: int) -> int:
    """Label vectors in a block, of so many numbers each."""
    return max(64, IN_CACHE // max(1, numbers) // 64 * 64)


def winners(decisions: FloatArray, n_classes: int) -> IntArray:
    """Predicted classes, int8 (trials, labellings), of decisions (trials, machines, labellings).

    The first of equal decisions wins.
    """
    first = 0 if decisions.shape[1] == n_classes else 1  # class of the first machine
    best = decisions[:, 0] if first == 0 else np.maximum(decisions[:, 0], 0.0)
    won = np.zeros(best.shape, dtype=np.int8) if first == 0 else (decisions[:, 0] > 0).astype(np.int8)
    for k in range(1, decisions.shape[1]):
        better = decisions[:, k] > best
        won[better] = k + first
        best = np.maximum(best, decisions[:, k])
    return won
