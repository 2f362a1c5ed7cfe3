"""Classes of the same size, by leaving out trials of the larger ones."""

from __future__ import annotations

import numpy as np

from shortloop.base.seeds import seed_for
from shortloop.base.types import IntArray

__all__ = ["subsampled"]


def subsampled(labels: IntArray, *, seed: int, names: tuple[str, ...]) -> IntArray:
    """Trials of which each class has as many as the smallest.

    labels: int, (trials,). Class of each trial.
    returns: int. Numbers of the trials that are kept, ascending: those of the larger classes are drawn at
        random, without replacement, each class by draws of its own.
    """
    present, counts = np.unique(labels, return_counts=True)
    kept = []
    for each in present.tolist():
        rng = np.random.default_rng(seed_for(seed, "subsample", *names, each))
        kept.append(rng.choice(np.flatnonzero(labels == each), counts.min(), replace=False))
    return np.sort(np.concatenate(kept))
