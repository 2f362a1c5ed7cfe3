"""Stratified cross-validation folds, of trials or of whole runs.

The same folds as scikit-learn's StratifiedKFold and StratifiedGroupKFold (tests hold it), without its import:
that alone would cost a job more than computing its folds a thousand times.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shortloop.base.types import IntArray


def stratified_folds(labels: IntArray, n_folds: int, seed: int | None = None) -> IntArray:
    """Deal trials out to folds: the number of the fold that holds out each trial.

    Trials sorted by class are dealt out to the folds in turn, which says how many of each class a fold
    gets; within a class the folds are then filled in trial order or, with a seed, in shuffled order.

    Parameters
    ----------
    labels : array of int, shape (trials,)
        Class of each trial.
    n_folds : int
        Number of folds.
    seed : int, optional
        Shuffles; the same as ``random_state``. Default: no shuffling.

    Returns
    -------
    array of int, shape (trials,)

    References
    ----------
    scikit-learn, ``sklearn.model_selection.StratifiedKFold``.
    """
    return _deal(np.asarray(labels, dtype=np.int64).tobytes(), n_folds, seed).copy()


def run_folds(labels: IntArray, runs: IntArray, at_most: int) -> tuple[IntArray, int]:
    """Assign whole runs to folds (trials,), each with all classes if runs allow; and count the folds."""
    # scikit-learn, ``sklearn.model_selection.StratifiedGroupKFold``.
    _, of_class, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    _, of_run = np.unique(runs, return_inverse=True)
    counts = np.zeros((of_run.max() + 1, len(sizes)))
    np.add.at(counts, (of_run, of_class), 1)
    n_folds = min(at_most, int((counts > 0).sum(axis=0).min()))
    taken = np.zeros((n_folds, len(sizes)))
    fold_of = np.empty(len(counts), dtype=np.int32)
    for run in np.argsort(-counts.std(axis=1), kind="stable"):  # those of the most uneven classes first
        best, least, fewest = 0, np.inf, np.inf
        for fold in range(n_folds):
            taken[fold] += counts[run]
            spread = (taken / sizes).std(axis=0).mean()
            taken[fold] -= counts[run]
            trials = taken[fold].sum()
            if spread < least or (np.isclose(spread, least) and trials < fewest):
                best, least, fewest = fold, spread, trials
        taken[best] += counts[run]
        fold_of[run] = best
    return fold_of[of_run], n_folds


@lru_cache(maxsize=1024)  # thousands of fits have the same few labels
def _deal(labels_as_bytes: bytes, n_folds: int, seed: int | None) -> IntArray:
    labels = np.frombuffer(labels_as_bytes, dtype=np.int64)
    # Classes count in order of first appearance, as the shuffling consumes one random stream.
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    appearance = np.argsort(np.argsort(first))[inverse]
    n_classes = len(first)
    dealt_to = np.arange(len(labels)) % n_folds
    sizes = np.zeros((n_classes, n_folds), dtype=np.intp)
    np.add.at(sizes, (np.sort(appearance), dealt_to), 1)
    # scikit-learn's shuffle is the legacy generator's; no other gives the same folds.
    legacy = np.random.RandomState(seed) if seed is not None else None
    folds = np.empty(len(labels), dtype=np.int32)
    for k in range(n_classes):
        filling = np.repeat(np.arange(n_folds, dtype=np.int32), sizes[k])
        if legacy is not None:
            legacy.shuffle(filling)
        folds[appearance == k] = filling
    return folds
