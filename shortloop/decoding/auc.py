"""Area under the ROC curve, for many labellings of the same decisions at once.

Decisions do not change when labels are shuffled, so their ranks are taken once; a labelling then costs one
row of a matrix product.
"""

from __future__ import annotations

import numpy as np

from shortloop.data import FloatArray, IntArray

__all__ = ["auc_scores"]


def auc_scores(decisions: FloatArray, labels: IntArray, groups: IntArray | None = None) -> FloatArray:
    """Area under the ROC curve, in percent; of more than two classes the mean of each against the rest.

    Parameters
    ----------
    decisions : array of float, shape (\\*cells, trials, classes)
        A classifier's decision for each class: larger, more likely. NaN for trials without one.
    labels : array of int, shape (labellings, trials)
        Class of each trial under each labelling.
    groups : array of int, shape (trials,), optional
        Trials whose decisions can be compared, as they come from one classifier: the folds of
        cross-validation. The area is taken in each group, then averaged. Default: all trials.

    Returns
    -------
    array of float64, shape (labellings, \\*cells)
        50 where no group has decisions on both sides.

    References
    ----------
    Mann & Whitney 1947; Hand & Till 2001, A simple generalisation of the area under the ROC curve for
    multiple class classification problems (the one-versus-rest mean is scikit-learn's ``multi_class="ovr"``).
    """
    *cells, n_trials, n_classes = decisions.shape
    flat = np.asarray(decisions, dtype=np.float64).reshape(-1, n_trials, n_classes)
    groups = np.zeros(n_trials, dtype=np.int64) if groups is None else np.asarray(groups)
    total = np.zeros((len(labels), len(flat)))
    counted = np.zeros((len(labels), len(flat)))
    for group in np.unique(groups):
        trials = np.flatnonzero(groups == group)
        area, defined = _areas(flat[:, trials], labels[:, trials])
        total += np.where(defined, area, 0.0)
        counted += defined
    scores = np.divide(total, counted, out=np.full_like(total, 0.5), where=counted > 0)
    return 100 * scores.reshape(len(labels), *cells)


def _areas(decisions: FloatArray, labels: IntArray) -> tuple[FloatArray, np.ndarray]:
    """Area (labellings, cells) of one group, and where there is one."""
    from scipy.stats import rankdata

    n_cells, n_trials, n_classes = decisions.shape
    missing: np.ndarray = np.asarray(np.isnan(decisions).any(axis=(1, 2)))
    total = np.zeros((len(labels), n_cells))
    counted = np.zeros((len(labels), 1))
    # Of two classes both sides say the same.
    for k in range(n_classes) if n_classes > 2 else [1]:
        score = decisions[:, :, k] - (decisions[:, :, 0] if n_classes == 2 else 0.0)
        ranks = rankdata(np.where(missing[:, np.newaxis], 0.0, score), axis=1)  # ties share their mean
        member = (labels == k).astype(np.float64)
        positive = member.sum(axis=1, keepdims=True)
        pairs = positive * (n_trials - positive)
        # Sums of ranks are whole or half numbers, exact in any order of adding.
        wins = member @ ranks.T - positive * (positive + 1) / 2
        total += np.divide(wins, pairs, out=np.zeros_like(wins), where=pairs > 0)
        counted += pairs > 0
    defined = (counted > 0) & ~missing
    return np.divide(total, counted, out=np.zeros_like(total), where=counted > 0), defined
