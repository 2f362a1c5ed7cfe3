"""How sure a participant's score is: the same score of trials that are drawn again with replacement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shortloop.eeg.score import Score
from shortloop.types import FloatArray, IntArray

__all__ = ["bootstrap_interval", "drawn_again", "scores_of_drawn"]

AT_ONCE = 20_000_000
"""Numbers that are in the memory at once, about: for each cell as many as draws of each trial."""


def bootstrap_interval(
    score: Score,
    evidence: IntArray,
    labels: IntArray,
    groups: IntArray | None = None,
    *,
    draws: int,
    level: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Percentile bootstrap interval of a score over trials, with the predictions as they are.

    Parameters
    ----------
    score : {"balanced-accuracy", "accuracy", "auc"}
        The score.
    evidence : array of int, shape (cells, trials, classes)
        Votes, of ``"auc"`` ranks; as of `shortloop.eeg.decoding.metrics.scores.scores_of`.
    labels : array of int, shape (trials,)
        True class of each trial.
    groups : array of int, shape (trials,), optional
        As of `scores_of`.
    draws : int
        How often trials are drawn.
    level : float
        Coverage.
    rng : Generator
        Source of the draws, the same trials for all cells.

    Returns
    -------
    low, high : array of float, shape (cells,)
        In percent, of ``"auc"`` 0 to 1.

    References
    ----------
    Efron 1979, Bootstrap methods: another look at the jackknife. As many trials are drawn of each class (of
    ``"auc"`` in each group) as there are.
    """
    times = drawn_again(labels, groups if score == "auc" else None, draws, rng)
    some = max(1, AT_ONCE // times.size)
    ends = [
        np.quantile(
            scores_of_drawn(score, evidence[first : first + some], labels, times, groups),
            [(1 - level) / 2, (1 + level) / 2],
            axis=0,
        )
        for first in range(0, len(evidence), some)
    ]
    low, high = np.concatenate(ends, axis=1)
    return low, high


def drawn_again(
    labels: IntArray, groups: IntArray | None, draws: int, rng: np.random.Generator
) -> FloatArray:
    """How often each trial is in each of many samples with replacement, of each class and group apart.

    Parameters
    ----------
    labels : array of int, shape (trials,)
        Class of each trial.
    groups : array of int, shape (trials,), optional
        Default: all are one.
    draws : int
        Number of samples.
    rng : Generator

    Returns
    -------
    array of float, shape (draws, trials)
    """
    times = np.zeros((draws, len(labels)))
    apart = np.zeros_like(labels) if groups is None else np.asarray(groups)
    for group in np.unique(apart):
        for label in np.unique(labels):
            trials = np.flatnonzero((labels == label) & (apart == group))
            if len(trials):
                times[:, trials] = rng.multinomial(len(trials), np.full(len(trials), 1 / len(trials)), draws)
    return times


def scores_of_drawn(
    score: Score, evidence: IntArray, labels: IntArray, times: FloatArray, groups: IntArray | None = None
) -> FloatArray:
    """Scores of samples of trials.

    Parameters
    ----------
    score, evidence, labels, groups
        As of `bootstrap_interval`.
    times : array of float, shape (samples, trials)
        How often each trial is in each sample.

    Returns
    -------
    array of float64, shape (samples, cells)
    """
    if score == "auc":
        return _areas(evidence, labels, times, groups)
    right = _right(evidence, labels)
    if score == "accuracy":
        return 100 * (times @ right.T) / times.sum(axis=1, keepdims=True)
    recall = [
        times[:, member] @ right[:, member].T / times[:, member].sum(axis=1, keepdims=True)
        for member in (labels == label for label in np.unique(labels))
    ]
    return np.asarray(100 * np.mean(recall, axis=0))


def _right(votes: IntArray, labels: IntArray) -> FloatArray:
    """Share of votes that are right, of each cell and trial; 1 / classes where there are none."""
    voters = votes.sum(axis=2, dtype=np.float64)
    mine = votes[:, np.arange(len(labels)), labels].astype(np.float64)
    return np.divide(mine, voters, out=np.full(voters.shape, 1 / votes.shape[2]), where=voters > 0)


def _areas(ranks: IntArray, labels: IntArray, times: FloatArray, groups: IntArray | None) -> FloatArray:
    apart = np.zeros_like(labels) if groups is None else np.asarray(groups)
    found = []
    for group in np.unique(apart):
        trials = np.flatnonzero(apart == group)
        areas = list(_of_classes(ranks[:, trials], labels[trials], times[:, trials]))
        if areas:
            found.append(np.mean(areas, axis=0))
    return np.mean(found, axis=0) if found else np.full((len(times), len(ranks)), 0.5)


def _of_classes(ranks: IntArray, labels: IntArray, times: FloatArray) -> Iterator[FloatArray]:
    """Area of each class against the rest, of those that have one: (samples, cells)."""
    columns = ranks.shape[2]
    for column, label in enumerate(range(columns) if columns > 1 else [1]):
        member = labels == label
        if member.all() or not member.any():
            continue
        pairs = times[:, member].sum(axis=1) * times[:, ~member].sum(axis=1)
        # Wins are halves of whole numbers, which single precision holds exactly up to this.
        drawn: FloatArray = times.T.astype(np.float32 if pairs.max() < 2**22 else np.float64, order="C")
        wins = [_wins(each, member, drawn) for each in ranks[:, :, column]]
        yield np.array(wins, dtype=np.float64).T / pairs[:, np.newaxis]


def _wins(ranks: IntArray, member: np.ndarray, drawn: FloatArray) -> FloatArray:
    """Pairs in which a trial of the class is ahead of one of the rest, in each sample; ties are halves."""
    order = np.argsort(ranks, kind="stable")
    below, wins = np.zeros(drawn.shape[1], drawn.dtype), np.zeros(drawn.shape[1], drawn.dtype)
    for tied in np.split(order, np.flatnonzero(np.diff(ranks[order])) + 1):
        if len(tied) == 1 and member[tied[0]]:
            wins += drawn[tied[0]] * below
        elif len(tied) == 1:
            below += drawn[tied[0]]
        else:
            others = drawn[tied[~member[tied]]].sum(axis=0)
            wins += drawn[tied[member[tied]]].sum(axis=0) * (below + others / 2)
            below += others
    return wins
