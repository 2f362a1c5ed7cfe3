"""LDA of one bin and fold, trained on many label vectors: what these share is computed once, and what they
do not is a few large matrix products over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from shortloop.data import FloatArray, IntArray
from shortloop.decoding.lda_basis import Basis, code_labels, decompose
from shortloop.decoding.lda_solve import solve
from shortloop.decoding.scaling import moments, zscore
from shortloop.errors import InputError

__all__ = ["FoldMachines", "ManyLabels", "fold_machines", "winners"]

# Numbers in the largest temporary of a block of label vectors: it is to stay in a core's cache.
IN_CACHE = 131072


class ManyLabels:
    """Label vectors of the same trials and folds, in the forms that LDA needs.

    Parameters
    ----------
    labels : array of int, shape (labellings, trials)
        Class of each trial under each labelling.
    folds : array of int, shape (trials,)
        Fold that holds out each trial.
    n_classes, n_folds : int
        Their numbers.

    Raises
    ------
    InputError
        If a class is absent from a fold's training trials under some labelling.
    """

    def __init__(self, labels: IntArray, folds: IntArray, n_classes: int, n_folds: int) -> None:
        self.labels = np.asarray(labels)
        self.folds, self.n_classes, self.n_folds = folds, n_classes, n_folds
        members = np.arange(n_classes, dtype=self.labels.dtype)[:, np.newaxis, np.newaxis] == self.labels.T
        self.held_out = [np.flatnonzero(folds == fold) for fold in range(n_folds)]
        self.truth = [members[:, rows] for rows in self.held_out]  # (classes, held-out trials, labellings)
        held_out_counts = np.stack([each.sum(axis=1) for each in self.truth])
        self.counts: IntArray = held_out_counts.sum(axis=0)  # (classes, labellings)
        self.train_counts = (self.counts - held_out_counts).astype(np.float64)  # (folds, …)
        if (self.train_counts == 0).any() or (self.counts.sum(axis=0) != len(folds)).any():
            raise InputError(
                "LDA needs training trials of every class in every fold",
                field="labels",
                expected=f"each of 0 … {n_classes - 1}, and no others",
                hint="use fewer folds, or leave out rare classes",
            )

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def codes(self) -> FloatArray:
        """See `code_labels`."""
        return code_labels(self.labels, self.n_classes)

    @cached_property
    def held_out_codes(self) -> list[FloatArray]:
        """Those of each fold's held-out trials, (trials, (classes − 1) · labellings)."""
        return [self.codes[rows].reshape(len(rows), -1) for rows in self.held_out]


class FoldMachines:
    """LDA of one bin and fold, trained on each of many label vectors.

    Parameters
    ----------
    basis : Basis
        Of the scaled training trials.
    mean, std : array of float, shape (features,)
        Their moments before scaling.
    offset : array of float, shape (features,)
        What scaling leaves of their mean.
    weights : array of float, shape (rank + 1, classes − 1, labellings)
        Of a trial's coordinates and 1.
    """

    def __init__(
        self, basis: Basis, mean: FloatArray, std: FloatArray, offset: FloatArray, weights: FloatArray
    ) -> None:
        self._basis, self._mean, self._std, self._offset = basis, mean, std, offset
        self.weights = weights

    @cached_property
    def _directions(self) -> FloatArray:
        return self._basis.directions()

    def coordinates(self, x: FloatArray, scaling: str) -> FloatArray:
        """Coordinates of trials, and a column of ones.

        Parameters
        ----------
        x : array of float, shape (sets, trials, features)
            Features; the trials of a set are scaled together.
        scaling : str
            ``"separate"`` or ``"training"``; see `DecodingSettings`.

        Returns
        -------
        array of float64, shape (sets · trials, rank + 1)
        """
        if scaling == "training":
            scaled = (x.reshape(-1, x.shape[-1]) - self._mean) / self._std
        else:
            scaled = np.concatenate([zscore(each) for each in x])
        scaled -= self._offset
        found = np.ones((len(scaled), len(self.weights)))
        few = len(scaled) < len(self._basis.centred)
        found[:, :-1] = self._basis.project(scaled) if few else scaled @ self._directions
        return found

    def blocks(self, rows: int) -> Iterator[tuple[slice, FloatArray]]:
        """Label vectors in blocks whose decisions on so many trials stay in cache.

        Parameters
        ----------
        rows : int
            Trials to decide on.

        Yields
        ------
        part : slice
            Of the label vectors.
        weights : array of float, shape (rank + 1, (classes − 1) · labellings of the part)
        """
        rank, contrasts, n_labels = self.weights.shape
        size = _block(rows * contrasts)
        for start in range(0, n_labels, size):
            part = slice(start, min(start + size, n_labels))
            yield part, self.weights[:, :, part].reshape(rank, -1)


def fold_machines(x: FloatArray, many: ManyLabels, shrinkage: float) -> Iterator[FoldMachines]:
    """Train every fold of one bin on each of many label vectors.

    Parameters
    ----------
    x : array of float, shape (trials, features)
        Features of the bin.
    many : ManyLabels
        Labels and folds of the trials.
    shrinkage : float
        λ, above 0, up to 1.

    Yields
    ------
    FoldMachines
        Of each fold in turn.
    """
    fewest = len(x) - max(map(len, many.held_out))
    sums_of = _sums_by_folds(x, many) if x.shape[1] <= fewest else _sums_by_trials(many)
    contrasts, n_labels = many.n_classes - 1, len(many)
    for fold in range(many.n_folds):
        train = np.flatnonzero(many.folds != fold)
        chosen = x[train]
        mean, std = moments(chosen)
        scaled = (chosen - mean) / std
        offset = scaled.mean(axis=0)
        basis = decompose(scaled - offset)
        rank = len(basis.values)
        sums = sums_of(fold, train, basis, mean, std, offset).reshape(rank, contrasts, n_labels)
        weights = np.empty((rank + 1, contrasts, n_labels))
        size = _block(rank * contrasts)
        for start in range(0, n_labels, size):
            part = slice(start, start + size)
            solved = solve(
                basis,
                many.codes[:, :, part],
                many.train_counts[fold][:, part],
                shrinkage,
                sums[:, :, part],
                train,
            )
            weights[:-1, :, part] = solved.weights
            weights[-1, :, part] = solved.constants
        yield FoldMachines(basis, mean, std, offset, weights)


def winners(decisions: FloatArray) -> IntArray:
    """Predicted classes, the first of equals, from decisions of each class against the first.

    Parameters
    ----------
    decisions : array of float, shape (trials, classes − 1, labellings)
        Of `FoldMachines`.

    Returns
    -------
    array of int8, shape (trials, labellings)
    """
    best = np.maximum(decisions[:, 0], 0.0)
    won = (decisions[:, 0] > 0).astype(np.int8)
    for k in range(1, decisions.shape[1]):
        better = decisions[:, k] > best
        won[better] = k + 1
        np.maximum(best, decisions[:, k], out=best)
    return won


def _block(numbers: int) -> int:
    """Label vectors in a block, of so many numbers for each."""
    return max(64, IN_CACHE // max(1, numbers) // 64 * 64)


def _sums_by_trials(many: ManyLabels) -> Callable[..., FloatArray]:
    """Coordinates of the classes' sums, by one product with all labels."""
    codes = many.codes.reshape(len(many.codes), -1)

    def sums_of(fold: int, train: IntArray, basis: Basis, *moments: FloatArray) -> FloatArray:
        # Held-out trials count nothing: this spares a copy of the labels for every fold.
        every = np.zeros((len(basis.values), len(codes)))
        every[:, train] = basis.sums.T
        return np.asarray(every @ codes)

    return sums_of


def _sums_by_folds(x: FloatArray, many: ManyLabels) -> Callable[..., FloatArray]:
    """The same where features are few: sums over a fold's training trials are all less its own."""
    origin = x.mean(axis=0, dtype=np.float64)
    shifted = np.concatenate([x - origin, np.ones((len(x), 1))], axis=1)  # ones: counts of trials
    own = [shifted[rows].T @ codes for rows, codes in zip(many.held_out, many.held_out_codes)]
    total = np.add.reduce(own)

    def sums_of(
        fold: int, train: IntArray, basis: Basis, mean: FloatArray, std: FloatArray, offset: FloatArray
    ) -> FloatArray:
        turn = np.empty((len(basis.values), len(total)))
        turn[:, :-1] = basis.vectors.T / std
        turn[:, -1] = -(basis.vectors.T @ ((mean - origin) / std + offset))
        return np.asarray(turn @ np.subtract(total, own[fold], out=own[fold]))

    return sums_of
