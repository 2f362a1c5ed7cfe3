"""Linear SVMs of many label vectors of the same trials, solved together by an interior-point method.

The same problem as in `svm`, for few features: what a step costs most, products of the trials' features
weighted by trial, is one matrix product over all label vectors, and the number of steps hardly grows with C.
"""

from __future__ import annotations

import numba
import numpy as np

from shortloop.base.types import FloatArray

LANES = 64  # problems that take their steps together; each takes those that it would take alone
MAX_STEPS = 100
TO_BOUND = 0.995  # share of the way to the nearest bound that a step goes, at most
SMALLEST_GAP = 1e-18  # of 1: rounding allows no smaller one


def solve_interior(x: FloatArray, sign: FloatArray, C: float, tol: float) -> FloatArray:
    """Weights of one linear SVM for each label vector."""
    # Steps end when the mean product of a dual variable and its multiplier is below ``C tol²``, which bounds
    # the duality gap and so half the squared distance from the optimal weights.
    # Mehrotra 1992, On the implementation of a primal-dual interior point method. Fine & Scheinberg 2001,
    # Efficient SVM training using low-rank kernel representations.
    # x: (trials, features), scaled, with the intercept's constant feature
    # sign: (trials, problems), class of each trial in each problem, 1 or −1; 0 for a trial that is left out
    # returns: (features, problems)
    x = np.ascontiguousarray(x, dtype=np.float64)
    n_problems = sign.shape[1]
    weights = np.empty((x.shape[1], n_problems))
    # Of each pair of features, (pairs, trials): lower triangle, row by row.
    pairs = np.tril_indices(x.shape[1])
    products = np.ascontiguousarray(x.T[pairs[0]] * x.T[pairs[1]])
    lanes, found = np.empty((len(x), LANES)), np.empty((x.shape[1], LANES))
    for first in range(0, n_problems, LANES):
        part = slice(first, min(first + LANES, n_problems))
        own = part.stop - first
        lanes[:, :own] = sign[:, part]
        lanes[:, own:] = 0.0
        _solve(x, products, lanes, C, max(tol**2, SMALLEST_GAP), found)
        weights[:, part] = found[:, :own]
    return weights


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
def _solve(x, products, sign, C, gap, weights):
    """Weights of `LANES` problems. Dual variables a have multipliers s of a ≥ 0 and t of a ≤ C."""
    # A trial that is left out has no part in the weights; its own a goes to C, and harms nothing.
    n, r = x.shape
    across = np.ascontiguousarray(x.T)
    shape = (n, LANES)
    a = np.full(shape, 0.5 * C)
    side = 0.5 * C * sign
    by_a, by_rest, inverse, weighted = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    slope, move, to_s, to_t = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    margin = np.empty(shape)
    system, change = np.empty((len(products), LANES)), np.empty((r, LANES))
    mean, target, step = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    live = np.ones(LANES)
    np.dot(across, side, weights)
    np.dot(x, weights, margin)
    gradient = sign * margin - 1.0
    s, t = np.maximum(gradient, 0.0) + 1.0, np.maximum(-gradient, 0.0) + 1.0
    for _ in range(MAX_STEPS):
        _linearize(sign, C, a, s, t, margin, by_a, by_rest, inverse, weighted, slope, side, mean)
        for lane in range(LANES):
            live[lane] = live[lane] if mean[lane] > gap * C else 0.0
        if not live.any():
            return
        np.dot(products, weighted, system)
        _factorize(system, r)
        np.dot(across, side, change)
        _substitute(system, change)
        np.dot(x, change, side)
        _predict(sign, C, a, s, t, by_a, by_rest, inverse, slope, side, move, mean, target)
        _correct(sign, s, t, by_a, by_rest, inverse, slope, move, target, to_s, to_t, side)
        np.dot(across, side, change)
        _substitute(system, change)
        # Rounding has the last word: stay where it still had not.
        for i in range(r):
            for lane in range(LANES):
                live[lane] = live[lane] if abs(change[i, lane]) < np.inf else 0.0
        np.dot(x, change, side)
        _move(sign, a, s, t, by_a, by_rest, inverse, slope, to_s, to_t, side, live, step)
        for i in range(r):
            for lane in range(LANES):
                change[i, lane] = step[lane] * change[i, lane] if step[lane] > 0.0 else 0.0
        weights += change
        np.dot(x, weights, margin)


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
def _linearize(sign, C, a, s, t, margin, by_a, by_rest, inverse, weighted, slope, side, mean):
    mean[:] = 0.0
    for i in range(len(sign)):
        for lane in range(LANES):
            rest = C - a[i, lane]
            mean[lane] += s[i, lane] * a[i, lane] + t[i, lane] * rest
            by_a[i, lane] = 1.0 / a[i, lane]
            by_rest[i, lane] = 1.0 / rest
            inverse[i, lane] = 1.0 / (s[i, lane] * by_a[i, lane] + t[i, lane] * by_rest[i, lane])
            weighted[i, lane] = inverse[i, lane] * sign[i, lane] * sign[i, lane]
            slope[i, lane] = 1.0 - sign[i, lane] * margin[i, lane]
            side[i, lane] = slope[i, lane] * inverse[i, lane] * sign[i, lane]
    mean /= 2 * len(sign)


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
def _predict(sign, C, a, s, t, by_a, by_rest, inverse, slope, side, move, mean, target):
    """The step straight to the optimum, and by how far it gets what the next one is to aim at."""
    n = len(sign)
    limit, reached = np.ones(LANES), np.zeros(LANES)
    for i in range(n):
        for lane in range(LANES):
            move[i, lane] = inverse[i, lane] * (slope[i, lane] - sign[i, lane] * side[i, lane])
            up = move[i, lane] * by_rest[i, lane]
            down = -move[i, lane] * by_a[i, lane]
            limit[lane] = max(limit[lane], max(max(up, down), max(1.0 - up, 1.0 - down)))
    limit = 1.0 / limit
    for i in range(n):
        for lane in range(LANES):
            h = limit[lane]
            d = h * move[i, lane]
            new_s = s[i, lane] * (1.0 - h - d * by_a[i, lane])
            new_t = t[i, lane] * (1.0 - h + d * by_rest[i, lane])
            reached[lane] += new_s * (a[i, lane] + d) + new_t * (C - a[i, lane] - d)
    share = reached / (2 * n * mean)
    # In all of this, loops compile seconds faster than arrays: these bring the words of errors with them.
    for lane in range(LANES):
        target[lane] = share[lane] * share[lane] * share[lane] * mean[lane]


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
def _correct(sign, s, t, by_a, by_rest, inverse, slope, move, target, to_s, to_t, side):
    for i in range(len(sign)):
        for lane in range(LANES):
            d = move[i, lane]
            ds = -s[i, lane] * (1.0 + d * by_a[i, lane])
            dt = -t[i, lane] * (1.0 - d * by_rest[i, lane])
            to_s[i, lane] = (target[lane] - d * ds) * by_a[i, lane]
            to_t[i, lane] = (target[lane] + d * dt) * by_rest[i, lane]
            slope[i, lane] += to_s[i, lane] - to_t[i, lane]
            side[i, lane] = slope[i, lane] * inverse[i, lane] * sign[i, lane]


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
def _move(sign, a, s, t, by_a, by_rest, inverse, slope, to_s, to_t, side, live, step):
    limit = np.full(LANES, TO_BOUND)
    for i in range(len(sign)):
        for lane in range(LANES):
            d = inverse[i, lane] * (slope[i, lane] - sign[i, lane] * side[i, lane])
            up, down = d * by_rest[i, lane], -d * by_a[i, lane]
            ds = to_s[i, lane] - s[i, lane] + s[i, lane] * down
            dt = to_t[i, lane] - t[i, lane] + t[i, lane] * up
            limit[lane] = max(limit[lane], max(max(up, down), max(-ds / s[i, lane], -dt / t[i, lane])))
            slope[i, lane], to_s[i, lane], to_t[i, lane] = d, ds, dt
    for lane in range(LANES):
        step[lane] = TO_BOUND / limit[lane] if live[lane] > 0.0 else 0.0
    for i in range(len(sign)):
        for lane in range(LANES):
            h = step[lane]
            a[i, lane] += h * slope[i, lane] if h > 0.0 else 0.0
            s[i, lane] += h * to_s[i, lane] if h > 0.0 else 0.0
            t[i, lane] += h * to_t[i, lane] if h > 0.0 else 0.0


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
def _factorize(system, r):
    """Cholesky factors of 1 plus each lane's matrix, in place; the inverse of the diagonal on it."""
    total = np.empty(LANES)
    for i in range(r):
        own = i * (i + 1) // 2
        for j in range(i + 1):
            other = j * (j + 1) // 2
            for lane in range(LANES):
                total[lane] = system[own + j, lane] + (1.0 if i == j else 0.0)
            k = 0
            while k + 4 <= j:
                p, q = own + k, other + k
                for lane in range(LANES):
                    total[lane] -= (
                        system[p, lane] * system[q, lane]
                        + system[p + 1, lane] * system[q + 1, lane]
                        + system[p + 2, lane] * system[q + 2, lane]
                        + system[p + 3, lane] * system[q + 3, lane]
                    )
                k += 4
            while k < j:
                for lane in range(LANES):
                    total[lane] -= system[own + k, lane] * system[other + k, lane]
                k += 1
            for lane in range(LANES):
                scale = 1.0 / np.sqrt(total[lane]) if i == j else total[lane] * system[other + j, lane]
                system[own + j, lane] = scale


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
def _substitute(system, v):
    for i in range(len(v)):
        own = i * (i + 1) // 2
        for k in range(i):
            for lane in range(LANES):
                v[i, lane] -= system[own + k, lane] * v[k, lane]
        for lane in range(LANES):
            v[i, lane] *= system[own + i, lane]
    for i in range(len(v) - 1, -1, -1):
        own = i * (i + 1) // 2
        for lane in range(LANES):
            v[i, lane] *= system[own + i, lane]
        for k in range(i):
            for lane in range(LANES):
                v[k, lane] -= system[own + k, lane] * v[i, lane]
