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
        Votes for each class. Within a cell, trials have equally many, or none.
    labels : array of int, shape (labellings, trials)
        Class of each trial under each labelling.

    Returns
    -------
    array of float64, shape (labellings, \\*cells)

    Notes
    -----
    A trial that no classifier voted on, as its fold kept no feature, counts as guessed: 1 / classes of it
    is right. Leaving it out instead biases cross-validated scores of pure noise below chance, as the folds
    that keep features are those whose held-out trials happen to differ most from the others.

    References
    ----------
    Balanced accuracy: Brodersen et al. 2010, The balanced accuracy and its posterior distribution.
    """
    *cells, n_trials, n_classes = votes.shape
    flat = votes.reshape(-1, n_trials, n_classes)
    cast = np.ascontiguousarray(flat.transpose(2, 1, 0), dtype=np.float32)  # (classes, trials, cells)
    per_trial = cast.sum(axis=0)
    voters = per_trial.max(axis=0).astype(np.float64)  # of a trial, in each cell
    if not ((per_trial == 0) | (per_trial == voters)).all():
        raise ValueError("trials of one cell have different numbers of votes")
    voters = np.maximum(voters, 1)
    silent = (per_trial == 0).astype(np.float32)
    some_silent = silent.any()
    recall = np.zeros((len(labels), len(flat)))
    for k in range(n_classes):
        member = (labels == k).astype(np.float32)
        count = member.sum(axis=1, keepdims=True, dtype=np.float64)
        right = (member @ cast[k]).astype(np.float64)
        if some_silent:
            right += voters * (member @ silent).astype(np.float64) / n_classes
        recall += np.divide(right, voters * count, out=np.zeros_like(right), where=count > 0)
    n_present = (labels[:, :, np.newaxis] == np.arange(n_classes)).any(axis=1).sum(axis=1)
    return (100 * (recall / n_present[:, np.newaxis])).reshape(len(labels), *cells)
