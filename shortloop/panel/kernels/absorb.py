"""Outcome and regressors of all groups without absorbed effects: deviations from means of their levels.

Projections on the levels of each effect in turn (Gaure 2013, OLS with multiple high dimensional category
variables), there and back, whose limit conjugate gradients find (Hernández-Ramos, Escalante and Raydan 2011).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.formulas.design import Design
from shortloop.panel.kernels.matrices import dot
from shortloop.panel.kernels.rows import longest_of, numbered_in_groups, put

MOST = 1000  # levels of all effects of which leverages are computed
ROUNDED = 1e-9  # share of the deviations from the mean that is taken for nothing
FAR = 1e-6  # times the mean; of smaller deviations, rounding is too large a share
SETTLED = 1e-13  # share of a column that another solution may change
LEAST, NEARER = 1e-15, 1e-10  # shares of a column, and of what a solution begins with, that end it
STEPS, SOLUTIONS, FARTHEST = 5000, 20, 1e12


def absorb(design: Design, starts: IntArray) -> Design:
    """Take the effects from outcome and regressors; columns that they explain become 0.

    Further roles, (rows,), are numbers of each group: "absorbed", degrees of freedom of the effects; "not
    nested", the same less those of effects that are constant within clusters; "total", squares of the outcome
    about its mean. "observed" is the outcome as it was.
    """
    roles, rows = dict(design.roles), len(design.outcome)
    effects = [name for name in roles if name.startswith("effect ")]
    columns = np.array([*design.regressors, design.outcome], np.float64).reshape(-1, rows)
    codes = np.array([numbered_in_groups(roles[name], starts) for name in effects])
    clusters = np.array([roles[name] for name in ("clusters", "clusters 2") if name in roles], np.int64)
    facts = np.zeros((3, len(starts) - 1))
    _absorb(codes, clusters.reshape(-1, rows), starts, columns, facts)
    for name, values in zip(("absorbed", "not nested", "total"), facts, strict=True):
        roles[name] = np.repeat(values, np.diff(starts))
    roles["observed"] = design.outcome
    return replace(design, regressors=columns[:-1], outcome=columns[-1], roles=roles)


def effect_leverage(design: Design) -> FloatArray:
    """Compute what effects add to the leverage of a group's rows; NaN if they have too many levels."""
    rows = len(design.outcome)
    codes = [values for name, values in design.roles.items() if name.startswith("effect ")]
    effects = [np.unique(values, return_inverse=True)[1] for values in codes]
    if len(effects) == 1:
        return np.asarray(1.0 / np.bincount(effects[0])[effects[0]])
    sizes = [int(codes.max()) + 1 for codes in effects]
    places = np.array(effects) + np.cumsum([0, *sizes[:-1]])[:, np.newaxis]
    if sum(sizes) > MOST:
        return np.full(rows, np.nan)
    products = np.zeros((sum(sizes), sum(sizes)))
    for one in places:
        for other in places:
            np.add.at(products, (one, other), 1.0)
    inverse = np.linalg.pinv(products, hermitian=True)
    return np.asarray(sum(inverse[one, other] for one in places for other in places))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _absorb(
    codes: IntArray, clusters: IntArray, starts: IntArray, columns: FloatArray, facts: FloatArray
) -> None:
    longest = longest_of(starts)
    counts, sums, work = np.empty((len(codes), longest)), np.empty(longest), np.empty((4, longest))
    for g in range(len(starts) - 1):
        begin, end = starts[g], starts[g + 1]
        if begin == end:
            continue
        some, number = codes[:, begin:end], end - begin
        facts[0, g] = _degrees(some)
        facts[1, g] = facts[0, g]
        for effect in range(len(some)):
            counts[effect] = 0.0
            for i in range(number):
                counts[effect, some[effect, i]] += 1.0
            if _is_nested(some[effect], clusters[:, begin:end]):
                facts[1, g] -= some[effect].max()
        for j in range(len(columns)):
            column = columns[j, begin:end]
            mean = column.sum() / number
            column -= mean
            length = math.sqrt(dot(column, column))
            facts[2, g] = length * length  # that of the last, the outcome, stays
            _project(some, counts, sums, column, work[:, :number])
            size = max(length, FAR * abs(mean) * math.sqrt(number))
            if not math.sqrt(dot(column, column)) > ROUNDED * size:
                column[:] = 0.0 if np.isfinite(length) else np.nan


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _project(
    codes: IntArray, counts: FloatArray, sums: FloatArray, column: FloatArray, work: FloatArray
) -> None:
    """Replace a column by its part without effects."""
    taken, left, step, moved = work
    length = dot(column, column)
    for _ in range(SOLUTIONS):
        _less_sweep(codes, counts, sums, column, left)
        step[:], taken[:] = left, 0.0
        before = dot(left, left)
        least = max(LEAST * LEAST * length, NEARER * NEARER * before)
        for _ in range(STEPS):
            if not before > least:
                break
            _less_sweep(codes, counts, sums, step, moved)
            along = before / dot(step, moved)
            if not 0.0 < along < FARTHEST:  # only rounding is left
                break
            for i in range(len(column)):
                taken[i] += along * step[i]
                left[i] -= along * moved[i]
            now = dot(left, left)
            for i in range(len(column)):
                step[i] = left[i] + now / before * step[i]
            before = now
        column -= taken
        if not dot(taken, taken) > SETTLED * SETTLED * length:
            return
    column[:] = np.nan


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _less_sweep(
    codes: IntArray, counts: FloatArray, sums: FloatArray, values: FloatArray, out: FloatArray
) -> None:
    """Set what projections on all effects, there and back, take from values."""
    put(values, out)
    last = len(codes) - 1
    for turn in range(2 * last + 1):
        effect = min(turn, 2 * last - turn)
        sums[:] = 0.0
        for i in range(len(values)):
            sums[codes[effect, i]] += out[i]
        for i in range(len(values)):
            out[i] -= sums[codes[effect, i]] / counts[effect, codes[effect, i]]
    for i in range(len(values)):
        out[i] = values[i] - out[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _degrees(codes: IntArray) -> int:
    """Count the degrees of freedom of effects; of more than two, perhaps too many."""
    # Abowd, Creecy and Kramarz 2002: levels of two, less connected parts; of each further one, less one.
    found = codes[0].max() + 1
    for effect in range(1, len(codes)):
        found += codes[effect].max()
    if len(codes) > 1:
        parent, first = np.arange(codes[0].max() + codes[1].max() + 2), codes[0].max() + 1
        parts = len(parent)
        for i in range(codes.shape[1]):
            a, b = codes[0, i], first + codes[1, i]
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            if a != b:
                parent[a] = b
                parts -= 1
        found -= parts - 1
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _is_nested(codes: IntArray, clusters: IntArray) -> bool:
    """True if some clusters, (ways, rows), have each level of an effect in one cluster."""
    for way in range(len(clusters)):
        home = np.full(codes.max() + 1, -1)
        i = 0
        while i < len(codes) and home[codes[i]] in (-1, clusters[way, i]):
            home[codes[i]] = clusters[way, i]
            i += 1
        if i == len(codes):
            return True
    return False
