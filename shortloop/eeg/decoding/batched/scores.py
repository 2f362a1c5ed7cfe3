"""Scores of classifiers trained on many label vectors: the null of training labels, all at once."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import ModuleType

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.batched.auc import ROWS, fold_areas, mean_areas
from shortloop.eeg.decoding.batched.classifiers import Machines, winners
from shortloop.eeg.decoding.batched.labellings import Labellings
from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.score import Score

__all__ = ["batched_scores", "can_be_batched", "labelling_blocks", "warm_up_batched"]

# Labellings of a unit of work: the more, the less what they share costs.
LABELLINGS = 1000
# Numbers in the weights that a unit holds, at most.
WEIGHTS = 2**22

# Sums of ones in bytes hold up to this many.
BYTE = 255


def can_be_batched(estimator: EstimatorSettings, decoding: DecodingSettings) -> bool:
    """Whether an analysis can be trained on many label vectors at once: no other step may see labels."""
    sees_labels = decoding.select_alpha < 1 or decoding.class_weight is not None
    return bool(estimator.batched) and not sees_labels


def labelling_blocks(count: int, n_trials: int, n_classes: int) -> list[slice]:
    """Divide labellings into blocks that are trained at once, the same whoever computes them."""
    size = min(LABELLINGS, max(1, WEIGHTS // (n_trials * (n_classes - 1))))
    number = max(1, round(count / size))
    edges = [count * i // number for i in range(number + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]


def batched_scores(
    x: FloatArray,
    labellings: Labellings,
    test: FloatArray | None,
    test_labels: IntArray | None,
    *,
    within: bool,
    decoding: DecodingSettings,
    estimator: EstimatorSettings,
    score: Score = "balanced-accuracy",
) -> tuple[FloatArray, FloatArray | None]:
    """Scores of one training bin for each of many labellings, as `retrained_scores` has them one by one.

    LDA and ridge are the same to rounding. Solvers of the SVM stop at a tolerance, here and one by one, so
    that a prediction may differ where a decision lies within it. Of more than two classes that overlap, and
    a C above one over the number of trials that a class has fewer than the others, weights of several classes
    can all be 0: which of them is predicted is then up to the solver, also scikit-learn's.

    x: float, (trials, features). Features of the training bin.
    test: float, (test bins, test trials, features), or None. Features of the decoded phase; None:
        cross-validation only.
    test_labels: int, (test trials,), or None. True labels of the decoded trials; each labelling itself is
        used when `within`.
    curve: float, (labellings,). Cross-validated scores, as `scores_of` has them.
    plane: float, (labellings, test bins), or None. Generalization scores.
    """
    n_classes, n_folds, scaling = labellings.n_classes, labellings.n_folds, decoding.scaling
    judge: Callable[..., np.ndarray] = fold_areas if score == "auc" else _right
    own = within or test_labels is None
    truth = None if own else np.asarray(test_labels) == np.arange(n_classes)[:, np.newaxis]
    curve, plane = [], []
    for rows, known, machines in zip(
        labellings.held_out, labellings.truth, _machines(x, labellings, estimator)
    ):
        curve.append(judge(machines, x[np.newaxis], rows, known, scaling))
        if test is None:
            continue
        if truth is not None:
            rows, known = np.arange(test.shape[1]), truth[:, :, np.newaxis]
        plane.append(judge(machines, test, rows, known, scaling))
    if score == "auc":
        return mean_areas(curve)[:, 0], mean_areas(plane) if plane else None
    scores = _percent(np.add.reduce(curve), labellings.counts, 1, score)[:, 0]
    if not plane:
        return scores, None
    if truth is None:
        return scores, _percent(np.add.reduce(plane), labellings.counts, 1, score)
    counts = np.broadcast_to(truth.sum(axis=1, keepdims=True), (n_classes, len(labellings)))
    return scores, _percent(np.add.reduce(plane), counts, n_folds, score)


def warm_up_batched(estimator: EstimatorSettings) -> None:
    """Compile what `batched_scores` needs, so that processes forked later share it."""
    _trainer(estimator).warm_up()


def _machines(x: FloatArray, labellings: Labellings, estimator: EstimatorSettings) -> Iterator[Machines]:
    found: Iterator[Machines] = _trainer(estimator).train_machines(x, labellings, estimator)
    return found


def _trainer(estimator: EstimatorSettings) -> ModuleType:
    """The module that trains it on many labellings, which is named with a job that does."""
    if not estimator.batched:
        raise TypeError(f"{type(estimator).__name__} is trained on one labelling at a time")
    return importlib.import_module(f"{__package__}.{estimator.batched}")


def _right(machines: Machines, test: FloatArray, rows: IntArray, truth: np.ndarray, scaling: str) -> IntArray:
    """Trials of each class that are called it, (classes, test bins, labellings)."""
    n_bins, n_classes = len(test), len(truth)
    right = np.zeros((n_classes, n_bins, machines.weights.shape[2]), dtype=np.int64)
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
                right[1, bins, part] = second
                right[0, bins, part] = here[0].sum(axis=0) - (_sums(called) - second)
                continue
            won = winners(decided.reshape(len(decided), machines.weights.shape[1], -1), n_classes)
            won = won.reshape(sets, len(rows), -1)
            for k in range(n_classes):
                right[k, bins, part] = _sums((won == k) & here[k])
    return right


def _sums(masks: np.ndarray) -> IntArray:
    """Sums over trials of masks (sets, trials, labellings)."""
    ones = masks.view(np.uint8)
    if ones.shape[1] <= BYTE:
        return np.asarray(ones.sum(axis=1, dtype=np.uint8), dtype=np.int64)
    return np.asarray(ones.sum(axis=1, dtype=np.int64))


def _percent(right: IntArray, counts: IntArray, voters: int, score: Score) -> FloatArray:
    """Scores (labellings × bins) as `scores_of` computes them, to the last bit."""
    if score == "accuracy":
        share = right.sum(axis=0) / (float(voters) * counts.sum(axis=0))
        return np.ascontiguousarray((100 * share).T)
    recall = np.zeros(right.shape[1:])
    for k in range(len(right)):
        whole = (float(voters) * counts[k]) * np.ones(right.shape[1:])
        recall += np.divide(right[k], whole, out=np.zeros_like(whole), where=whole > 0)
    present = (counts > 0).sum(axis=0)
    return np.ascontiguousarray((100 * (recall / present)).T)
