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

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.models import BinModels
from shortloop.eeg.decoding.selection.anova import fold_moments, fold_sums, select_features
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.solvers.common import class_weights

MAX_PASSES = 10_000
# Steps a little beyond the minimum along a coordinate need a third fewer passes where many coordinates are
# free, and converge just as surely (successive over-relaxation; Cryer 1971).
RELAXATION = 1.35
LINE = 64  # bytes of a line of the processor's cache
ONE = np.uint64(1)
TOGETHER = 4  # steps
SINGLE_PRECISION_TOL = 1e-5


@dataclass(frozen=True)
class Solution:
    """A fitted one-versus-rest SVM: weights are ``dual @ x``, intercepts ``dual.sum(axis=1)``.

    With two classes one problem is solved, and the first row is the second's negative.
    """

    best: int  # index of the chosen C
    dual: FloatArray  # (classes, trials), signed dual coefficients; 0 for held-out trials
    decision: FloatArray  # (classes, trials), decisions on all trials, also held-out ones


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
    """Choose C by inner cross-validation, then fit on all training trials."""
    # Hsieh et al. 2008, A dual coordinate descent method for large-scale linear SVM, algorithm 3.
    # gram: (trials, trials), inner products of the trials, plus 1 for the intercept
    # train: bool, (trials,); default: all trials
    n = len(labels)
    train = np.ones(n, dtype=bool) if train is None else train
    n_classes = int(labels.max()) + 1 if n_classes is None else n_classes
    n_problems = 1 if n_classes == 2 else n_classes
    sign = np.where(labels == np.arange(n_classes)[-n_problems:, np.newaxis], 1.0, -1.0)
    order = np.argsort(np.asarray(grid, dtype=np.float64), kind="stable")
    ascending = np.asarray(grid, dtype=np.float64)[order]
    rows = np.flatnonzero(train)
    # Which C is best, and most of the way to its coefficients, need no more digits than `tol` leaves, and
    # single precision is twice as fast.
    digits = np.float32 if tol >= SINGLE_PRECISION_TOL else np.float64
    bounds = ascending.astype(digits)
    rough = _in_lines(gram, rows, digits), sign.astype(digits).take(rows, axis=1)
    shares = _shares(sign, labels, train, n_classes, balanced)
    best = 0
    if len(grid) > 1:
        accuracy = np.empty((len(grid), inner_folds))
        inner = stratified_folds(labels[rows], inner_folds).astype(np.int64)
        of_folds = np.ones((inner_folds, *rough[1].shape), digits)
        for fold in range(inner_folds if balanced else 0):
            within = train.copy()
            within[rows[inner == fold]] = False
            of_folds[fold] = _shares(sign, labels, within, n_classes, balanced)[:, rows]
        classes = labels[rows].astype(np.int64)
        accuracy[order] = _grid_accuracy(*rough, bounds, of_folds, digits(tol), inner, classes)
        best = int(np.argmax(accuracy.mean(axis=1)))
    last = int(np.flatnonzero(order == best)[0])
    few_digits = shares.astype(digits)
    near = np.zeros(sign.shape, digits)
    near[:, rows] = _follow(*rough, bounds[: last + 1], few_digits.take(rows, axis=1), digits(tol))
    upper = ascending[last] * shares
    dual = np.where(np.abs(near) < bounds[last] * few_digits, near, sign * upper)
    decision = dual @ gram
    rows, by = rows.astype(np.uint64), _steps(gram)
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


def train_svm_folds(
    x: FloatArray,
    labels: IntArray,
    folds: IntArray,
    n_classes: int,
    decoding: DecodingSettings,
    *,
    grid: Sequence[float],
    inner_folds: int,
    tol: float,
) -> BinModels:
    """Train and cross-validate one bin with a linear SVM; as `train_bin`, faster."""
    # One pass over the bin gives the ANOVAs and z-scores of all folds. A fold has one Gram matrix, of its
    # training and held-out trials together, so that the solver's decisions on the latter are the predictions.
    x = np.asarray(x)
    sums = fold_sums(x, labels, folds, n_classes, decoding.folds)
    kept = select_features(x, labels, folds, n_classes, decoding.folds, decoding.select_alpha, sums)
    models = BinModels.empty(len(labels), x.shape[1], n_classes, decoding.folds)
    models.kept[:] = kept
    # Features that any fold keeps, each a row: a fold then copies rows, not columns.
    union = np.flatnonzero(kept.any(axis=0))
    rows = np.ascontiguousarray(x.T[union], dtype=np.float64)
    for fold in range(decoding.folds):
        features = np.flatnonzero(kept[fold])
        if not len(features):
            continue
        held_out = folds == fold
        mean, std = own_mean, own_std = fold_moments(sums, x, folds, fold, features, held_out=False)
        if decoding.scaling == "separate":
            own_mean, own_std = fold_moments(sums, x, folds, fold, features, held_out=True)
        scaled = np.empty((len(features), len(folds)))
        at = np.searchsorted(union, features)
        _scale_rows(rows, at, np.flatnonzero(held_out), mean, 1 / std, own_mean, 1 / own_std, scaled)
        gram = scaled.T @ scaled
        gram += 1.0  # the intercept's feature
        balanced = decoding.class_weight is not None
        solution = solve(gram, labels, grid, inner_folds, tol, ~held_out, n_classes, balanced)
        models.predicted[held_out] = solution.decision[:, held_out].argmax(axis=0)
        models.decisions[held_out] = solution.decision[:, held_out].T
        models.C[fold] = grid[solution.best]
        weights = solution.dual @ scaled.T
        intercepts = solution.dual.sum(axis=1)
        if decoding.scaling == "training":  # fold the scaler into the weights
            weights /= std
            intercepts -= weights @ mean
        models.weights[fold][:, features] = weights
        models.intercepts[fold] = intercepts
    return models


def _shares(
    sign: FloatArray, labels: IntArray, train: np.ndarray, n_classes: int, balanced: bool
) -> FloatArray:
    """Factor of C for each problem and trial."""
    # As in liblinear: of two classes both are weighted, of more only the one against the rest.
    shares = np.ones_like(sign)
    if balanced:
        weights = class_weights(labels[train], n_classes)[labels]
        shares[:] = np.where((sign > 0) | (n_classes == 2), weights, 1.0)
    return shares


def _in_lines(gram: FloatArray, rows: IntArray, dtype: type) -> FloatArray:
    """Gram matrix of some trials, each row in whole lines of the processor's cache."""
    numbers = LINE // np.dtype(dtype).itemsize
    width = -(-len(rows) // numbers) * numbers
    room: np.ndarray = np.empty(len(rows) * width + numbers, dtype)
    first = -room.ctypes.data % LINE // room.itemsize
    lines = room[first : first + len(rows) * width].reshape(len(rows), width)
    _copy_some(gram, rows, lines)
    return lines


@numba.njit(cache=True)
def _copy_some(gram, rows, lines):
    for a in range(len(rows)):
        for b in range(len(rows)):
            lines[a, b] = gram[rows[a], rows[b]]
        lines[a, len(rows) :] = 0


@numba.njit(cache=True)
def _grid_accuracy(gram, sign, grid, shares, tol, inner, labels):
    """Accuracy (grid, inner folds) on inner folds, C by C from the smallest; `shares` (inner folds, problems,
    trials) of it are bounds."""
    accuracy = np.zeros((len(grid), len(shares)))
    by = _steps(gram)
    for fold in range(len(shares)):
        rows = np.flatnonzero(inner != fold).astype(np.uint64)
        held_out = np.flatnonzero(inner == fold)
        dual, decision = np.zeros_like(sign), np.zeros((len(sign), gram.shape[1]), gram.dtype)
        for c in range(len(grid)):
            for k in range(len(sign)):
                _descend(gram, by, sign[k], rows, grid[c] * shares[fold, k], tol, dual[k], decision[k])
            right = 0
            for i in held_out:
                winner = np.argmax(decision[:, i]) if len(decision) > 1 else np.int64(decision[0, i] > 0)
                right += winner == labels[i]
            accuracy[c, fold] = right / len(held_out)
    return accuracy


@numba.njit(cache=True)
def _follow(gram, sign, path, shares, tol):
    """Signed dual coefficients for the last C of a path."""
    rows = np.arange(len(gram)).astype(np.uint64)
    by = _steps(gram)
    dual, decision = np.zeros_like(sign), np.zeros((len(sign), gram.shape[1]), gram.dtype)
    for C in path:
        for k in range(len(sign)):
            _descend(gram, by, sign[k], rows, C * shares[k], tol, dual[k], decision[k])
    return dual


@numba.njit(cache=True)
def _steps(gram):
    """Step size of each coordinate: its gradient is multiplied by this."""
    return gram.dtype.type(RELAXATION) / np.diag(gram)


@numba.njit(cache=True, fastmath={"contract"})
def _descend(gram, by, sign, rows, bounds, tol, dual, decision):  # noqa: C901  compiled: a call costs
    """Coordinate descent over `rows`, from where `dual` stands; `decision` follows for all trials."""
    # Coordinates that rest at a bound are left alone, and all are looked at again before the end. `decision`
    # is three steps behind, at most: four together take less than each alone, and what each adds, in the same
    # order, is the same to the last bit. Indices are without a sign, as others are checked for it.
    m = np.uint64(len(rows))
    zero = gram.dtype.type(0.0)
    one = gram.dtype.type(1.0)
    behind, a, b, c = 0, m - m, m - m, m - m
    step_a, step_b, step_c = zero, zero, zero
    state = np.uint64(88172645463325252)  # every second pass shuffles the order, always in the same way
    looked_at = m
    limit_up = gram.dtype.type(np.inf)
    limit_down = gram.dtype.type(-np.inf)
    converged = False
    for number in range(MAX_PASSES):
        largest = gram.dtype.type(-np.inf)
        smallest = gram.dtype.type(np.inf)
        for t in range(np.int64(looked_at) - 1 if number % 2 == 0 else 0, 0, -1):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            r = ((state >> np.uint64(40)) * np.uint64(t + 1)) >> np.uint64(24)
            keep = rows[np.uint64(t)]
            rows[np.uint64(t)] = rows[r]
            rows[r] = keep
        s = m - m
        while s < looked_at:
            i = rows[s]
            y = sign[i]
            alpha = y * dual[i]
            own = decision[i]
            own += step_a * gram[a, i]
            own += step_b * gram[b, i]
            own += step_c * gram[c, i]
            gradient = y * own - one
            projected = gradient
            if alpha <= zero:
                if gradient > limit_up:
                    looked_at -= ONE
                    rows[s] = rows[looked_at]
                    rows[looked_at] = i
                    continue
                projected = min(gradient, zero)
            elif alpha >= bounds[i]:
                if gradient < limit_down:
                    looked_at -= ONE
                    rows[s] = rows[looked_at]
                    rows[looked_at] = i
                    continue
                projected = max(gradient, zero)
            s += ONE
            largest = max(largest, projected)
            smallest = min(smallest, projected)
            if projected != zero:
                new = min(max(alpha - gradient * by[i], zero), bounds[i])
                step = y * (new - alpha)
                if step != zero:
                    dual[i] = y * new
                    behind += 1
                    if behind < TOGETHER:
                        a, b, c = b, c, i
                        step_a, step_b, step_c = step_b, step_c, step
                    else:
                        _catch_up(decision, gram, a, b, c, i, step_a, step_b, step_c, step)
                        behind = 0
                        step_a, step_b, step_c = zero, zero, zero
        if largest - smallest <= tol:
            if looked_at == m:
                converged = True
                break
            looked_at = m
            limit_up = gram.dtype.type(np.inf)
            limit_down = gram.dtype.type(-np.inf)
        else:
            limit_up = largest if largest > zero else gram.dtype.type(np.inf)
            limit_down = smallest if smallest < zero else gram.dtype.type(-np.inf)
    if m:
        _catch_up(decision, gram, a, b, c, c, step_a, step_b, step_c, zero)
    return converged


@numba.njit(cache=True, fastmath={"contract"})
def _catch_up(decision, gram, a, b, c, d, step_a, step_b, step_c, step_d):
    for j in range(gram.shape[1]):
        value = decision[j]
        value += step_a * gram[a, j]
        value += step_b * gram[b, j]
        value += step_c * gram[c, j]
        value += step_d * gram[d, j]
        decision[j] = value


@numba.njit(cache=True)
def _scale_rows(rows, at, held_out, mean, by, own_mean, own_by, scaled):
    """Fill `scaled` (kept features, trials), held-out trials by moments of their own."""
    for j in range(len(at)):
        row = at[j]
        for i in range(rows.shape[1]):
            scaled[j, i] = (rows[row, i] - mean[j]) * by[j]
        for i in held_out:
            scaled[j, i] = (rows[row, i] - own_mean[j]) * own_by[j]
