"""Feature selection by one-way ANOVA over the classes, for all folds from one pass over the data.

That pass sums over the trials of each class and fold. The sums of a fold's training trials are the total less
its own, so that the ANOVAs, means and deviations of all folds follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.selection.scaling import BLOCK, moments, read_only

DOUBTFUL = 1e-8
"""Differences of sums of squares are good to about 1e-16 of the sums. If they leave less than this share of
them, the result is computed again, from the trials themselves."""


@dataclass(frozen=True)
class FoldSums:
    """Sums over the held-out trials of one bin, about an offset that keeps them from cancelling."""

    offset: FloatArray  # (features,), mean over all trials, subtracted before summing
    sums: FloatArray  # (classes, folds, features)
    squares: FloatArray  # (folds, features), sums of squares
    counts: FloatArray  # (classes, folds), numbers of trials
    of_folds: FloatArray  # (folds, features), sums over the trials of each fold
    total: FloatArray  # (features,), sums over all trials
    square: FloatArray  # (features,), sums of squares over all trials


def fold_sums(x: FloatArray, labels: IntArray, folds: IntArray, n_classes: int, n_folds: int) -> FoldSums:
    """Sum one bin (trials, features) over the trials of each class and held-out fold."""
    x = read_only(x)
    n, p = x.shape
    known = labels.astype(np.int64), folds.astype(np.int64)
    counts = np.zeros((n_classes, n_folds))
    np.add.at(counts, (labels, folds), 1.0)
    shapes = (p,), (n_classes, n_folds, p), (n_folds, p)
    offset, sums, squares = map(np.empty, shapes)
    if x.flags.c_contiguous:
        _add_up(x, *known, offset, sums, squares)
    else:  # some features at a time, copied into a cache, where those of a trial are side by side
        for first in range(0, p, step := max(1, BLOCK // n)):
            part = slice(first, first + step)
            some = read_only(np.ascontiguousarray(x[:, part]))
            own = [np.empty((*shape[:-1], some.shape[1])) for shape in shapes]
            _add_up(some, *known, *own)
            offset[part], sums[..., part], squares[:, part] = own
    of_folds = sums.sum(axis=0)
    return FoldSums(offset, sums, squares, counts, of_folds, of_folds.sum(axis=0), squares.sum(axis=0))


def fold_moments(
    sums: FoldSums, x: FloatArray, folds: IntArray, fold: int, features: IntArray, *, held_out: bool
) -> tuple[FloatArray, FloatArray]:
    """Mean and population standard deviation of some features over a fold's trials."""
    # x: (trials, features), the bin itself, for features whose deviation the sums cannot tell
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


def fold_anova(x: FloatArray, labels: IntArray, folds: IntArray, sums: FoldSums) -> FloatArray:
    """F of a one-way ANOVA over the classes, on the training trials of every fold."""
    # Features that hardly vary within the classes, or only on held-out trials, are computed again. Any
    # textbook's one-way fixed-effects ANOVA; equals ``scipy.stats.f_oneway``.
    # returns: (folds, features), F; infinite if only the classes differ, NaN if nothing varies
    counts, squares = sums.counts, sums.squares
    n_class = counts.sum(axis=1, keepdims=True) - counts  # (classes, folds), training trials
    class_sum = sums.sums.sum(axis=1, keepdims=True) - sums.sums  # (classes, folds, features)
    total_square = squares.sum(axis=0) - squares  # (folds, features)
    n_train = n_class.sum(axis=0)[:, np.newaxis]
    n_present = (n_class > 0).sum(axis=0)[:, np.newaxis]
    # A class without training trials has sums of zero and adds nothing.
    explained = (class_sum**2 / np.maximum(n_class, 1)[:, :, np.newaxis]).sum(axis=0)
    between = np.maximum(explained - class_sum.sum(axis=0) ** 2 / n_train, 0.0)  # not −1e-17
    within = total_square - explained
    doubtful = within <= DOUBTFUL * squares.sum(axis=0)
    for fold in np.flatnonzero(doubtful.any(axis=1)):
        train, some = folds != fold, doubtful[fold]
        between[fold, some], within[fold, some] = _sums_of_squares(x[np.ix_(train, some)], labels[train])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((between / (n_present - 1)) / (within / (n_train - n_present)))


def select_features(
    x: FloatArray,
    labels: IntArray,
    folds: IntArray,
    n_classes: int,
    n_folds: int,
    alpha: float,
    sums: FoldSums | None = None,
) -> np.ndarray:
    """True for features (folds, features) whose ANOVA p on a fold's training trials is below alpha."""
    if alpha >= 1:
        return np.ones((n_folds, x.shape[1]), dtype=bool)
    from scipy.special import betaincinv

    sums = fold_sums(x, labels, folds, n_classes, n_folds) if sums is None else sums
    n_class = sums.counts.sum(axis=1, keepdims=True) - sums.counts
    n_present = (n_class > 0).sum(axis=0)
    between, within = n_present - 1, n_class.sum(axis=0) - n_present
    can_be_tested = (between > 0) & (within > 0)
    least = np.full(n_folds, np.inf)
    between, within = between[can_be_tested], within[can_be_tested]
    # p falls as F grows, so one quantile spares a p for every feature. F's tail is a beta distribution's
    # head, which is exact for the smallest alpha.
    share = betaincinv(within / 2, between / 2, alpha)
    least[can_be_tested] = within / between * (1 - share) / share
    f = fold_anova(x, labels, folds, sums)
    return np.asarray((f > least[:, np.newaxis]) & can_be_tested[:, np.newaxis])


def _sums_of_squares(x: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sums of squares of each feature between and within the classes, by differences from the means."""
    groups = [x[labels == k].astype(np.float64) for k in np.unique(labels)]
    # The mean of equal values is that value, without rounding.
    means = np.stack([np.where((g == g[0]).all(axis=0), g[0], g.mean(axis=0)) for g in groups])
    sizes = np.array([len(g) for g in groups])[:, np.newaxis]
    within = sum(((g - mean) ** 2).sum(axis=0) for g, mean in zip(groups, means))
    shifted = means - means[0]
    between = (sizes * (shifted - (sizes * shifted).sum(axis=0) / len(x)) ** 2).sum(axis=0)
    return between, np.asarray(within)


@numba.njit(cache=True, fastmath={"contract"})
def _add_up(x, labels, folds, offset, sums, squares):  # type: ignore[no-untyped-def]
    """Sum over the trials of each class and fold, about the mean of all trials."""
    # Fills the means `offset` (features,), `sums` (classes, folds, features), `squares` (folds, features).
    n, m = x.shape
    offset[:] = 0.0
    sums[:] = 0.0
    squares[:] = 0.0
    for i in range(n):
        for j in range(m):
            offset[j] += x[i, j]
    for j in range(m):
        offset[j] /= n
    for i in range(n):
        total, square = sums[labels[i], folds[i]], squares[folds[i]]
        for j in range(m):
            centred = x[i, j] - offset[j]
            total[j] += centred
            square[j] += centred * centred
