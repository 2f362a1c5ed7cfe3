"""Confusion matrices and scores of votes, and of the same votes under shuffled labels."""

from __future__ import annotations

import numpy as np

from shortloop.data import FloatArray, IntArray

__all__ = ["confusions", "recall_scores"]


def confusions(votes: IntArray, labels: IntArray, n_folds: int = 1) -> FloatArray:
    """Confusion matrices, rows the true class.

    Parameters
    ----------
    votes : array of int, shape (\\*cells, trials, classes)
        Votes for each class.
    labels : array of int, shape (trials,)
        True class.
    n_folds : int, default 1
        The sums are divided by this.

    Returns
    -------
    array of float, shape (\\*cells, classes, classes)
    """
    truth = (labels == np.arange(votes.shape[-1])[:, np.newaxis]).astype(np.float64)
    summed: FloatArray = np.matmul(truth, votes.astype(np.float64)) / n_folds
    return summed


def recall_scores(votes: IntArray, labels: IntArray) -> FloatArray:
    """Mean over classes of recall, in percent, for many labellings of the same trials at once.

    Only labels differ between permutations, so all of them are one matrix product per class; the counts
    are whole numbers far below 2^24, exact in single precision.

    Parameters
    ----------
    votes : array of int, shape (\\*cells, trials, classes)
        Votes for each class.
    labels : array of int, shape (labellings, trials)
        Class of each trial under each labelling.

    Returns
    -------
    array of float64, shape (labellings, \\*cells)
        Chance, 100 / classes, where there are no votes at all.

    References
    ----------
    Balanced accuracy: Brodersen et al. 2010, The balanced accuracy and its posterior distribution.
    """
    *cells, n_trials, n_classes = votes.shape
    flat = votes.reshape(-1, n_trials, n_classes)
    cast = np.ascontiguousarray(flat.transpose(2, 1, 0), dtype=np.float32)  # (classes, trials, cells)
    cast_total = cast.sum(axis=0)
    total = np.zeros((len(labels), len(flat)))
    present = np.zeros((len(labels), len(flat)))
    for k in range(n_classes):
        member = (labels == k).astype(np.float32)
        hits = (member @ cast[k]).astype(np.float64)
        votes_cast = (member @ cast_total).astype(np.float64)
        some = votes_cast > 0
        total += np.divide(hits, votes_cast, out=np.zeros_like(hits), where=some)
        present += some
    chance = 1 / n_classes
    recall = np.divide(total, present, out=np.full_like(total, chance), where=present > 0)
    return (100 * recall).reshape(len(labels), *cells)
