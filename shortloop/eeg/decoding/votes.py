"""Compiled parts of applying classifiers: copying the features of a training bin, and counting votes."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def copy_features(rows, features, some, squares):  # type: ignore[no-untyped-def]
    """Copy the rows `features` of all trials to `some`, and each trial's sum of squares to `squares`."""
    squares[:] = 0.0
    for j in range(len(features)):
        feature = features[j]
        for i in range(rows.shape[1]):
            value = rows[feature, i]
            some[j, i] = value
            squares[i] += value * value


@numba.njit(cache=True)
def count_votes(  # type: ignore[no-untyped-def]
    decisions, some, squares, weights, lengths, intercepts, has_model, unit, votes, left
):
    """Add each fold's vote on every trial (trials, classes), for the first class of largest decision.

    Rounding can move the difference of two decisions. A dot product of n terms is off by at most n
    roundings of the product of its vectors' lengths (Higham 2002, Accuracy and stability of numerical
    algorithms, section 3.1, and Cauchy-Schwarz); rounding the vectors themselves adds two more. Where that
    may change the winner, the product is taken again in double precision. What is left then is the
    rounding of the features; where that may change it, the vote is left open.

    decisions: (folds · classes, trials), products of weights (folds · classes, features) and features
    some, squares: (features, trials), and their sums of squares
    left: int, (folds · trials, 2), filled with fold and trial of open votes; their number is returned
    """
    n_folds, n_classes = intercepts.shape
    decision = np.empty(n_classes)
    n_left = 0
    for fold in range(n_folds):
        if not has_model[fold]:
            continue
        first = fold * n_classes
        rounding = 1.01 * 2 * unit * lengths[first : first + n_classes].max()
        for trial in range(decisions.shape[1]):
            for k in range(n_classes):
                decision[k] = decisions[first + k, trial] + intercepts[fold, k]
            winner, margin = _winner(decision)
            moved = rounding * np.sqrt(squares[trial])
            if margin <= (len(some) + 4) * moved:
                decision[:] = intercepts[fold]
                for j in range(len(some)):
                    for k in range(n_classes):
                        decision[k] += weights[first + k, j] * some[j, trial]
                winner, margin = _winner(decision)
            if margin <= moved:
                left[n_left] = fold, trial
                n_left += 1
            else:
                votes[trial, winner] += 1
    return n_left


@numba.njit(cache=True)
def _winner(decision):  # type: ignore[no-untyped-def]
    """Index of the first largest, and how far the second lies below it."""
    winner, largest, second = 0, -np.inf, -np.inf
    for k in range(len(decision)):
        if decision[k] > largest:
            winner, largest, second = k, decision[k], largest
        elif decision[k] > second:
            second = decision[k]
    return winner, largest - second
