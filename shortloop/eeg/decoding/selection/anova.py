"""Which features a fold keeps: one-way ANOVA over the classes, all folds from one pass over the data."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.selection.fold_sums import DOUBTFUL, FoldSums, fold_sums

__all__ = ["fold_anova", "select_features"]


def fold_anova(
    x: FloatArray,
    labels: IntArray,
    folds: IntArray,
    n_classes: int,
    n_folds: int,
    sums: FoldSums | None = None,
) -> FloatArray:
    """F of a one-way ANOVA over the classes, on the training trials of every fold.

    Sums over class × fold are taken once; the training sums of a fold are the total less its own. Features
    that hardly vary within the classes, or only on held-out trials, are computed again without differences.

    Any textbook's one-way fixed-effects ANOVA; equals ``scipy.stats.f_oneway``.

    x: float, (trials, features). Features.
    labels: int, (trials,). Class of each trial, 0 … `n_classes` − 1.
    folds: int, (trials,). Fold that holds out each trial.
    returns: float, (folds, features). F; infinite where the classes differ and nothing varies within them,
        NaN where nothing varies.
    """
    if sums is None:
        sums = fold_sums(x, labels, folds, n_classes, n_folds)
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
        ratio: FloatArray = (between / (n_present - 1)) / (within / (n_train - n_present))
        return ratio


def select_features(
    x: FloatArray,
    labels: IntArray,
    folds: IntArray,
    *,
    n_classes: int,
    n_folds: int,
    alpha: float,
    sums: FoldSums | None = None,
) -> np.ndarray:
    """Features whose ANOVA p on a fold's training trials is below alpha.

    returns: bool, (folds, features)
    """
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
    f = fold_anova(x, labels, folds, n_classes, n_folds, sums)
    kept: np.ndarray = (f > least[:, np.newaxis]) & can_be_tested[:, np.newaxis]
    return kept


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
