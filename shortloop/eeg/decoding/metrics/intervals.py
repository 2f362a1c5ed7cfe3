"""Bootstrap intervals of a participant's scores: trials drawn with replacement."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.metrics.auc import members_of
from shortloop.eeg.score_names import Score

AT_ONCE = 20_000_000  # numbers in memory at once, about: for each cell as many as draws of each trial


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
    """Percentile bootstrap interval of a score over trials, with the predictions as they are."""
    # Efron 1979, Bootstrap methods: another look at the jackknife. As many trials are drawn of each class (of
    # ``"auc"`` in each group) as there are.
    # evidence, labels, groups: as of `shortloop.eeg.decoding.metrics.scores.scores_of`, of one labelling
    # returns: lower and upper ends (cells,), in percent, of ``"auc"`` 0 to 1
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
    """Count each trial (draws, trials) in samples with replacement within each class and group."""
    times = np.zeros((draws, len(labels)))
    for group in members_of(groups, len(labels)):
        for label in np.unique(labels):
            trials = group[labels[group] == label]
            if n := len(trials):  # counts in n draws; faster than `rng.multinomial`
                drawn = rng.integers(n, size=(draws, n)) + n * np.arange(draws)[:, np.newaxis]
                times[:, trials] = np.bincount(drawn.ravel(), minlength=draws * n).reshape(draws, n)
    return times


def scores_of_drawn(
    score: Score, evidence: IntArray, labels: IntArray, times: FloatArray, groups: IntArray | None = None
) -> FloatArray:
    """Scores (samples, cells) of samples of trials, by the counts of each trial (samples, trials)."""
    if score == "auc":
        return _areas(evidence, labels, times, groups)
    voters = evidence.sum(axis=2, dtype=np.float64)
    mine = evidence[:, np.arange(len(labels)), labels].astype(np.float64)
    right: FloatArray = np.full(voters.shape, 1 / evidence.shape[2])  # share of correct votes; a guess
    np.divide(mine, voters, out=right, where=voters > 0)
    if score == "accuracy":
        return np.asarray(100 * (times @ right.T) / times.sum(axis=1, keepdims=True))
    recall = [
        times[:, member] @ right[:, member].T / times[:, member].sum(axis=1, keepdims=True)
        for member in (labels == label for label in np.unique(labels))
    ]
    return np.asarray(100 * np.mean(recall, axis=0))


def _areas(ranks: IntArray, labels: IntArray, times: FloatArray, groups: IntArray | None) -> FloatArray:
    """Area (samples, cells) of each class against the rest, mean over classes and groups that have one."""
    found, columns = [], ranks.shape[2]
    for trials in members_of(groups, len(labels)):
        areas: list[FloatArray] = []
        for column, label in enumerate(range(columns) if columns > 1 else [1]):
            member, drawn = labels[trials] == label, times[:, trials]
            if member.all() or not member.any():
                continue
            pairs = drawn[:, member].sum(axis=1) * drawn[:, ~member].sum(axis=1)
            # Wins are halves of whole numbers, which single precision holds exactly up to this.
            counts: FloatArray = drawn.T.astype(np.float32 if pairs.max() < 2**22 else np.float64, order="C")
            wins = [_wins(each, member, counts) for each in ranks[:, trials, column]]
            areas.append(np.array(wins, dtype=np.float64).T / pairs[:, np.newaxis])
        if areas:
            found.append(np.mean(areas, axis=0))
    return np.mean(found, axis=0) if found else np.full((len(times), len(ranks)), 0.5)


def _wins(ranks: IntArray, member: np.ndarray, drawn: FloatArray) -> FloatArray:
    """Pairs in each sample in which a trial of the class ranks above one of the rest; ties count 1/2."""
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
