"""Confusion matrices and scores of predictions, and of the same predictions under shuffled labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.metrics.auc import auc_scores, decision_ranks
from shortloop.eeg.score_names import Score


def cross_validated_votes(predicted: IntArray, n_classes: int) -> IntArray:
    """Convert predictions of held-out trials (bins, trials), −1: none, to votes (bins, trials, classes)."""
    return np.asarray((predicted[..., np.newaxis] == np.arange(n_classes)).astype(np.uint8))


def held_out_evidence(score: Score, models: Mapping[str, np.ndarray], n_classes: int) -> IntArray:
    """Convert predictions of held-out trials to votes, for ``"auc"`` decisions to ranks within folds."""
    if score == "auc":
        return decision_ranks(models["decisions"], models["folds"])
    return cross_validated_votes(models["predicted"], n_classes)


class Known(NamedTuple):
    """What is known of the predictions in one kind of map."""

    evidence: IntArray  # votes, or ranks for ``"auc"``, (*cells, trials, classes)
    labels: IntArray  # (trials,), true classes
    groups: IntArray | None  # (trials,), of trials by their classifier


def evidence_of_maps(
    score: Score,
    models: Mapping[str, np.ndarray],
    applied: Mapping[str, np.ndarray] | None,
    n_classes: int,
    *,
    within: bool,
) -> dict[str, Known]:
    """Collect what scores of the ``"curve"``, and of a ``"plane"`` if there is one, are computed from."""
    folds = np.asarray(models["folds"])
    found = {"curve": Known(held_out_evidence(score, models, n_classes), np.asarray(models["labels"]), folds)}
    if applied is not None:
        known = np.asarray(applied["ranks" if score == "auc" else "votes"])
        found["plane"] = Known(known, np.asarray(applied["labels"]), folds if within else None)
    return found


def scores_of(
    score: Score, evidence: IntArray, labels: IntArray, groups: IntArray | None = None
) -> FloatArray:
    r"""Scores for many labellings of the same trials at once.

    Parameters
    ----------
    score : {"balanced-accuracy", "accuracy", "auc"}
        See `recall_scores`, `accuracy_scores` and `auc_scores`.
    evidence : array of int, shape (\*cells, trials, classes)
        What is known of the predictions: votes, of ``"auc"`` ranks.
    labels : array of int, shape (labellings, trials)
        Class of each trial under each labelling.
    groups : array of int, shape (trials,), optional
        As of `auc_scores`; of no effect on the others.

    Returns
    -------
    array of float64, shape (labellings, \*cells)
        In percent, of ``"auc"`` 0 to 1.
    """
    if score == "auc":
        return auc_scores(evidence, labels, groups)
    scores = recall_scores if score == "balanced-accuracy" else accuracy_scores
    return scores(evidence, labels)


def chance_level(score: Score, labels: IntArray, n_classes: int) -> float | None:
    """Return the score that is expected without information."""
    # Brodersen et al. 2010, The balanced accuracy and its posterior distribution. Combrisson & Jerbi 2015,
    # Exceeding chance level by chance, on permutations instead of a theoretical level.
    if score == "auc":
        return 0.5
    counts = np.bincount(labels, minlength=n_classes)
    if score == "accuracy" and (counts != counts[0]).any():
        return None
    return 100 / n_classes


def confusions(votes: IntArray, labels: IntArray, n_folds: int = 1) -> FloatArray:
    r"""Sum votes (\*cells, trials, classes) to confusion matrices (\*cells, true class, predicted class)."""
    truth = (labels == np.arange(votes.shape[-1])[:, np.newaxis]).astype(np.float64)
    return np.asarray(np.matmul(truth, votes.astype(np.float64)) / n_folds)


def recall_scores(votes: IntArray, labels: IntArray) -> FloatArray:
    """Mean over classes of recall, in percent, for many labellings of the same trials at once."""
    # Only labels differ between permutations, so all of them are one matrix product per class; the counts are
    # whole numbers far below 2^24, exact in single precision.
    # A trial that no classifier voted on, as its fold kept no feature, counts as guessed: 1 / classes of it
    # is right. Leaving it out instead biases cross-validated scores of pure noise below chance, as the folds
    # that keep features are those whose held-out trials happen to differ most from the others.
    # Balanced accuracy: Brodersen et al. 2010, The balanced accuracy and its posterior distribution.
    # votes: (*cells, trials, classes); labels: (labellings, trials); returns: (labellings, *cells)
    recall = np.zeros((len(labels), votes[..., 0, 0].size))
    present = np.zeros((len(labels), 1))
    for right, possible in _tallies(votes, labels):
        recall += np.divide(right, possible, out=np.zeros_like(right), where=possible > 0)
        present += possible[:, :1] > 0
    return (100 * (recall / present)).reshape(len(labels), *votes.shape[:-2])


def accuracy_scores(votes: IntArray, labels: IntArray) -> FloatArray:
    r"""Share of correct votes in percent, like `recall_scores`; trials without votes count as guessed."""
    tallies = list(_tallies(votes, labels))
    right = np.sum([each for each, _ in tallies], axis=0)
    possible = np.sum([each for _, each in tallies], axis=0)
    return np.asarray((100 * (right / possible)).reshape(len(labels), *votes.shape[:-2]))


def _tallies(votes: IntArray, labels: IntArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Correct and possible votes for each class; both (labellings, cells)."""
    *_, n_trials, n_classes = votes.shape
    flat = votes.reshape(-1, n_trials, n_classes)
    cast = np.ascontiguousarray(flat.transpose(2, 1, 0), dtype=np.float32)  # (classes, trials, cells)
    per_trial = cast.sum(axis=0)
    voters = per_trial.max(axis=0).astype(np.float64)  # of a trial, in each cell
    if not ((per_trial == 0) | (per_trial == voters)).all():
        raise ValueError("trials of one cell have different numbers of votes")
    voters = np.maximum(voters, 1)
    silent = (per_trial == 0).astype(np.float32)
    some_silent = silent.any()
    for k in range(n_classes):
        member = (labels == k).astype(np.float32)
        right = (member @ cast[k]).astype(np.float64)
        if some_silent:
            right += voters * (member @ silent).astype(np.float64) / n_classes
        yield right, voters * member.sum(axis=1, keepdims=True, dtype=np.float64)
