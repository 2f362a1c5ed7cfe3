"""Random draws of trials: shuffled labels for the null distribution, and classes cut to the same size."""

from __future__ import annotations

import numpy as np

from shortloop.base.seeds import seed_for
from shortloop.base.types import IntArray


def permuted_labels(
    labels: IntArray,
    count: int,
    *,
    seed: int,
    names: tuple[str, ...],
    folds: IntArray | None = None,
    runs: IntArray | None = None,
    first: int = 0,
) -> IntArray:
    """Shuffled labels.

    Parameters
    ----------
    labels : array of int, shape (trials,)
        Class of each trial.
    count : int
        Number of permutations.
    seed : int
        The study's seed.
    names : tuple of str
        What the permutations are for: participant, phase.
    folds : array of int, shape (trials,), optional
        Shuffle within these groups only. Held-out trials of stratified folds are exchangeable within
        their fold, as the fold's training labels fix how many there are of each class.
    runs : array of int, shape (trials,), optional
        Run of each trial, where folds hold out whole runs: trials are exchangeable within their run alone.
        Runs of one class change places as a whole with the others of their fold.
    first : int, default 0
        Number of the first permutation: permutation 17 is the same however many are asked for.

    Returns
    -------
    array of int8, shape (count, trials)
    """
    shuffled = np.empty((count, len(labels)), dtype=np.int8)
    if folds is None:
        folds = np.zeros(len(labels), dtype=np.int32)
    within: IntArray = folds if runs is None else runs  # a run is in one fold
    groups: list[IntArray] = [np.flatnonzero(within == each) for each in np.unique(within)]
    whole = [] if runs is None else [run for run in groups if (labels[run] == labels[run[0]]).all()]
    pure = [[run for run in whole if folds[run[0]] == fold] for fold in np.unique(folds)] if whole else []
    together = np.concatenate(groups)
    grouped = labels[together]
    mixed = grouped.copy()
    parts = np.split(mixed, np.cumsum([len(group) for group in groups])[:-1])  # views
    for i in range(count):
        rng = np.random.default_rng(seed_for(seed, "permutation", *names, first + i))
        mixed[:] = grouped
        for part in parts:
            rng.shuffle(part)
        shuffled[i, together] = mixed
        for alike in pure:
            for run, other in zip(alike, rng.permutation(len(alike)), strict=True):
                shuffled[i, run] = labels[alike[other][0]]
    return shuffled


def subsampled(labels: IntArray, *, seed: int, names: tuple[str, ...]) -> IntArray:
    """Draw as many trials of each class, without replacement, as the smallest class has; in order."""
    present, counts = np.unique(labels, return_counts=True)
    kept = []
    for each in present.tolist():
        rng = np.random.default_rng(seed_for(seed, "subsample", *names, each))
        kept.append(rng.choice(np.flatnonzero(labels == each), counts.min(), replace=False))
    return np.sort(np.concatenate(kept))
