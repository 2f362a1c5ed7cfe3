"""Sums over the trials of each class and fold, from one pass over a bin: the ANOVAs, means and deviations of
all folds follow from them, as the sums of a fold's training trials are the total less its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.selection.kernels import add_up, read_only
from shortloop.eeg.decoding.selection.scaling import moments

__all__ = ["DOUBTFUL", "FoldSums", "fold_moments", "fold_sums"]

DOUBTFUL = 1e-8
"""Differences of sums of squares are good to about 1e-16 of the sums; where less than this share of them is
left, what is wanted is computed anew, from the trials themselves."""


@dataclass(frozen=True)
class FoldSums:
    """Sums of one bin, about an offset that keeps them from cancelling.

    offset: float64, (features,). Mean over all trials, subtracted before anything is added up.
    sums: float64, (classes, folds, features). Sums over the trials that are of a class and held out by a
        fold.
    squares: float64, (folds, features). Sums of squares over the trials that a fold holds out.
    counts: float64, (classes, folds). Numbers of trials.
    """

    offset: FloatArray
    sums: FloatArray
    squares: FloatArray
    counts: FloatArray

    @cached_property
    def of_folds(self) -> FloatArray:
        """Sums over the trials that a fold holds out, shape (folds, features)."""
        summed: FloatArray = self.sums.sum(axis=0)
        return summed

    @cached_property
    def total(self) -> FloatArray:
        """Sums over all trials, shape (features,)."""
        summed: FloatArray = self.of_folds.sum(axis=0)
        return summed

    @cached_property
    def square(self) -> FloatArray:
        """Sums of squares over all trials, shape (features,)."""
        summed: FloatArray = self.squares.sum(axis=0)
        return summed


def fold_sums(x: FloatArray, labels: IntArray, folds: IntArray, n_classes: int, n_folds: int) -> FoldSums:
    """Add up one bin.

    x: float, (trials, features). Features of the bin.
    labels, folds: int, (trials,). Class of each trial, and the fold that holds it out.
    """
    x = read_only(x)
    offset = np.empty(x.shape[1])
    sums = np.empty((n_classes, n_folds, x.shape[1]))
    squares = np.empty((n_folds, x.shape[1]))
    counts = np.zeros((n_classes, n_folds))
    add_up(x, labels.astype(np.int64), folds.astype(np.int64), offset, sums, squares)
    np.add.at(counts, (labels, folds), 1.0)
    return FoldSums(offset, sums, squares, counts)


def fold_moments(
    sums: FoldSums, x: FloatArray, folds: IntArray, fold: int, features: IntArray, *, held_out: bool
) -> tuple[FloatArray, FloatArray]:
    """Mean and population standard deviation of some features over a fold's trials.

    x: float, (trials, features). The bin itself, for features whose deviation the sums cannot tell.
    folds: int, (trials,). Fold that holds out each trial.
    features: int. Which features.
    mean, std: float64, the shape of `features`
    """
    own = sums.of_folds[fold, features]
    square = sums.squares[fold, features]
    everything = sums.square[features]
    count = sums.counts[:, fold].sum()
    if not held_out:
        own = sums.total[features] - own
        square = everything - square
        count = sums.counts.sum() - count
    shift = own / count
    variance = square / count - shift**2
    doubtful = variance <= DOUBTFUL * everything / sums.counts.sum()
    mean = shift + sums.offset[features]
    std = np.sqrt(np.maximum(variance, 0.0))
    if doubtful.any():
        trials = (folds == fold) == held_out
        mean[doubtful], std[doubtful] = moments(x[np.ix_(trials, features[doubtful])])
    return mean, std
