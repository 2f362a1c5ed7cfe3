"""One participant of the thesis workload through the library's own functions, as the jobs call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.thesis_data import Participant
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.apply import StackedWeights, apply_weights, stack_weights
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.metrics.scores import cross_validated_votes, recall_scores
from shortloop.eeg.decoding.models import BinModels
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin, warm_up

N_CLASSES = 3
DECODING = DecodingSettings(scaling="separate")
ESTIMATOR = LinearSvmSettings()
PER_UNIT = 50  # permutations re-tallied at once, as in the stage


@dataclass(frozen=True)
class Applied:
    """All classifiers, ready for `apply`."""

    stacked: StackedWeights
    intercepts: FloatArray
    has_model: np.ndarray


def ready() -> None:
    """Compile and import, so that no measurement holds it."""
    warm_up(ESTIMATOR)


def folds_of(labels: IntArray) -> IntArray:
    """The stratified folds of the thesis workload.

    labels: int, (trials,)
    returns: int, (trials,)
    """
    return stratified_folds(labels, DECODING.folds, 0)


def train(x: FloatArray, labels: IntArray, folds: IntArray) -> BinModels:
    """Train one bin.

    x: float, (trials, features)
    labels, folds: int, (trials,)
    """
    return train_bin(x, labels, folds, n_classes=N_CLASSES, decoding=DECODING, estimator=ESTIMATOR)


def applied_models(models: Sequence[BinModels]) -> Applied:
    """Stack the classifiers of all bins."""
    return Applied(
        stack_weights(np.stack([each.weights for each in models])),
        np.stack([each.intercepts for each in models]),
        np.stack([each.kept.any(axis=1) for each in models]),
    )


def apply(x: FloatArray, models: Applied) -> IntArray:
    """Votes on one test bin.

    x: float, (trials, features)
    returns: uint8, (training bins, trials, classes)
    """
    return apply_weights(x, models.stacked, models.intercepts, models.has_model, scaling=DECODING.scaling)


def permute(votes: IntArray, labels: IntArray, count: int, folds: IntArray | None = None) -> FloatArray:
    """Scores of votes under shuffled labels.

    votes: int, (\\*cells, trials, classes)
    labels: int, (trials,)
    folds: int, (trials,). Shuffle within these.
    returns: float, (count, \\*cells)
    """
    shuffled = permuted_labels(labels, count, seed=0, names=("Subj01", "test"), folds=folds)
    blocks = [recall_scores(votes, shuffled[at : at + PER_UNIT]) for at in range(0, count, PER_UNIT)]
    return np.concatenate(blocks)


def whole(person: Participant, permutations: int) -> dict[str, FloatArray]:
    """Everything that is computed for one participant: both kinds of features, and the permutations.

    returns: dict of str to array. Scores of the permutations: ``amplitude``, ``power`` (curves) and ``plane``
        (generalization).
    """
    labels, folds = person.labels, folds_of(person.labels)
    null = {}
    for kind, data in (("amplitude", person.amplitude), ("power", person.study)):
        models = [train(x, labels, folds) for x in data]
        votes = cross_validated_votes(np.stack([each.predicted for each in models]), N_CLASSES)
        null[kind] = permute(votes, labels, permutations, folds)
        if kind == "power":
            stacked = applied_models(models)
            null["plane"] = permute(np.stack([apply(x, stacked) for x in person.test]), labels, permutations)
    return null
