"""Cross-validated LDA of every bin, trained on many label vectors at once."""

from __future__ import annotations

import numpy as np

from shortloop.eeg.decoding.batched.classifiers import winners
from shortloop.eeg.decoding.batched.labellings import Labellings
from shortloop.eeg.decoding.batched.lda import train_machines
from shortloop.eeg.decoding.estimators.lda import LdaSettings
from shortloop.eeg.decoding.solvers.lda import check_shrinkage
from shortloop.types import FloatArray, IntArray

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

    Parameters
    ----------
    data : array of float, shape (bins, trials, features)
        Features.
    labels : array of int, shape (labellings, trials)
        Class of each trial under each labelling.
    folds : array of int, shape (trials,)
        Fold that holds out each trial.
    n_classes : int
        Number of classes.
    shrinkage : float
        λ, above 0, up to 1.
    scaling : str, default "training"
        How held-out trials are z-scored, ``"separate"`` or ``"training"``; see `DecodingSettings`.
    decisions : bool, default False
        Decisions instead of classes.

    Returns
    -------
    array of int8, shape (labellings, bins, trials), or of float64, (labellings, bins, classes − 1, trials)
        Predicted classes, or what the discriminant of each class but the first exceeds the first's by:
        for two classes scikit-learn's ``decision_function``.

    Raises
    ------
    InputError
        If λ is out of range, or a class is absent from a fold's training trials.
    """
    check_shrinkage(shrinkage)
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
