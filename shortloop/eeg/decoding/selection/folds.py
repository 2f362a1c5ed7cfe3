"""Stratified cross-validation folds.

The same folds as scikit-learn's StratifiedKFold (a test holds it), without its import: that alone would
cost a job more than computing its folds a thousand times.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shortloop.types import IntArray

__all__ = ["stratified_folds"]


def stratified_folds(labels: IntArray, n_folds: int, seed: int | None = None) -> IntArray:
    """Number of the fold that holds out each trial.

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
