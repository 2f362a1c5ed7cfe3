"""One-versus-rest linear SVM on a Gram matrix that the grid, the inner folds and the classes share.

liblinear's problem: L2 penalty, hinge loss, the intercept an extra feature of value 1 that is penalised
like the others. With more features than trials the dual is solved fastest on the trials' Gram matrix.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numba
import numpy as np

from shortloop.data import FloatArray, IntArray
from shortloop.decoding.folds import stratified_folds

__all__ = ["choose_and_fit", "fit_dual"]

MAX_PASSES = 10_000


def choose_and_fit(
    gram: FloatArray, labels: IntArray, grid: Sequence[float], inner_folds: int, tol: float
) -> tuple[int, FloatArray]:
    """Choose C by inner cross-validation, then fit on all trials.

    Parameters
    ----------
    gram : array of float, shape (trials, trials)
        Inner products of the training trials, plus 1 for the intercept.
    labels : array of int, shape (trials,)
        Class of each trial, 0 … k − 1, every class present.
    grid : sequence of float
        Values of C. The one of best mean accuracy over the inner folds wins, the first among equals.
    inner_folds : int
        Stratified unshuffled folds.
    tol : float
        The solver stops when the projected gradients of a pass over all trials lie within this range.

    Returns
    -------
    best : int
        Index into `grid`.
    dual : array of float, shape (k, trials)
        Signed dual coefficients: weights are ``dual @ x``, intercepts ``dual.sum(axis=1)``. With two
        classes one problem is solved and the first row is the second's negative.

    Warns
    -----
    RuntimeWarning
        If the final fit stops short of `tol`, as it does for a C far above what the data can use.

    References
    ----------
    Hsieh et al. 2008, A dual coordinate descent method for large-scale linear SVM, algorithm 1.
    """
    n_classes = int(labels.max()) + 1
    order = np.argsort(np.asarray(grid, dtype=np.float64), kind="stable")
    ascending = np.asarray(grid, dtype=np.float64)[order]
    labels = np.ascontiguousarray(labels, dtype=np.int64)
    if len(grid) > 1:
        inner = stratified_folds(labels, inner_folds).astype(np.int64)
        accuracy = np.empty((len(grid), inner_folds))
        accuracy[order] = _grid_accuracy(gram, labels, inner, inner_folds, ascending, n_classes, tol)
        best = int(np.argmax(accuracy.mean(axis=1)))
    else:
        best = 0
    path = ascending[: int(np.flatnonzero(order == best)[0]) + 1]
    dual, converged = _fit_path(gram, labels, np.ones(len(labels), dtype=np.bool_), path, n_classes, tol)
    if not converged:
        warnings.warn(
            f"the SVM has not converged for C = {grid[best]:g} in {MAX_PASSES} passes: its weights are "
            "approximate; take a smaller C, or a larger tol",
            RuntimeWarning,
            stacklevel=2,
        )
    return best, np.vstack([-dual, dual]) if n_classes == 2 else dual


def fit_dual(gram: FloatArray, labels: IntArray, C: float, tol: float) -> FloatArray:
    """Signed dual coefficients for one C; see `choose_and_fit`."""
    return choose_and_fit(gram, labels, [C], 2, tol)[1]


@numba.njit(cache=True)
def _grid_accuracy(gram, labels, inner, n_inner, grid, n_classes, tol):  # type: ignore[no-untyped-def]
    n = len(labels)
    problems = 1 if n_classes == 2 else n_classes
    accuracy = np.zeros((len(grid), n_inner))
    dual = np.empty((problems, n))
    decision = np.empty((problems, n))
    for fold in range(n_inner):
        train = inner != fold
        dual[:] = 0.0
        decision[:] = 0.0
        held_out = n - train.sum()
        for c in range(len(grid)):
            right = 0
            for k in range(problems):
                positive = 1 if n_classes == 2 else k
                _descend(gram, labels, positive, train, grid[c], tol, dual[k], decision[k])
            for i in range(n):
                if not train[i] and _winner(decision, i, n_classes) == labels[i]:
                    right += 1
            accuracy[c, fold] = right / held_out
    return accuracy


@numba.njit(cache=True)
def _fit_path(gram, labels, train, path, n_classes, tol):  # type: ignore[no-untyped-def]
    problems = 1 if n_classes == 2 else n_classes
    dual = np.zeros((problems, len(labels)))
    decision = np.zeros((problems, len(labels)))
    converged = True
    for k in range(problems):
        positive = 1 if n_classes == 2 else k
        done = False
        for c in path:
            done = _descend(gram, labels, positive, train, c, tol, dual[k], decision[k])
        converged = converged and done
    return dual, converged


@numba.njit(cache=True)
def _winner(decision, i, n_classes):  # type: ignore[no-untyped-def]
    if n_classes == 2:
        return 1 if decision[0, i] > 0 else 0
    best = 0
    for k in range(1, n_classes):
        if decision[k, i] > decision[best, i]:
            best = k
    return best


@numba.njit(cache=True, fastmath={"contract"})
def _descend(gram, labels, positive, train, C, tol, dual, decision):  # type: ignore[no-untyped-def]
    """Coordinate descent from where `dual` stands; `decision` follows for all trials, held out or not."""
    n = len(labels)
    rows = np.flatnonzero(train)
    state = np.uint64(88172645463325252)  # the order of a pass is shuffled, always in the same way
    for _ in range(MAX_PASSES):
        largest = -np.inf
        smallest = np.inf
        for s in range(len(rows) - 1, 0, -1):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            r = int(state % np.uint64(s + 1))
            rows[s], rows[r] = rows[r], rows[s]
        for i in rows:
            y = 1.0 if labels[i] == positive else -1.0
            alpha = y * dual[i]
            gradient = y * decision[i] - 1.0
            projected = gradient
            if alpha <= 0.0:
                projected = min(gradient, 0.0)
            elif alpha >= C:
                projected = max(gradient, 0.0)
            largest = max(largest, projected)
            smallest = min(smallest, projected)
            if projected != 0.0:
                new = min(max(alpha - gradient / gram[i, i], 0.0), C)
                step = y * (new - alpha)
                if step != 0.0:
                    dual[i] = y * new
                    row = gram[i]
                    for j in range(n):
                        decision[j] += step * row[j]
        if largest - smallest <= tol:
            return True
    return False
