"""Classifiers trained on many label vectors of the same trials: scores for the null of training labels."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import ModuleType

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.metrics.auc import BLOCK, log_odds, rank_rows
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.selection.scaling import zscore
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.solvers.common import dummy_codes
from shortloop.eeg.score_names import Score

LABELLINGS = 1000  # of a unit of work: the more, the less their shared part costs
WEIGHTS = 2**22  # numbers in the weights that a unit holds, at most
ROWS = 240  # trials to decide on at a time, about
BYTE = 255  # sums of ones in bytes hold up to this many
IN_CACHE = 131072  # numbers in the largest temporary of a block of label vectors, which must stay in a cache


def can_be_batched(estimator: EstimatorSettings, decoding: DecodingSettings) -> bool:
    """True if no step but training sees labels, so that many label vectors can be trained at once."""
    return bool(estimator.batched) and not decoding.sees_labels


def labelling_blocks(count: int, n_trials: int, n_classes: int) -> list[slice]:
    """Divide labellings into blocks that are trained at once, the same on any engine."""
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
    """Scores of one training bin for each of many labellings, as `retrained_scores` has them one by one."""
    # LDA and ridge are the same to rounding. Solvers of the SVM stop at a tolerance, here and one by one, so
    # that a prediction may differ where a decision lies within it. Of more than two classes that overlap, and
    # a C above one over the number of trials that a class has fewer than the others, weights of several
    # classes can all be 0: which of them is predicted is then up to the solver, also scikit-learn's.
    # x: (trials, features); test: (test bins, test trials, features), None for cross-validation only
    # returns: cross-validated scores (labellings,), and generalization scores (labellings, test bins) or None
    n_classes, n_folds, scaling = labellings.n_classes, labellings.n_folds, decoding.scaling
    judge: Callable[..., np.ndarray] = _areas if score == "auc" else _right
    own = within or test_labels is None
    truth = None if own else np.asarray(test_labels) == np.arange(n_classes)[:, np.newaxis]
    curve, plane = [], []
    trained: Iterator[Machines] = _trainer(estimator).train_machines(x, labellings, estimator)
    for rows, known, machines in zip(labellings.held_out, labellings.truth, trained):
        curve.append(judge(machines, x[np.newaxis], rows, known, scaling))
        if test is None:
            continue
        if truth is not None:
            rows, known = np.arange(test.shape[1]), truth[:, :, np.newaxis]
        plane.append(judge(machines, test, rows, known, scaling))
    if score == "auc":
        return _mean_areas(curve)[:, 0], _mean_areas(plane) if plane else None
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


class Labellings:
    """Label vectors (labellings, trials) with common folds (trials,), in the forms that training needs."""

    def __init__(self, labels: IntArray, folds: IntArray, n_classes: int, n_folds: int) -> None:
        self.labels = np.asarray(labels)
        self.folds, self.n_classes, self.n_folds = folds, n_classes, n_folds
        self._inner: dict[tuple[int, int], IntArray] = {}
        members = np.arange(n_classes, dtype=self.labels.dtype)[:, np.newaxis, np.newaxis] == self.labels.T
        self.held_out = [np.flatnonzero(folds == fold) for fold in range(n_folds)]
        self.truth = [members[:, rows] for rows in self.held_out]  # (classes, held-out trials, labellings)
        held_out_counts = np.stack([each.sum(axis=1) for each in self.truth])
        self.counts: IntArray = held_out_counts.sum(axis=0)  # (classes, labellings)
        self.train_counts = (self.counts - held_out_counts).astype(np.float64)  # (folds, …)
        if (self.counts.sum(axis=0) != len(folds)).any():
            problem = "a labelling has an unknown class"
            raise InputError(problem, field="labels", expected=f"0 … {n_classes - 1}, no others")

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def codes(self) -> FloatArray:
        """Dummy codes (trials, classes − 1, labellings)."""
        return dummy_codes(self.labels, self.n_classes)

    @cached_property
    def held_out_codes(self) -> list[FloatArray]:
        """Dummy codes of each fold's held-out trials, (trials, (classes − 1) · labellings)."""
        return [self.codes[rows].reshape(len(rows), -1) for rows in self.held_out]

    @cached_property
    def train(self) -> list[IntArray]:
        """Training trials of each fold."""
        return [np.flatnonzero(self.folds != fold) for fold in range(self.n_folds)]

    @cached_property
    def signs(self) -> FloatArray:
        """1 for the members of a machine's class, −1 for the others, (trials, machines, labellings)."""
        # Machines are one-versus-rest; two classes need only the second's.
        classes = np.arange(self.n_classes, dtype=self.labels.dtype)[1 if self.n_classes == 2 else 0 :]
        return np.where(self.labels.T[:, np.newaxis] == classes[:, np.newaxis], 1.0, -1.0)

    def inner_folds(self, fold: int, n_inner: int) -> IntArray:
        """Inner folds of a fold's training trials under each labelling, (training trials, labellings)."""
        if (fold, n_inner) not in self._inner:
            known = self.labels[:, self.train[fold]]
            self._inner[fold, n_inner] = np.stack([stratified_folds(each, n_inner) for each in known], axis=1)
        return self._inner[fold, n_inner]


@dataclass(frozen=True)
class Machines:
    """Linear classifiers of one bin and fold, trained on each of many label vectors.

    There is a machine for each class, and the largest decision wins; or one for each class but the first,
    against the first.
    """

    mean: FloatArray  # (features,), over the training trials
    std: FloatArray
    weights: FloatArray  # (coordinates + 1, machines, labellings), of a trial's coordinates and 1
    project: Callable[[FloatArray], FloatArray]  # scaled trials, which it may overwrite, to coordinates

    def coordinates(self, x: FloatArray, scaling: str) -> FloatArray:
        """Coordinates (sets · trials, coordinates + 1) of trials (sets, trials, features), the last one 1."""
        # The trials of a set are scaled together.
        if scaling == "training":
            scaled = (x.reshape(-1, x.shape[-1]) - self.mean) / self.std
        else:
            scaled = np.concatenate([zscore(each) for each in x])
        found = np.ones((len(scaled), len(self.weights)))
        found[:, :-1] = self.project(scaled)
        return found


def block_size(numbers: int) -> int:
    """Label vectors in a block, of so many numbers each."""
    return max(64, IN_CACHE // max(1, numbers) // 64 * 64)


def winners(decisions: FloatArray, n_classes: int) -> IntArray:
    """Predicted classes, int8 (trials, labellings), of decisions (trials, machines, labellings)."""
    # The first of equal decisions wins.
    first = 0 if decisions.shape[1] == n_classes else 1  # class of the first machine
    best = decisions[:, 0] if first == 0 else np.maximum(decisions[:, 0], 0.0)
    won = np.zeros(best.shape, dtype=np.int8) if first == 0 else (decisions[:, 0] > 0).astype(np.int8)
    for k in range(1, decisions.shape[1]):
        won[decisions[:, k] > best] = k + first
        best = np.maximum(best, decisions[:, k])
    return won


def _trainer(estimator: EstimatorSettings) -> ModuleType:
    """The module that trains it on many labellings; a job that uses it declares it, for its key."""
    return importlib.import_module(f"{__package__}.{estimator.batched}")


def _right(machines: Machines, test: FloatArray, rows: IntArray, truth: np.ndarray, scaling: str) -> IntArray:
    """Correctly predicted trials of each class, (classes, test bins, labellings)."""
    # test: (test bins, trials, features), of which `rows` are decided on
    # truth: bool, (classes, rows, labellings or 1)
    n_classes = len(truth)
    right = np.zeros((n_classes, len(test), machines.weights.shape[2]), dtype=np.int64)
    for bins, part, decided in _decisions(machines, test, rows, scaling):
        here = truth if truth.shape[2] == 1 else truth[:, :, part]
        if n_classes == 2:
            called = decided[:, :, 0] > 0
            second = _sums(called & here[1])
            # Trials that are wrongly called the second class are not called the first.
            right[1, bins, part] = second
            right[0, bins, part] = here[0].sum(axis=0) - (_sums(called) - second)
            continue
        sets, n_rows, n_machines, n_labels = decided.shape
        won = winners(decided.reshape(-1, n_machines, n_labels), n_classes).reshape(sets, n_rows, n_labels)
        for k in range(n_classes):
            right[k, bins, part] = _sums((won == k) & here[k])
    return right


def _decisions(
    machines: Machines, test: FloatArray, rows: IntArray, scaling: str
) -> Iterator[tuple[slice, slice, FloatArray]]:
    """Decisions (bins, rows, machines, labellings) for some test bins and labellings at a time."""
    step, (length, n_machines, n_labels) = max(1, ROWS // len(rows)), machines.weights.shape
    for first in range(0, len(test), step):
        bins = slice(first, min(first + step, len(test)))
        coordinates = machines.coordinates(test[bins][:, rows], scaling)
        size = block_size(len(coordinates) * n_machines)  # whose decisions on these trials stay in cache
        for start in range(0, n_labels, size):
            part = slice(start, min(start + size, n_labels))
            weights = machines.weights[:, :, part].reshape(length, -1)
            shape = (bins.stop - first, len(rows), n_machines, part.stop - start)
            yield bins, part, (coordinates @ weights).reshape(shape)


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
    return np.ascontiguousarray((100 * (recall / (counts > 0).sum(axis=0))).T)


def _areas(
    machines: Machines, test: FloatArray, rows: IntArray, truth: np.ndarray, scaling: str
) -> FloatArray:
    """Areas (labellings, test bins) as `auc_scores` of one group of trials; NaN if all are of one class."""
    found = np.empty((machines.weights.shape[2], len(test)))
    for bins, part, decided in _decisions(machines, test, rows, scaling):
        few = max(1, BLOCK // (len(truth) * decided.shape[0] * decided.shape[1]))
        for start in range(part.start, part.stop, few):
            some = slice(start, min(start + few, part.stop))
            these = decided[..., some.start - part.start : some.stop - part.start]
            here = truth if truth.shape[2] == 1 else truth[:, :, some]
            found[some, bins] = _area(np.ascontiguousarray(these.transpose(2, 3, 0, 1)), here)
    return found


def _mean_areas(areas: Sequence[FloatArray]) -> FloatArray:
    """Mean (labellings, test bins) over the folds that have an area; 0.5 where none has."""
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
        decided = log_odds(np.concatenate([np.zeros_like(decided[:1]), decided]))
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
