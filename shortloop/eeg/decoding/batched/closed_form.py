"""Closed-form classifiers of one bin and fold, trained on many label vectors: what these share is computed
once, and what they do not is a few large matrix products over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.batched.classifiers import Machines, block_size
from shortloop.eeg.decoding.batched.labellings import Labellings
from shortloop.eeg.decoding.selection.scaling import moments
from shortloop.eeg.decoding.solvers.principal_axes import Basis, decompose

__all__ = ["FoldMachines", "Solved", "fold_machines"]


class FoldMachines(Machines):
    """LDA or ridge of one bin and fold, trained on each of many label vectors.

    basis: of the scaled training trials.
    mean, std: float, (features,). Their moments before scaling.
    offset: float, (features,). What scaling leaves of their mean.
    weights: float, (rank + 1, machines, labellings). Of a trial's coordinates and 1.
    """

    def __init__(
        self, basis: Basis, mean: FloatArray, std: FloatArray, offset: FloatArray, weights: FloatArray
    ) -> None:
        super().__init__(mean, std, weights)
        self._basis, self._offset = basis, offset

    @cached_property
    def _directions(self) -> FloatArray:
        return self._basis.directions()

    def project(self, scaled: FloatArray) -> FloatArray:
        """Coordinates of scaled trials."""
        scaled -= self._offset
        few = len(scaled) < len(self._basis.centred)
        return self._basis.project(scaled) if few else np.asarray(scaled @ self._directions)


class Solved(Protocol):
    """Classifiers in coordinates of a basis, for each label vector."""

    @property
    def weights(self) -> FloatArray:
        """Of a trial's coordinates, shape (rank, machines, labellings)."""

    @property
    def constants(self) -> FloatArray:
        """What is added, shape (machines, labellings)."""


def fold_machines(
    x: FloatArray, labellings: Labellings, solve: Callable[..., Solved], n_machines: int
) -> Iterator[FoldMachines]:
    """Train every fold of one bin on each of many label vectors.

    x: float, (trials, features). Features of the bin.
    """
    labellings.require_all_classes()
    fewest = len(x) - max(map(len, labellings.held_out))
    sums_of = _sums_by_folds(x, labellings) if x.shape[1] <= fewest else _sums_by_trials(labellings)
    contrasts, n_labels = labellings.n_classes - 1, len(labellings)
    for fold in range(labellings.n_folds):
        train = labellings.train[fold]
        chosen = x[train]
        mean, std = moments(chosen)
        scaled = (chosen - mean) / std
        offset = scaled.mean(axis=0)
        basis = decompose(scaled - offset)
        rank = len(basis.values)
        sums = sums_of(fold, train, basis, mean, std, offset).reshape(rank, contrasts, n_labels)
        weights = np.empty((rank + 1, n_machines, n_labels))
        size = block_size(rank * contrasts)
        for start in range(0, n_labels, size):
            part = slice(start, start + size)
            solved = solve(
                basis,
                labellings.codes[:, :, part],
                labellings.train_counts[fold][:, part],
                sums=sums[:, :, part],
                rows=train,
            )
            weights[:-1, :, part] = solved.weights
            weights[-1, :, part] = solved.constants
        yield FoldMachines(basis, mean, std, offset, weights)


def _sums_by_trials(labellings: Labellings) -> Callable[..., FloatArray]:
    """Coordinates of the classes' sums, by one product with all labels."""
    codes = labellings.codes.reshape(len(labellings.codes), -1)

    def sums_of(fold: int, train: IntArray, basis: Basis, *moments: FloatArray) -> FloatArray:
        # Held-out trials count nothing: this spares a copy of the labels for every fold.
        every = np.zeros((len(basis.values), len(codes)))
        every[:, train] = basis.sums.T
        return np.asarray(every @ codes)

    return sums_of


def _sums_by_folds(x: FloatArray, labellings: Labellings) -> Callable[..., FloatArray]:
    """The same where features are few: sums over a fold's training trials are all less its own."""
    origin = x.mean(axis=0, dtype=np.float64)
    shifted = np.concatenate([x - origin, np.ones((len(x), 1))], axis=1)  # ones: counts of trials
    own = [shifted[rows].T @ codes for rows, codes in zip(labellings.held_out, labellings.held_out_codes)]
    total = np.add.reduce(own)

    def sums_of(
        fold: int, train: IntArray, basis: Basis, mean: FloatArray, std: FloatArray, offset: FloatArray
    ) -> FloatArray:
        turn = np.empty((len(basis.values), len(total)))
        turn[:, :-1] = basis.vectors.T / std
        turn[:, -1] = -(basis.vectors.T @ ((mean - origin) / std + offset))
        return np.asarray(turn @ np.subtract(total, own[fold], out=own[fold]))

    return sums_of
