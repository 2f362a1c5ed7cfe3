"""One-versus-rest linear SVM on a Gram matrix that the grid, the inner folds and the classes share.

liblinear's problem: L2 penalty, hinge loss, the intercept an extra feature of value 1 that is penalised
like the others. With more features than trials the dual is solved fastest on the trials' Gram matrix.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np

from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.solvers.class_weights import class_weights
from shortloop.types import FloatArray, IntArray

__all__ = ["Solution", "choose_and_fit", "solve"]

MAX_PASSES = 10_000
# Steps a little beyond the minimum along a coordinate need a third fewer passes where many coordinates are
# free, and converge just as surely (successive over-relaxation; Cryer 1971).
RELAXATION = 1.35
LEFT_OUT = -1  # inner fold of trials that are not trained on at all
SINGLE_PRECISION_TOL = 1e-5


@dataclass(frozen=True)
class Solution:
    """A fitted one-versus-rest SVM in terms of its trials.

    Parameters
    ----------
    best : int
        Index of the chosen C.
    dual : array of float, shape (classes, trials)
        Signed dual coefficients, 0 for trials that were left out: weights are ``dual @ x``, intercepts
        ``dual.sum(axis=1)``. With two classes one problem is solved and the first row is the second's
        negative.
    decision : array of float, shape (classes, trials)
        Decisions on all trials, those that were left out among them.
    """

    best: int
    dual: FloatArray
    decision: FloatArray


def solve(
    gram: FloatArray,
    labels: IntArray,
    grid: Sequence[float],
    inner_folds: int,
    tol: float,
    train: np.ndarray | None = None,
    n_classes: int | None = None,
    balanced: bool = False,
) -> Solution:
    """Choose C by inner cross-validation, then fit on all training trials.

    Parameters
    ----------
    gram : array of float64, shape (trials, trials)
        Inner products of the trials, plus 1 for the intercept.
    labels : array of int, shape (trials,)
        Class of each trial, 0 … k − 1.
    grid : sequence of float
        Values of C. The one of best mean accuracy over the inner folds wins, the first among equals.
    inner_folds : int
        Stratified unshuffled folds.
    tol : float
        The solver stops when the projected gradients of a pass over all trials lie within this range.
    train : array of bool, shape (trials,), optional
        Trials to train on. Default: all.
    n_classes : int, optional
        Number of classes. Default: as many as the labels say.
    balanced : bool, default False
        Whether trials of a class count more the fewer there are, as scikit-learn's
        ``LinearSVC(class_weight="balanced")`` has it.

    Returns
    -------
    Solution

    Warns
    -----
    RuntimeWarning
        If the final fit stops short of `tol`, as it does for a C far above what the data can use.

    References
    ----------
    Hsieh et al. 2008, A dual coordinate descent method for large-scale linear SVM, algorithm 3.
    """
    n = len(labels)
    train = np.ones(n, dtype=bool) if train is None else train
    n_classes = int(labels.max()) + 1 if n_classes is None else n_classes
    n_problems = 1 if n_classes == 2 else n_classes
    sign = np.where(labels == np.arange(n_classes)[-n_problems:, np.newaxis], 1.0, -1.0)
    order = np.argsort(np.asarray(grid, dtype=np.float64), kind="stable")
    ascending = np.asarray(grid, dtype=np.float64)[order]
    inner = np.full(n, LEFT_OUT, dtype=np.int64)
    inner[train] = stratified_folds(labels[train], inner_folds) if len(grid) > 1 else 0
    # Which C is best, and most of the way to its coefficients, need no more digits than `tol` leaves, and
    # single precision is twice as fast.
    digits = np.float32 if tol >= SINGLE_PRECISION_TOL else np.float64
    bounds = ascending.astype(digits)
    rough = gram.astype(digits), sign.astype(digits), inner
    shares = _shares(sign, labels, train, n_classes, balanced)
    best = 0
    if len(grid) > 1:
        accuracy = np.empty((len(grid), inner_folds))
        classes = np.ascontiguousarray(labels, dtype=np.int64)
        within = [
            _shares(sign, labels, train & (inner != fold), n_classes, balanced) for fold in range(inner_folds)
        ]
        of_folds = np.stack(within).astype(digits)
        accuracy[order] = _grid_accuracy(*rough, bounds, of_folds, digits(tol), classes, inner_folds)
        best = int(np.argmax(accuracy.mean(axis=1)))
    last = int(np.flatnonzero(order == best)[0])
    few_digits = shares.astype(digits)
    near = _follow(*rough, bounds[: last + 1], few_digits, digits(tol))
    upper = ascending[last] * shares
    dual = np.where(np.abs(near) < bounds[last] * few_digits, near, sign * upper)
    decision = dual @ gram
    rows, by = np.flatnonzero(train), _steps(gram)
    converged = True
    for k in range(n_problems):
        done = _descend(gram, by, sign[k], rows, upper[k], tol, dual[k], decision[k])
        converged = converged and done
    if not converged:
        warnings.warn(
            f"the SVM has not converged for C = {grid[best]:g} in {MAX_PASSES} passes: its weights are "
            "approximate; take a smaller C, or a larger tol",
            RuntimeWarning,
            stacklevel=2,
        )
    if n_classes == 2:
        dual, decision = np.vstack([-dual, dual]), np.vstack([-decision, decision])
    return Solution(best, dual, decision)


def choose_and_fit(
    gram: FloatArray,
    labels: IntArray,
    grid: Sequence[float],
    inner_folds: int,
    tol: float,
    balanced: bool = False,
) -> tuple[int, FloatArray]:
    """Index of the chosen C, and dual coefficients, training on all trials.

    Parameters
    ----------
    gram, labels, grid, inner_folds, tol, balanced
        As of `solve`.

    Returns
    -------
    best : int
        Index into `grid`.
    dual : array of float, shape (classes, trials)
        As of `Solution`.
    """
    solution = solve(gram, labels, grid, inner_folds, tol, balanced=balanced)
    return solution.best, solution.dual


def _shares(
    sign: FloatArray, labels: IntArray, train: np.ndarray, n_classes: int, balanced: bool
) -> FloatArray:
    """By what C is multiplied for each problem and trial.

    As liblinear has it: of two classes both are weighted, of more only the one that is told from the rest.
    """
    shares = np.ones_like(sign)
    if balanced:
        weights = class_weights(labels[train], n_classes)[labels]
        shares[:] = np.where((sign > 0) | (n_classes == 2), weights, 1.0)
    return shares


@numba.njit(cache=True)
def _grid_accuracy(gram, sign, inner, grid, shares, tol, labels, n_inner):  # type: ignore[no-untyped-def]
    """Accuracy (grid, inner folds) on inner folds, C by C from the smallest; `shares` (inner folds, problems,
    trials) of it are bounds."""
    accuracy = np.zeros((len(grid), n_inner))
    by = _steps(gram)
    for fold in range(n_inner):
        rows = np.flatnonzero((inner != fold) & (inner != LEFT_OUT))
        held_out = np.flatnonzero(inner == fold)
        dual, decision = np.zeros_like(sign), np.zeros_like(sign)
        for c in range(len(grid)):
            for k in range(len(sign)):
                _descend(gram, by, sign[k], rows, grid[c] * shares[fold, k], tol, dual[k], decision[k])
            right = 0
            for i in held_out:
                right += _winner(decision, i) == labels[i]
            accuracy[c, fold] = right / len(held_out)
    return accuracy


@numba.njit(cache=True)
def _follow(gram, sign, inner, path, shares, tol):  # type: ignore[no-untyped-def]
    """Signed dual coefficients for the last C of a path, of all trials but those left out."""
    rows = np.flatnonzero(inner != LEFT_OUT)
    by = _steps(gram)
    dual, decision = np.zeros_like(sign), np.zeros_like(sign)
    for C in path:
        for k in range(len(sign)):
            _descend(gram, by, sign[k], rows, C * shares[k], tol, dual[k], decision[k])
    return dual


@numba.njit(cache=True)
def _steps(gram):  # type: ignore[no-untyped-def]
    """By what each coordinate's gradient is multiplied."""
    by = np.empty(len(gram), dtype=gram.dtype)
    for i in range(len(gram)):
        by[i] = gram.dtype.type(RELAXATION) / gram[i, i]
    return by


@numba.njit(cache=True)
def _winner(decision, i):  # type: ignore[no-untyped-def]
    if len(decision) == 1:
        return 1 if decision[0, i] > 0 else 0
    best = 0
    for k in range(1, len(decision)):
        if decision[k, i] > decision[best, i]:
            best = k
    return best


@numba.njit(cache=True, fastmath={"contract"})
def _descend(gram, by, sign, rows, bounds, tol, dual, decision):  # type: ignore[no-untyped-def]
    """Coordinate descent over `rows`, from where `dual` stands; `decision` follows for all trials.

    Coordinates that rest at a bound are left alone, and all are looked at again before the end.
    """
    n, m = len(gram), len(rows)
    zero = gram.dtype.type(0.0)
    one = gram.dtype.type(1.0)
    state = np.uint64(88172645463325252)  # every second pass shuffles the order, always in the same way
    looked_at = m
    limit_up = gram.dtype.type(np.inf)
    limit_down = gram.dtype.type(-np.inf)
    for number in range(MAX_PASSES):
        largest = gram.dtype.type(-np.inf)
        smallest = gram.dtype.type(np.inf)
        for s in range(looked_at - 1 if number % 2 == 0 else 0, 0, -1):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            r = np.int64(((state >> np.uint64(40)) * np.uint64(s + 1)) >> np.uint64(24))
            keep = rows[s]
            rows[s] = rows[r]
            rows[r] = keep
        s = 0
        while s < looked_at:
            i = rows[s]
            y = sign[i]
            alpha = y * dual[i]
            gradient = y * decision[i] - one
            projected = gradient
            if alpha <= zero:
                if gradient > limit_up:
                    looked_at -= 1
                    rows[s] = rows[looked_at]
                    rows[looked_at] = i
                    continue
                projected = min(gradient, zero)
            elif alpha >= bounds[i]:
                if gradient < limit_down:
                    looked_at -= 1
                    rows[s] = rows[looked_at]
                    rows[looked_at] = i
                    continue
                projected = max(gradient, zero)
            s += 1
            largest = max(largest, projected)
            smallest = min(smallest, projected)
            if projected != zero:
                new = min(max(alpha - gradient * by[i], zero), bounds[i])
                step = y * (new - alpha)
                if step != zero:
                    dual[i] = y * new
                    for j in range(n):
                        decision[j] += step * gram[i, j]
        if largest - smallest <= tol:
            if looked_at == m:
                return True
            looked_at = m
            limit_up = gram.dtype.type(np.inf)
            limit_down = gram.dtype.type(-np.inf)
        else:
            limit_up = largest if largest > zero else gram.dtype.type(np.inf)
            limit_down = smallest if smallest < zero else gram.dtype.type(-np.inf)
    return False
