"""Areas under the ROC curve of classifiers that are trained on many label vectors at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.batched.classifiers import Machines
from shortloop.eeg.decoding.metrics.auc import BLOCK, log_odds, rank_rows

__all__ = ["ROWS", "fold_areas", "mean_areas"]

ROWS = 240
"""Trials to decide on at a time, about."""


def fold_areas(
    machines: Machines, test: FloatArray, rows: IntArray, truth: np.ndarray, scaling: str
) -> FloatArray:
    """Areas of one training bin and fold, for each labelling; as `auc_scores` of one group of trials.

    test: float, (test bins, trials, features). Features of the decoded phase.
    rows: int. Trials to decide on, of every bin.
    truth: bool, (classes, trials to decide on, labellings or 1). Their classes under each labelling, or under
        all.
    returns: float64, (labellings, test bins). 0 to 1; NaN under labellings that put all these trials into one
        class.
    """
    n_rows = len(rows)
    found = np.empty((machines.weights.shape[2], len(test)))
    step = max(1, ROWS // n_rows)
    for first in range(0, len(test), step):
        bins = slice(first, min(first + step, len(test)))
        coordinates = machines.coordinates(test[bins][:, rows], scaling)
        sets = bins.stop - bins.start
        for part, weights in machines.blocks(len(coordinates)):
            decided = (coordinates @ weights).reshape(sets, n_rows, -1, part.stop - part.start)
            few = max(1, BLOCK // (len(truth) * sets * n_rows))
            for start in range(part.start, part.stop, few):
                some = slice(start, min(start + few, part.stop))
                these = decided[..., some.start - part.start : some.stop - part.start]
                here = truth if truth.shape[2] == 1 else truth[:, :, some]
                found[some, bins] = _area(np.ascontiguousarray(these.transpose(2, 3, 0, 1)), here)
    return found


def mean_areas(areas: Sequence[FloatArray]) -> FloatArray:
    """Mean over the folds that have an area; 0.5 where none has.

    areas: sequence of array of float, (labellings, test bins). Of each fold, from `fold_areas`.
    returns: float64, (labellings, test bins)
    """
    stacked = np.stack(areas)
    known = ~np.isnan(stacked)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), 0.5)


def _area(decided: FloatArray, truth: np.ndarray) -> FloatArray:
    """Area (labellings, sets) from decisions (machines, labellings, sets, trials) and members of each class
    (classes, trials, labellings or 1)."""
    n_classes = len(truth)
    if n_classes == 2:
        truth = truth[1:]
        decided = decided if len(decided) == 1 else decided[1:] - decided[:1]
    elif len(decided) < n_classes:
        against_first = np.concatenate([np.zeros_like(decided[:1]), decided])
        decided = log_odds(against_first)
    n_rows = decided.shape[-1]
    ranks = rank_rows(decided.reshape(-1, n_rows)).reshape(decided.shape)
    members = truth.transpose(0, 2, 1).astype(np.float64)[..., np.newaxis]  # (classes, labellings, trials, 1)
    wins = (ranks.astype(np.float64) @ members)[..., 0]  # (classes, labellings, sets)
    positive = members.sum(axis=2)
    wins -= positive * (positive + 1)
    pairs = positive * (n_rows - positive)
    area = np.where(pairs > 0, wins / np.maximum(2 * pairs, 1), 0.0).sum(axis=0)
    defined = (pairs > 0).sum(axis=0)
    return np.where(defined > 0, area / np.maximum(defined, 1), np.nan)
