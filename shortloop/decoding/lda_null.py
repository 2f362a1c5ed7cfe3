"""Scores of LDA trained on many label vectors: the null distribution of training labels, all at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from shortloop.data import FloatArray, IntArray
from shortloop.decoding.lda_machines import FoldMachines, ManyLabels, fold_machines, winners
from shortloop.study.decoding import DecodingSettings, EstimatorSettings, LdaSettings

__all__ = ["labelling_blocks", "lda_scores", "trains_many"]

# Labellings of a unit of work: the more, the less what they share costs.
LABELLINGS = 1000
# Numbers in the weights that a unit holds, at most.
WEIGHTS = 2**22

# Trials to decide on at a time, about.
ROWS = 240
# Sums of ones in bytes hold up to this many.
BYTE = 255


def trains_many(estimator: EstimatorSettings, decoding: DecodingSettings) -> bool:
    """Whether an analysis can be trained on many label vectors at once: no other step may see labels.

    Parameters
    ----------
    estimator : EstimatorSettings
        The classifier.
    decoding : DecodingSettings
        Folds, selection, scaling.

    Returns
    -------
    bool
    """
    return isinstance(estimator, LdaSettings) and decoding.select_alpha >= 1


def labelling_blocks(count: int, n_trials: int, n_classes: int) -> list[slice]:
    """Divide labellings into blocks that are trained at once, the same whoever computes them.

    Parameters
    ----------
    count : int
        Number of labellings.
    n_trials, n_classes : int
        Of the training phase.

    Returns
    -------
    list of slice
        Of about equal size, about 1,000 where memory allows it.
    """
    size = min(LABELLINGS, max(1, WEIGHTS // (n_trials * (n_classes - 1))))
    number = max(1, round(count / size))
    edges = [count * i // number for i in range(number + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]


def lda_scores(
    x: FloatArray,
    many: ManyLabels,
    test: FloatArray | None,
    test_labels: IntArray | None,
    *,
    within: bool,
    scaling: str,
    shrinkage: float,
) -> tuple[FloatArray, FloatArray | None]:
    """Scores of one training bin for each of many labellings; `retrained_scores` one by one gives the same.

    Parameters
    ----------
    x : array of float, shape (trials, features)
        Features of the training bin.
    many : ManyLabels
        Labellings and folds of its trials.
    test : array of float, shape (test bins, test trials, features), or None
        Features of the decoded phase; None: cross-validation only.
    test_labels : array of int, shape (test trials,), or None
        True labels of the decoded trials; each labelling itself is used when `within`.
    within : bool
        Whether the decoded trials are the training trials.
    scaling : str
        ``"separate"`` or ``"training"``; see `DecodingSettings`.
    shrinkage : float
        λ, above 0, up to 1.

    Returns
    -------
    curve : array of float, shape (labellings,)
        Cross-validated scores, percent.
    plane : array of float, shape (labellings, test bins), or None
        Generalization scores, percent.
    """
    n_classes, n_folds, n_labels = many.n_classes, many.n_folds, len(many)
    curve = np.zeros((n_classes, 1, n_labels), dtype=np.int64)
    n_bins = 0 if test is None else len(test)
    plane = np.zeros((n_classes, n_bins, n_labels), dtype=np.int64)
    own = within or test_labels is None
    for rows, known, machines in zip(many.held_out, many.truth, fold_machines(x, many, shrinkage)):
        _count(machines, x[np.newaxis], rows, known, scaling, curve)
        if test is None:
            continue
        if own:
            _count(machines, test, rows, known, scaling, plane)
        else:
            truth = np.asarray(test_labels) == np.arange(n_classes)[:, np.newaxis]
            _count(machines, test, np.arange(test.shape[1]), truth[:, :, np.newaxis], scaling, plane)
    scores = _percent(curve, many.counts, 1)[:, 0]
    if test is None:
        return scores, None
    if own:
        return scores, _percent(plane, many.counts, 1)
    counts = np.bincount(np.asarray(test_labels), minlength=n_classes)[:, np.newaxis]
    return scores, _percent(plane, np.broadcast_to(counts, (n_classes, n_labels)), n_folds)


def _count(
    machines: FoldMachines,
    test: FloatArray,
    rows: IntArray,
    truth: np.ndarray,
    scaling: str,
    right: IntArray,
) -> None:
    """Add to `right` (classes, test bins, labellings) the trials of each class that are called it."""
    n_bins, n_classes = len(test), len(right)
    step = max(1, ROWS // len(rows))
    for first in range(0, n_bins, step):
        bins = slice(first, min(first + step, n_bins))
        coordinates = machines.coordinates(test[bins][:, rows], scaling)
        sets = bins.stop - bins.start
        for part, weights in machines.blocks(len(coordinates)):
            decided = coordinates @ weights
            here = truth if truth.shape[2] == 1 else truth[:, :, part]
            if n_classes == 2:
                called = (decided > 0).reshape(sets, len(rows), -1)
                second = _sums(called & here[1])
                # Of all that are called the second class, the others are wrong.
                right[1, bins, part] += second
                right[0, bins, part] += here[0].sum(axis=0) - (_sums(called) - second)
                continue
            won = winners(decided.reshape(len(decided), n_classes - 1, -1)).reshape(sets, len(rows), -1)
            for k in range(n_classes):
                right[k, bins, part] += _sums((won == k) & here[k])


def _sums(masks: np.ndarray) -> IntArray:
    """Sums over trials of masks (sets, trials, labellings)."""
    ones = masks.view(np.uint8)
    if ones.shape[1] <= BYTE:
        return np.asarray(ones.sum(axis=1, dtype=np.uint8), dtype=np.int64)
    return np.asarray(ones.sum(axis=1, dtype=np.int64))


def _percent(right: IntArray, counts: IntArray, voters: int) -> FloatArray:
    """Mean recall (labellings × bins), as `recall_scores` computes it, to the last bit."""
    recall = np.zeros(right.shape[1:])
    for k in range(len(right)):
        whole = (float(voters) * counts[k]) * np.ones(right.shape[1:])
        recall += np.divide(right[k], whole, out=np.zeros_like(whole), where=whole > 0)
    present = (counts > 0).sum(axis=0)
    return np.ascontiguousarray((100 * (recall / present)).T)
