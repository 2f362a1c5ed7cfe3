"""Area under the ROC curve, for many labellings of the same decisions at once.

Decisions do not change when labels are shuffled, so their ranks are taken once; a labelling then costs one
row of a matrix product. The area is linear in the ranks, so that the mean of the areas of several
classifiers is the area of the sum of their ranks: a trial's ranks need no more room than its votes.
"""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray

BLOCK = 2**14  # numbers ranked at a time, 128 KiB: temporaries of this size need no fresh memory

EXACT = 2**24  # whole numbers up to this are exact in single precision


def auc_scores(ranks: IntArray, labels: IntArray, groups: IntArray | None = None) -> FloatArray:
    """Area under the ROC curve, 0 to 1; of more than two classes the mean of each against the rest."""
    # As scikit-learn's ``roc_auc_score(multi_class="ovr")`` without weights; ties count one half. A group
    # that no classifier decides on counts as guessed, 0.5. A class of which a group has all trials or none
    # does not count there; where no class has an area, the score is 0.5.
    # Hand & Till 2001, A simple generalisation of the area under the ROC curve for multiple class
    # classification problems. Forman & Scholz 2010, Apples-to-apples in cross-validation studies, on
    # averaging over folds, as decisions of different classifiers are on scales of their own.
    # ranks: from `decision_ranks`, or the sum over several classifiers, whose mean area it then is
    # labels: (labellings, trials)
    # returns: (labellings, *cells)
    *cells, n_trials, n_columns = ranks.shape
    columns = np.asarray(ranks).reshape(-1, n_trials, n_columns).transpose(2, 1, 0)
    classes = range(n_columns) if n_columns > 1 else [1]  # of two classes both say the same
    total = np.zeros((len(labels), columns.shape[2]))
    counted = np.zeros((len(labels), 1))
    for trials in members_of(groups, n_trials):
        n = len(trials)
        # Sums of ranks are whole numbers, exact in any order of adding.
        deciding = columns[0, trials].sum(axis=0, dtype=np.float64) / (n * (n + 1))  # classifiers
        exact = np.float32 if deciding.max(initial=0) * n * (n + 1) <= EXACT else np.float64
        area = np.zeros_like(total)
        defined = np.zeros_like(counted)
        for k, column in zip(classes, columns, strict=True):
            member = labels[:, trials] == k
            positive = member.sum(axis=1, keepdims=True, dtype=np.float64)
            pairs = positive * (n - positive)
            wins = (member.astype(exact) @ column[trials].astype(exact)).astype(np.float64)
            wins -= deciding * positive * (positive + 1)
            possible = 2 * deciding * pairs
            area += np.divide(wins, possible, out=np.where(pairs > 0, 0.5, 0.0 * wins), where=possible > 0)
            defined += pairs > 0
        total += area / np.maximum(defined, 1)
        counted += defined > 0
    return np.where(counted > 0, total / np.maximum(counted, 1), 0.5).reshape(len(labels), *cells)


def decision_ranks(decisions: FloatArray, groups: IntArray | None = None) -> IntArray:
    """Twice the rank of each trial's decision for each class, 2 for the smallest; ties share their mean."""
    # decisions: (*cells, trials, classes), the larger the likelier
    # groups: (trials,); trials are ranked among those that one classifier decides on, such as a fold's
    # returns: (*cells, trials, classes), of two classes (*cells, trials, 1) of the second's decision less the
    # first's; 0 in groups without decisions
    *cells, n_trials, n_classes = decisions.shape
    if n_classes == 2:
        decisions = decisions[..., 1:] - decisions[..., :1]
    rows = np.moveaxis(np.asarray(decisions, dtype=np.float64), -1, -2).reshape(-1, n_trials)
    found = np.zeros(rows.shape, dtype=rank_type(n_trials))
    for trials in members_of(groups, n_trials):
        known = np.flatnonzero(~np.isnan(rows[:, trials]).any(axis=1))
        found[np.ix_(known, trials)] = rank_rows(rows[np.ix_(known, trials)])
    return np.ascontiguousarray(np.moveaxis(found.reshape(*cells, -1, n_trials), -2, -1))


def rank_type(n_trials: int, n_folds: int = 1) -> type[np.unsignedinteger]:
    """Smallest type that holds the sum of ranks of so many classifiers."""
    return np.uint16 if 2 * n_trials * n_folds < 2**16 else np.uint32


def log_odds(decisions: FloatArray) -> FloatArray:
    """Logarithm of the odds of each class, for classifiers whose probabilities are a softmax."""
    # They order trials as the probabilities do, and differ where those have become 0 or 1.
    # decisions: (classes, *cells), logarithms of the classes' probabilities, each trial's up to a constant
    odds = np.empty(decisions.shape)
    for k in range(len(odds)):
        others = np.delete(decisions, k, axis=0)
        largest = others.max(axis=0)
        # Faster than np.logaddexp, which is not vectorised.
        odds[k] = decisions[k] - largest - np.log(np.exp(others - largest).sum(axis=0))
    return odds


def rank_rows(rows: FloatArray) -> IntArray:
    """Twice the rank of each number in its row, uint32, 2 for the smallest; ties share their mean; no NaN."""
    n = rows.shape[1]
    ranks = np.empty(rows.shape, dtype=np.uint32)
    step = max(1, BLOCK // max(1, n))
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        order = np.argsort(block, axis=1)
        ascending = np.sort(block, axis=1)
        same = ascending[:, 1:] == ascending[:, :-1]
        places = np.tile(np.arange(2, 2 * n + 2, 2, dtype=np.uint32), (len(block), 1))
        tied = np.flatnonzero(same.any(axis=1))  # decisions of continuous data hardly ever do
        if len(tied):
            places[tied] = _shared_places(same[tied])
        order += n * np.arange(len(block))[:, np.newaxis]
        ranks[first : first + step].reshape(-1)[order] = places
    return ranks


def _shared_places(same: np.ndarray) -> IntArray:
    """Twice the mean place of each run of equal numbers, from whether neighbours are equal."""
    end = np.ones((len(same), 1), dtype=bool)
    at = np.arange(same.shape[1] + 1)
    first = np.maximum.accumulate(np.where(np.hstack([end, ~same]), at, 0), axis=1)
    last = np.where(np.hstack([~same, end]), at, len(at))[:, ::-1]
    return np.asarray(first + np.minimum.accumulate(last, axis=1)[:, ::-1] + 2)


def members_of(groups: IntArray | None, n_trials: int) -> list[IntArray]:
    """Trials of each group; all if there are no groups."""
    if groups is None:
        return [np.arange(n_trials)]
    return [np.flatnonzero(np.asarray(groups) == group) for group in np.unique(groups)]
