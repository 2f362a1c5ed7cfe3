"""Cross-validated LDA of every bin, trained on many label vectors at once."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.batched.closed_form import train_machines
from shortloop.eeg.decoding.batched.scores import Labellings, winners
from shortloop.eeg.decoding.estimators.lda import LdaSettings

__all__ = ["cross_validate_lda"]


def cross_validate_lda(
    data: FloatArray,
    labels: IntArray,
    folds: IntArray,
    *,
    n_classes: int,
    shrinkage: float,
    scaling: str = "training",
    decisions: bool = False,
) -> np.ndarray:
    """Decode held-out trials of each bin, trained on each of many label vectors.

    data: float, (bins, trials, features). Features.
    labels: int, (labellings, trials). Class of each trial under each labelling.
    folds: int, (trials,). Fold that holds out each trial.
    returns: int8, (labellings, bins, trials), or of float64, (labellings, bins, classes − 1, trials)
    """
    labellings = Labellings(labels, folds, n_classes, int(folds.max()) + 1)
    estimator = LdaSettings(shrinkage=shrinkage)
    shape = (len(data), len(folds), n_classes - 1, len(labellings))
    found = np.empty(shape) if decisions else np.empty((*shape[:2], shape[3]), dtype=np.int8)
    for b, x in enumerate(data):
        for rows, machines in zip(labellings.held_out, train_machines(x, labellings, estimator)):
            coordinates = machines.coordinates(x[np.newaxis, rows], scaling)
            for part, weights in machines.blocks(len(rows)):
                decided = (coordinates @ weights).reshape(len(rows), n_classes - 1, -1)
                found[b, rows, ..., part] = decided if decisions else winners(decided, n_classes)
    return np.ascontiguousarray(found.transpose(3, 0, 2, 1) if decisions else found.transpose(2, 0, 1))
