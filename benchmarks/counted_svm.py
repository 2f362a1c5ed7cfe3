"""How many Gram rows a plain dual coordinate descent adds up: the measure of an SVM solver's work."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.types import FloatArray, IntArray

__all__ = ["updates"]

MAX_PASSES = 10_000
ORDERS = 100  # shuffled orders of a pass, used in turn


def updates(gram: FloatArray, labels: IntArray, grid: Sequence[float], inner_folds: int, tol: float) -> int:
    """Coordinate updates of all one-versus-rest problems over the grid, the inner folds and the refit.

    Warm starts along C, no shrinking, rows in a random order.

    Parameters
    ----------
    gram : array of float, shape (trials, trials)
        Inner products, plus 1 for the intercept.
    labels : array of int, shape (trials,)
        Class of each trial.
    grid : sequence of float
        Values of C, ascending.
    inner_folds : int
        Stratified unshuffled folds.
    tol : float
        Stopping tolerance of the projected gradients.

    Returns
    -------
    int

    References
    ----------
    Hsieh et al. 2008, A dual coordinate descent method for large-scale linear SVM, algorithm 1.
    """
    inner = stratified_folds(labels, inner_folds)
    everything = np.ones(len(labels), dtype=bool)
    rng = np.random.default_rng(0)
    counted = 0
    for train in [inner != fold for fold in range(inner_folds)] + [everything]:
        inside = np.ascontiguousarray(gram[np.ix_(train, train)])
        orders = np.stack([rng.permutation(len(inside)) for _ in range(ORDERS)])
        for k in np.unique(labels):
            y = np.where(labels[train] == k, 1.0, -1.0)
            counted += _path(inside, y, np.array(grid, dtype=np.float64), tol, orders)
    return counted


@numba.njit
def _path(gram, y, grid, tol, orders):  # type: ignore[no-untyped-def]
    n = len(y)
    alpha, decision = np.zeros(n), np.zeros(n)
    counted = 0
    for C in grid:
        for number in range(MAX_PASSES):
            largest, smallest = -np.inf, np.inf
            for i in orders[number % len(orders)]:
                gradient = y[i] * decision[i] - 1.0
                projected = gradient
                if alpha[i] <= 0.0:
                    projected = min(gradient, 0.0)
                elif alpha[i] >= C:
                    projected = max(gradient, 0.0)
                largest, smallest = max(largest, projected), min(smallest, projected)
                if projected != 0.0:
                    new = min(max(alpha[i] - gradient / gram[i, i], 0.0), C)
                    if new != alpha[i]:
                        for j in range(n):
                            decision[j] += y[i] * (new - alpha[i]) * gram[i, j]
                        alpha[i] = new
                        counted += 1
            if largest - smallest <= tol:
                break
    return counted
